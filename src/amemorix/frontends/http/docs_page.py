"""The page at `/docs`: every operation of `/openapi.json`, to be read and tried in a browser, without a network.

What `docs.html` says to people stands there as `{{…}}`, for its translation.
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files

from starlette.responses import HTMLResponse

from ...locale import Language, spoken, told

__all__ = ["DOCS_PATH", "docs_page", "page_sentences"]

DOCS_PATH = "/docs"
_SENTENCE = re.compile(r"\{\{(.+?)\}\}")


def docs_page() -> HTMLResponse:
    """The page, in the language that is spoken; the browser runs and loads nothing but what is in it, and asks nobody but the daemon."""
    text, policy = _page(spoken() or "en")
    headers = {"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
               "Vary": "Accept-Language"}  # fmt: skip
    return HTMLResponse(text, headers=headers)


def page_sentences() -> list[str]:
    """What the page says to people, in English."""
    return _SENTENCE.findall(_marked())


def _marked() -> str:
    return files(__package__ or "").joinpath("docs.html").read_text("utf-8")


@cache
def _page(language: Language) -> tuple[str, str]:
    text = _SENTENCE.sub(lambda found: told(found[1], language), _marked())
    text = text.replace('<html lang="en">', f'<html lang="{language}">')

    def only(tag: str) -> str:
        inside = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.S)
        hashes = [base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in inside]
        return " ".join(f"'sha256-{one}'" for one in hashes)

    parts = ("default-src 'none'", f"script-src {only('script')}", f"style-src {only('style')}", "connect-src 'self'",
             "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'")  # fmt: skip
    return text, "; ".join(parts)
