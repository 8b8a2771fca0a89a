"""The page at `/docs`: every operation of `/openapi.json`, to be read and tried in a browser, without a network."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files

from starlette.responses import HTMLResponse

__all__ = ["DOCS_PATH", "docs_page"]

DOCS_PATH = "/docs"


def docs_page() -> HTMLResponse:
    """The page; the browser runs and loads nothing but what is in it, and asks nobody but the daemon."""
    text, policy = _page()
    headers = {"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}
    return HTMLResponse(text, headers=headers)


@cache
def _page() -> tuple[str, str]:
    text = files(__package__ or "").joinpath("docs.html").read_text("utf-8")

    def only(tag: str) -> str:
        inside = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.S)
        hashes = [base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in inside]
        return " ".join(f"'sha256-{one}'" for one in hashes)

    parts = ("default-src 'none'", f"script-src {only('script')}", f"style-src {only('style')}", "connect-src 'self'",
             "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'")  # fmt: skip
    return text, "; ".join(parts)
