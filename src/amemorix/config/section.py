"""What a setting is made of: a meaning, bounds, a default, and what changing it costs."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from ..lazy_regex import lazy_regex

__all__ = ["NO_VARIABLE", "ReloadLevel", "Section", "VariableName", "is_variable_name", "live", "rebuild", "restart"]

_VARIABLE = lazy_regex(r"[A-Za-z_][A-Za-z0-9_]*")
_KEY = lazy_regex(
    r"(sk|pk|gsk|hf|xai|r8|nvapi|glpat|ghp|jina|pplx|tgp|fw)_?[A-Za-z0-9]{16,}|(sk|pk|gsk|hf|xai|ghp|github_pat|tgp_v1)_\w{8,}|AIza\w+"
    r"|(?=[A-Za-z]*[0-9])[A-Za-z0-9]{20,}"
)
"""Keys of known services that are made of the same characters, and what is too long and mixed to be a name."""
ReloadLevel = Literal["live", "rebuild", "restart"]


def is_variable_name(text: str) -> bool:
    """Whether a text is the name of an environment variable, and not a key that was pasted in its place."""
    return _VARIABLE.fullmatch(text) is not None and _KEY.fullmatch(text) is None


def _no_key(text: str) -> str:
    if text and not is_variable_name(text):
        raise ValueError(NO_VARIABLE)
    return text


NO_VARIABLE = (
    "this wants the name of an environment variable, such as OPENAI_API_KEY (letters, digits and _), and what stands there is none. "
    "A key or token goes into the environment and never into this file; what was there is not repeated here"
)
VariableName = Annotated[str, AfterValidator(_no_key)]


class Section(BaseModel):
    """A table of settings: frozen, with unknown keys refused."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, hide_input_in_errors=True, defer_build=True
    )


def live(default: Any, meaning: str, **bounds: Any) -> Any:
    """A setting that applies to the next call."""
    return Field(default, description=meaning, json_schema_extra={"x-reload": "live"}, **bounds)


def rebuild(default: Any, meaning: str, **bounds: Any) -> Any:
    """A setting whose change builds a new model or index beside the old one, and then switches."""
    return Field(default, description=meaning, json_schema_extra={"x-reload": "rebuild"}, **bounds)


def restart(default: Any, meaning: str, **bounds: Any) -> Any:
    """A setting whose change opens a new store, or wants the process started again."""
    return Field(default, description=meaning, json_schema_extra={"x-reload": "restart"}, **bounds)
