"""The settings of the models that are asked."""

from __future__ import annotations

from typing import Literal

from .section import Section, VariableName, live, rebuild

__all__ = ["Chat", "Embedding"]


class Embedding(Section):
    """The model that turns texts into vectors."""

    provider: Literal["auto", "local", "openai", "host", "none"] = rebuild(
        "auto", "`auto`: the callable given to the host service, else the local model if it is installed, else none. `openai`: an OpenAI-compatible endpoint. "
        "`host`: the callable given to the host service. `none`: lexical and structure only.",
    )  # fmt: skip
    model_name: str = rebuild(
        "",
        "Model to ask the endpoint for; with `local` and `auto` multilingual-e5-small or all-MiniLM-L6-v2 (English, lighter), empty for the first of them that is installed.",
    )
    base_url: str = rebuild("", "Endpoint, for example https://api.example.com/v1 (`/embeddings` is appended).")
    api_key_env: VariableName = rebuild(
        "", "Name of the environment variable that holds the key; the key itself never goes here."
    )
    dimension: int = rebuild(0, "Expected dimension; 0 takes it from the model's answer.", ge=0, le=16_384)
    request_dimension: bool = rebuild(False, "Send `dimensions` with each request (models that can shorten vectors).")
    batch_size: int = live(32, "Texts per request or forward pass.", ge=1, le=2048)
    max_concurrent: int = rebuild(2, "Embedding threads, or requests in flight.", ge=1, le=32)
    timeout_seconds: float = rebuild(30.0, "Time given to one request.", gt=0, le=600)
    max_attempts: int = rebuild(3, "Tries of one request before its texts are put back.", ge=1, le=10)
    retry_seconds: float = live(
        5.0, "First pause after a failed batch; it doubles up to `retry_max_seconds`.", gt=0, le=3600
    )
    retry_max_seconds: float = live(
        300.0, "Longest pause between tries of a failing text or endpoint.", gt=0, le=86_400
    )
    query_timeout_seconds: float = live(
        5.0,
        "After the model has worked at a query for so long, the other lanes answer; waiting for its turn does not count.",
        gt=0,
        le=120,
    )
    keep_generations: int = live(
        1, "Retired sets of vectors to keep, so that changing the model back costs nothing.", ge=0, le=10
    )
    glosses: bool = rebuild(
        True, "Read Chinese with the installed table of words and their English glosses; not with `openai` and `host`."
    )
    quantization_type: Literal["int8", "float16", "float32"] = rebuild(
        "int8", "Precision of the vectors held in memory; the rows keep float16."
    )


class Chat(Section):
    """The language model that background work may ask; no search and no ingest waits for it."""

    provider: Literal["auto", "openai", "host", "none"] = rebuild(
        "auto", "`auto`: the model given to the host service, else the endpoint if `base_url` and `model_name` are set, "
        "else none. `openai`: an OpenAI-compatible endpoint. `host`: the one given to the host service. `none`: rules only.",
    )  # fmt: skip
    base_url: str = rebuild("", "Endpoint, for example https://api.example.com/v1 (`/chat/completions` is appended).")
    model_name: str = rebuild("", "Model to ask the endpoint for.")
    api_key_env: VariableName = rebuild(
        "", "Name of the environment variable that holds the key; the key itself never goes here."
    )
    timeout_seconds: float = rebuild(60.0, "Time given to one request.", gt=0, le=3600)
    max_attempts: int = rebuild(3, "Tries of one request that meets a passing fault.", ge=1, le=10)
    max_concurrent: int = live(2, "Questions under way at a time.", ge=1, le=64)
    temperature: float = rebuild(0.0, "How freely the model words its answers.", ge=0, le=2)
    max_output_tokens: int = rebuild(4096, "Longest answer; 0 leaves it to the endpoint.", ge=0, le=1_000_000)
    daily_token_budget: int = live(
        0, "Tokens that may be used in a day (UTC), question and answer together; 0 sets no limit.", ge=0
    )
