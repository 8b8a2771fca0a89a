"""The FastAPI and the Flask example, asked by the test clients of their frameworks."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from flask.testing import FlaskClient

import fastapi_app
from flask_app import create_app

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:fastapi", "ignore::DeprecationWarning:starlette")


@pytest.fixture(params=["fastapi", "flask"])
def web(request: pytest.FixtureRequest, memory_folder: Path) -> Iterator[TestClient | FlaskClient]:
    if request.param == "fastapi":
        with TestClient(fastapi_app.app) as client:
            yield client
    else:
        yield create_app().test_client()


def body(answer: Any) -> Any:
    return answer.json if isinstance(answer.json, dict | list) else answer.json()


def test_each_user_is_remembered_shown_and_forgotten(web: Any) -> None:
    assert body(web.post("/users/ann/messages", json={"text": "I live in Leeds and have two cats"})) == {"context": ""}
    web.post("/users/bo/messages", json={"text": "I live in York"})
    context = body(web.post("/users/ann/messages", json={"text": "where do I live?"}))["context"]
    assert "Leeds" in context and "York" not in context

    assert body(web.get("/users/ann/memories?q=where does ann live"))[0] == "I live in Leeds and have two cats"
    assert body(web.get("/users/bo/memories?q=cats")) == []
    assert web.get("/users/nobody").status_code == 404
    refused = web.get("/users/ann/memories?q=" + 10_001 * "x")
    assert (refused.status_code, body(refused)["error_code"]) == (400, "invalid_request")

    assert body(web.delete("/users/ann")) == {"texts": 2}
    assert body(web.get("/users/ann/memories?q=where does ann live")) == []
    assert body(web.get("/users/bo/memories?q=where does bo live")) == ["I live in York"]


def test_what_is_known_of_a_user_is_told(web: Any) -> None:
    web.post("/users/ann/messages", json={"text": "I am allergic to peanuts"})
    ends = time.monotonic() + 60
    while (known := web.get("/users/ann")).status_code == 404 and time.monotonic() < ends:
        time.sleep(0.02)  # it is read in the background
    assert "peanuts" in body(known)["profile"]
