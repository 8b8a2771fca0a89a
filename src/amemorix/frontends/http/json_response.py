"""What crosses the border: JSON, read strictly and written plainly, and tokens."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ...errors import InvalidConfig, InvalidRequest, TooLarge

if TYPE_CHECKING:
    from starlette.requests import Request

__all__ = ["BASE_PATH", "UPLOAD_PATH", "body_of", "encoded", "read_object", "usable_token"]

BASE_PATH = "/api/webui/memory"
UPLOAD_PATH = "/memory_import_admin/upload"
"""Below the base path: takes files as a form, for `memory_import_admin create_upload`."""


def read_object(body: bytes) -> dict[str, Any]:
    """The JSON object in a request's body; an empty body is an empty object.

    Raises InvalidRequest for anything else, NaN and Infinity included.
    """
    if not body.strip():
        return {}
    try:
        value = json.loads(body, parse_constant=_refuse)
    except RecursionError as exc:
        raise InvalidRequest("The body is nested too deep.", field="body") from exc
    except ValueError as exc:
        raise InvalidRequest(f"The body is not valid JSON: {exc}.", field="body") from exc
    if not isinstance(value, dict):
        raise InvalidRequest(f"The body must be a JSON object, not {_kind(value)}.", field="body")
    return value


async def body_of(request: Request, most: int) -> bytes:
    """The body, read no further than `most` bytes whatever its declared length. Raises TooLarge."""
    too_large = TooLarge(f"The body is over {most} bytes (http.max_body_bytes).", limit=most)
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > most:
        raise too_large
    parts, held = list[bytes](), 0
    async for part in request.stream():
        held += len(part)
        if held > most:
            raise too_large
        parts.append(part)
    return b"".join(parts)


def encoded(value: Any) -> bytes:
    """UTF-8 JSON; half a surrogate pair, which UTF-8 cannot hold, becomes a question mark."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")


def usable_token(given: str, where: str) -> str:
    """The token without space around it. Raises InvalidConfig for one that no request could carry."""
    token = given.strip()
    if (given and not token) or not all(" " <= char <= "~" for char in token):
        raise InvalidConfig(
            f"{where}: a token is made of ASCII letters, digits and signs, and is not blank: `amemorix token` makes one.",
            field="http.token_env",
        )
    return token


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a JSON number")


def _kind(value: Any) -> str:
    match value:
        case list():
            return "an array"
        case str():
            return "a string"
        case None:
            return "null"
        case bool():
            return "true or false"
        case _:
            return "a number"
