"""The packages that only some uses need: `pip install 'amemorix[NAME]'` brings them."""

from __future__ import annotations

from importlib.util import find_spec

from .errors import MemoryFault, NotReady

__all__ = ["EXTRAS", "require"]

EXTRAS = {
    "server": ("jinja2", "starlette", "uvicorn", "python_multipart", "prometheus_client"),
    "encryption": ("sqlcipher3", "cryptography", "pyrage"),
    "mcp": ("mcp",),
    "onebot": ("websockets",),
    "minilm": ("safetensors", "tokenizers"),
    "langchain": ("langchain_core",),
    "llama-index": ("llama_index",),
    "openai-agents": ("agents",),
    "pydantic-ai": ("pydantic_ai",),
    "langgraph": ("langgraph",),
    "exo": ("cryptography",),
    "xaibo": ("xaibo",),
    "redis": ("redis",),
    "postgres": ("psycopg",),
    "qdrant": ("qdrant_client",),
}
"""Extra -> the modules that come with it."""


def require(extra: str, what: str, *, fault: type[MemoryFault] = NotReady) -> None:
    """Raises `fault`, which names what is lacking and how to install it, if the packages of an extra are not there."""
    lacking = [module for module in EXTRAS[extra] if not _is_there(module)]
    if lacking:
        raise fault(
            f"{what} needs packages that are not installed ({', '.join(lacking)}): run `pip install 'amemorix[{extra}]'`.",
            extra=extra,
        )


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ValueError:  # it was made unavailable
        return False
