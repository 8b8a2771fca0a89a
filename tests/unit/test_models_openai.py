"""The client of an OpenAI-compatible endpoint, against a real server."""

from __future__ import annotations

import base64
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from amemorix.clock import FrozenClock
from amemorix.errors import ModelUnavailable
from amemorix.models.embedding_batches import embed_each
from amemorix.models.openai.embedder import OpenAIEmbedder
from amemorix.ports import Encoded
from endpoint import Reply, ScriptedEndpoint, served

KEY = "sk-very-secret"


def vector(text: str) -> list[float]:
    return [3.0 + len(text), 4.0, float(sum(map(ord, text)) % 7)]


def answer(texts: list[str], rows: Callable[[str], Any] = vector) -> dict[str, Any]:
    return {"data": [{"index": i, "embedding": rows(text)} for i, text in enumerate(texts)]}


@pytest.fixture
def endpoint() -> Iterator[ScriptedEndpoint]:
    with served(ScriptedEndpoint(lambda body: (200, {}, answer(body["input"])))) as running:
        yield running


def replying(endpoint: ScriptedEndpoint, reply: Callable[[list[str]], tuple[int, Any]]) -> None:
    """Answer texts with this status and content from now on."""

    def whole(body: dict[str, Any]) -> Reply:
        status, content = reply(body["input"])
        return status, {}, content

    endpoint.reply = whole


@pytest.fixture
def pauses() -> list[float]:
    return []


@pytest.fixture
def connect(
    endpoint: ScriptedEndpoint, pauses: list[float], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., OpenAIEmbedder]]:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    made: list[OpenAIEmbedder] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    def make(**settings: Any) -> OpenAIEmbedder:
        settings = {"api_key": KEY, "timeout": 5.0, "sleep": pause, **settings}
        made.append(OpenAIEmbedder(settings.pop("base_url", endpoint.base_url), "m", **settings))
        return made[-1]

    yield make
    for embedder in made:
        embedder.close()


def test_many_texts_are_one_request(endpoint: ScriptedEndpoint, connect) -> None:
    vectors = connect().embed(["a", "bb", "ccc"])

    assert endpoint.requests == [{"model": "m", "input": ["a", "bb", "ccc"]}]
    assert endpoint.headers[0]["path"] == "/v1/embeddings"
    assert endpoint.headers[0]["Authorization"] == f"Bearer {KEY}"
    expected = np.array([vector(text) for text in ("a", "bb", "ccc")])
    np.testing.assert_allclose(vectors, expected / np.linalg.norm(expected, axis=1, keepdims=True), rtol=1e-6)
    assert vectors.dtype == np.float32


def test_a_lone_surrogate_becomes_a_question_mark(endpoint: ScriptedEndpoint, connect) -> None:
    connect().embed(["half \ud800 a pair"])

    assert [request["input"] for request in endpoint.requests] == [["half ? a pair"]]


def test_without_a_key_no_authorization_is_sent(endpoint: ScriptedEndpoint, connect) -> None:
    connect(api_key=None).embed(["a"])

    assert "Authorization" not in endpoint.headers[0]


def test_rows_are_ordered_by_index(endpoint: ScriptedEndpoint, connect) -> None:
    straight = connect().embed(["a", "bb", "ccc"])
    replying(endpoint, lambda texts: (200, {"data": answer(texts)["data"][::-1]}))

    np.testing.assert_array_equal(connect().embed(["a", "bb", "ccc"]), straight)


def test_base64_vectors_are_read(endpoint: ScriptedEndpoint, connect) -> None:
    plain = connect().embed(["a", "bb"])

    def encoded(text: str) -> str:
        return base64.b64encode(np.array(vector(text), "<f4").tobytes()).decode()

    replying(endpoint, lambda texts: (200, answer(texts, encoded)))
    np.testing.assert_allclose(connect().embed(["a", "bb"]), plain, rtol=1e-6)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_passing_fault_is_tried_again(endpoint: ScriptedEndpoint, connect, pauses: list[float], status: int) -> None:
    endpoint.script = [(status, {}, {"error": "busy"}), (status, {}, {"error": "busy"})]

    assert connect().embed(["a"]).shape == (1, 3)
    assert len(endpoint.requests) == 3
    assert 0.5 <= pauses[0] < 1.0 <= pauses[1] < 2.0


def test_retry_after_is_honoured(endpoint: ScriptedEndpoint, connect, pauses: list[float]) -> None:
    endpoint.script = [(429, {"Retry-After": "7"}, {}), (429, {"Retry-After": "Tue, 14 Nov 2023 22:13:29 GMT"}, {})]

    connect(clock=FrozenClock(1_700_000_000.0)).embed(["a"])

    assert pauses == [7.0, 9.0]


def test_a_pause_too_long_ends_the_call(endpoint: ScriptedEndpoint, connect, pauses: list[float]) -> None:
    endpoint.script = [(429, {"Retry-After": "3600"}, {})]

    with pytest.raises(ModelUnavailable) as caught:
        connect().embed(["a"])

    assert (caught.value.details["endpoint_down"], caught.value.details["retry_after"], pauses) == (True, 3600.0, [])


def test_an_endpoint_that_stays_broken_is_down(endpoint: ScriptedEndpoint, connect) -> None:
    replying(endpoint, lambda texts: (500, {"error": "broken"}))

    with pytest.raises(ModelUnavailable, match="HTTP 500") as caught:
        connect().embed(["a", "b"])

    assert caught.value.details["endpoint_down"] is True
    assert len(endpoint.requests) == 3


def test_an_endpoint_that_cannot_be_reached_is_down(connect, pauses: list[float]) -> None:
    with pytest.raises(ModelUnavailable, match="cannot be reached") as caught:
        connect(base_url="http://127.0.0.1:9/v1").embed(["a"])

    assert caught.value.details["endpoint_down"] is True
    assert len(pauses) == 2


def test_a_slow_answer_is_tried_again(endpoint: ScriptedEndpoint, connect, pauses: list[float]) -> None:
    endpoint.open.clear()

    with pytest.raises(ModelUnavailable, match="did not answer in time"):
        connect(timeout=0.05, max_attempts=2).embed(["a"])

    assert len(pauses) == 1


def test_an_answer_that_drips_in_is_given_up(endpoint: ScriptedEndpoint, connect) -> None:
    endpoint.drip = 0.02
    replying(endpoint, lambda texts: (200, b" " * 3_000))

    with pytest.raises(ModelUnavailable, match="did not answer in time"):
        connect(timeout=0.2, max_attempts=1).embed(["a"])

    assert not endpoint.sent.is_set()


def test_an_answer_that_is_too_large_is_not_read(endpoint: ScriptedEndpoint, connect) -> None:
    replying(endpoint, lambda texts: (200, b" " * 100_000))

    with pytest.raises(ModelUnavailable, match="more than 1000 bytes") as caught:
        connect(max_answer_bytes=1000).embed(["a", "b"])

    assert caught.value.details["endpoint_down"] is True
    assert len(endpoint.requests) == 2


def test_a_batch_with_too_large_an_answer_goes_in_parts(endpoint: ScriptedEndpoint, connect) -> None:
    whole = connect().embed(list("abcdefg"))

    np.testing.assert_array_equal(connect(max_answer_bytes=150).embed(list("abcdefg")), whole)
    assert len(endpoint.requests) > 2


@pytest.mark.parametrize("status", [429, 200], ids=["between tries", "while it is silent"])
def test_closing_ends_requests_under_way(endpoint: ScriptedEndpoint, connect, status: int) -> None:
    if status == 429:
        endpoint.script = [(429, {"Retry-After": "20"}, {})]
    else:
        endpoint.open.clear()
    embedder = connect(timeout=600.0, sleep=None)
    caught: list[ModelUnavailable] = []

    def embed() -> None:
        try:
            embedder.embed(["a"])
        except ModelUnavailable as exc:
            caught.append(exc)

    thread = threading.Thread(target=embed)
    thread.start()
    while not endpoint.requests:
        time.sleep(0.01)
    time.sleep(0.1)
    embedder.close()
    thread.join()

    assert "closed" in str(caught[0])
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_wrong_key_or_address_is_not_tried_again(endpoint: ScriptedEndpoint, connect, status: int) -> None:
    replying(endpoint, lambda texts: (status, {"error": f"key {KEY} is wrong"}))

    with pytest.raises(ModelUnavailable, match=r"key \*\*\* is wrong") as caught:
        connect().embed(["a", "b"])

    assert KEY not in str(caught.value) + str(caught.value.details)
    assert caught.value.details["endpoint_down"] is True
    assert len(endpoint.requests) == 1


def test_a_batch_that_is_too_large_goes_in_parts(endpoint: ScriptedEndpoint, connect) -> None:
    whole = connect().embed(list("abcdefg"))
    replying(endpoint, lambda texts: (413, {}) if len(texts) > 2 else (200, answer(texts)))

    np.testing.assert_array_equal(connect().embed(list("abcdefg")), whole)


def test_a_bad_text_fails_alone(endpoint: ScriptedEndpoint, connect) -> None:
    replying(endpoint, lambda texts: (400, {"error": "bad"}) if "bad" in texts else (200, answer(texts)))
    texts = ["a", "b", "bad", "c", "d"]
    embedder = connect()

    with pytest.raises(ModelUnavailable, match="1 of 5 texts") as caught:
        embedder.embed(texts)
    outcomes = embed_each(embedder, texts)

    assert caught.value.details["failed"] == [2]
    assert [isinstance(outcome, ModelUnavailable) for outcome in outcomes] == [False, False, True, False, False]
    assert isinstance(outcomes[3], Encoded)
    np.testing.assert_array_equal(outcomes[3].vector, embedder.embed(["c"])[0])


def test_an_endpoint_that_refuses_everything_is_asked_only_twice(endpoint: ScriptedEndpoint, connect) -> None:
    replying(endpoint, lambda texts: (400, {"error": "no such model"}))

    with pytest.raises(ModelUnavailable, match=r"refuses every text.*no such model") as caught:
        connect().embed([str(i) for i in range(32)])

    assert caught.value.details["endpoint_down"] is True
    assert len(endpoint.requests) == 2


def test_a_vector_that_is_not_finite_is_refused(endpoint: ScriptedEndpoint, connect) -> None:
    replying(
        endpoint, lambda texts: (200, answer(texts, lambda t: [float("nan"), 1.0, 1.0] if t == "bad" else vector(t)))
    )
    embedder = connect()

    with pytest.raises(ModelUnavailable, match="not finite") as caught:
        embedder.embed(["a", "bad"])

    assert caught.value.details["failed"] == [1]
    assert [isinstance(outcome, ModelUnavailable) for outcome in embed_each(embedder, ["a", "bad"])] == [False, True]


def test_positions_stay_right_when_a_part_has_a_bad_vector(endpoint: ScriptedEndpoint, connect) -> None:
    def reply(texts: list[str]) -> tuple[int, Any]:
        if len(texts) > 2:
            return 413, {}
        return 200, answer(texts, lambda t: [0.0, 0.0, 0.0] if t == "zero" else vector(t))

    replying(endpoint, reply)

    with pytest.raises(ModelUnavailable, match="all zero") as caught:
        connect().embed(["a", "b", "c", "zero"])

    assert caught.value.details["failed"] == [3]


def test_a_count_that_differs_is_refused(endpoint: ScriptedEndpoint, connect) -> None:
    replying(endpoint, lambda texts: (200, answer(texts[:1])))

    with pytest.raises(ModelUnavailable, match="1 vectors for 2 texts"):
        connect().embed(["a", "b"])


def test_positions_that_repeat_are_refused(endpoint: ScriptedEndpoint, connect) -> None:
    replying(endpoint, lambda texts: (200, {"data": [{"index": 0, "embedding": vector(text)} for text in texts]}))

    with pytest.raises(ModelUnavailable, match="numbered"):
        connect().embed(["a", "b"])


def test_the_dimension_must_stay_the_same(endpoint: ScriptedEndpoint, connect) -> None:
    embedder = connect()
    embedder.embed(["a"])
    replying(endpoint, lambda texts: (200, answer(texts, lambda t: [1.0, 2.0])))

    with pytest.raises(ModelUnavailable, match="vectors of 2 numbers, not 3"):
        embedder.embed(["a"])


@pytest.mark.parametrize("content", [b"<html>", {"data": "no"}, {"data": [{"index": 0, "embedding": "%%"}]}, []])
def test_an_answer_of_another_kind_is_refused(endpoint: ScriptedEndpoint, connect, content: Any) -> None:
    replying(endpoint, lambda texts: (200, content))

    with pytest.raises(ModelUnavailable, match="something else than embeddings"):
        connect().embed(["a"])


def test_the_identity_asks_once_when_the_dimension_is_unknown(endpoint: ScriptedEndpoint, connect) -> None:
    embedder = connect()

    info = embedder.info

    assert embedder.info == info
    assert len(endpoint.requests) == 1
    assert (info.provider, info.model, info.dimension, info.languages) == ("openai", "m", 3, ("*",))
    place = endpoint.base_url.removeprefix("http://")
    assert info.fingerprint == f"openai:{place}:m:3"


def test_a_configured_dimension_needs_no_request(endpoint: ScriptedEndpoint, connect) -> None:
    embedder = connect(dimension=3, request_dimension=True)

    assert (embedder.info.dimension, endpoint.requests) == (3, [])
    embedder.embed(["a"])
    assert endpoint.requests[0]["dimensions"] == 3


def test_no_texts_need_no_request(endpoint: ScriptedEndpoint, connect) -> None:
    assert connect(dimension=3).embed([]).shape == (0, 3)
    assert endpoint.requests == []


def test_requests_in_flight_are_bounded(endpoint: ScriptedEndpoint, connect) -> None:
    endpoint.open.clear()
    embedder = connect(max_concurrent=2)
    threads = [threading.Thread(target=embedder.embed, args=(["a"],)) for _ in range(6)]

    for thread in threads:
        thread.start()
    while endpoint.most_at_once < 2:
        time.sleep(0.01)
    time.sleep(0.1)
    endpoint.open.set()
    for thread in threads:
        thread.join()

    assert endpoint.most_at_once == 2


def test_a_closed_client_says_so(connect) -> None:
    embedder = connect()
    embedder.close()

    with pytest.raises(ModelUnavailable, match="closed"):
        embedder.embed(["a"])


@pytest.mark.parametrize("url", ["api.example.com/v1", "ftp://example.com", "http://", "http://a:port"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ModelUnavailable) as caught:
        OpenAIEmbedder(url, "m")

    assert caught.value.details["field"] == "embedding.base_url"


def test_a_key_no_header_can_carry_is_refused_without_being_shown() -> None:
    with pytest.raises(ModelUnavailable) as caught:
        OpenAIEmbedder("http://127.0.0.1", "m", api_key="秘密")

    assert "秘密" not in str(caught.value)
