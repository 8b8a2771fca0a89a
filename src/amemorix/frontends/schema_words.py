"""The bounds of a JSON Schema in words."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["bounds", "default"]


def bounds(node: dict[str, Any]) -> str:
    """Such as `, 1 to 200`; empty without bounds."""
    least = node.get("minimum", node.get("minLength", node.get("minItems")))
    most = node.get("maximum", node.get("maxLength", node.get("maxItems")))
    unit = " characters" if "maxLength" in node or "minLength" in node else ""
    unit = " entries" if "maxItems" in node or "minItems" in node else unit
    if least is None and most is None:
        return ""
    if least is None or most is None:
        return f", at least {least}{unit}" if most is None else f", at most {most}{unit}"
    return f", {least} to {most}{unit}"


def default(value: Any) -> str:
    """A default as code; empty for none."""
    return "" if value is None else f"`{json.dumps(value, ensure_ascii=False)}`"
