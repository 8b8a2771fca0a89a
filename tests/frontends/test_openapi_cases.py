"""Requests that schemathesis makes from the OpenAPI document, against the application: no 500, and what is documented."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import AsyncExitStack

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.generation.case import Case
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from amemorix.frontends.http.openapi import openapi_document
from amemorix.testing import HashEmbedder, memory_host
from doors import web_client
from sample_memory import FILLING

EXAMPLES = int(os.environ.get("AMEMORIX_FUZZ_EXAMPLES", "2"))
"""Requests of each kind to each path; a number from outside also makes them new ones each time."""
FAR_OFF = frozenset({503, 504})
"""A model that is not there, and a `timeout_ms` that was too short: what was asked for."""


def no_server_error(ctx: schemathesis.CheckContext, response: schemathesis.Response, case: Case) -> bool | None:
    """Nothing that was sent may break the memory."""
    assert response.status_code < 500 or response.status_code in FAR_OFF, response.text
    return None


SETTINGS = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize="AMEMORIX_FUZZ_EXAMPLES" not in os.environ,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
CHECKS = [
    no_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
DOCUMENT = schemathesis.openapi.from_dict(openapi_document())
OPERATIONS = [found.ok() for found in DOCUMENT.get_all_operations()]


class Web:
    """The application over a small memory, on a loop of its own."""

    def __init__(self, runner: asyncio.Runner, client: httpx.AsyncClient) -> None:
        self._runner = runner
        self._client = client

    def sent(self, case: Case) -> httpx.Response:
        """The answer to a case."""
        given = case.as_transport_kwargs(base_url="http://localhost")
        kept = {
            name: given[name] for name in ("method", "url", "params", "headers", "json") if given.get(name) is not None
        }
        body = {"content": given["data"]} if given.get("data") is not None else {}
        return self._runner.run(self._client.request(**kept, **body))


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    """The application."""
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()

        async def opened() -> httpx.AsyncClient:
            folder = tmp_path_factory.mktemp("openapi")
            host = await stack.enter_async_context(memory_host(folder, embed=HashEmbedder(32)))
            for component, args in FILLING:
                assert (await host.invoke(component, args))["success"]
            await host.settle(600)
            return await stack.enter_async_context(web_client(host))

        yield Web(runner, runner.run(opened()))
        runner.run(stack.aclose())


CASES = [
    pytest.param(operation, mode, id=f"{operation.label.rpartition('memory/')[2]}-{mode.value}")
    for operation in OPERATIONS
    for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
    if operation.method == "post" or mode is GenerationMode.POSITIVE
]


@pytest.mark.parametrize(("operation", "mode"), CASES)
def test_answers_are_those_of_the_document(
    web: Web, operation: schemathesis.APIOperation, mode: GenerationMode
) -> None:
    found: list[str] = []

    @SETTINGS
    @given(operation.as_strategy(generation_mode=mode))
    def check(case: Case) -> None:
        response = web.sent(case)
        try:
            case.validate_response(response, checks=CHECKS)
        except AssertionError as exc:
            found.append(f"{exc!s:.1500}")

    check()
    assert not found, "\n".join(found)
