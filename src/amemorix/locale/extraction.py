"""The sentences that a person may read, taken out of the source as templates: what a catalogue has to hold."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from inspect import cleandoc
from pathlib import Path

from .foreign import SENTENCES

__all__ = ["WORD", "templates"]

WORD = "word"
"""Context of what stands alone: headings of tables, and states that are counted."""
_PACKAGE = Path(__file__).parents[1]
_UNREAD = re.compile(
    r"(testing|generated|__init__|lazy_regex|sorted_arrays|locale/.*|indexes/(?!vectors/(embedding|serving)\.).*|language/(?!times|encoding).*"
    r"|facts/(language/.*|data/.*|classifier|reading|recall|ledger|succession)|episodes/(model|grouping|statements|window)"
    r"|models/(structured_chat|local/(onnx_graph|quantisation|bert_onnx|unigram|lac|minilm))|store/(queries|postgres)|ingest/summary_prompt"
    r"|corrections/plan_model|profiles/(items|statements)|search/(language/.*|context|query|spelling)|tuning/(questions|query_set)"
    r"|facades/(?!access|rooms|texts).*|integrations/memory_tools|frontends/(chat_commands|repeated_faults|reference|type_stubs|http/(metrics|openapi|docs_page)))\.py"
)
"""Modules whose strings are prompts, patterns, or for developers, and one that speaks both languages itself."""
_UNREAD_NAMES = re.compile(r"what|fields|example|(NO_)?TEXT|INSTRUCTIONS|means|_REQUIRED|SCRIPT|\w*SYSTEM|__all__")
"""Names whose value is a prompt, an example or a pattern."""
_UNREAD_CALLS = re.compile(
    r"(log|logger|re|json)\..*|lazy_regex|(Runtime|Key|Type|Attribute|NotImplemented|Assertion|FileExists)Error|TypeVar|import_module|getattr|print_json"
    r"|.*\.(run|removeprefix|removesuffix|startswith|endswith|strftime|replace|span|start_as_current_span|getLogger)"
)
_WORD_NAMES = re.compile(r"HEADINGS|LANES|[A-Z]+_STATES|_FATES|_WELL")
"""Names whose value holds words that stand alone."""
_WORD_CALLS = re.compile(r"columns|word|counted|thread\.step|self\._thread\.step")
_NO_SENTENCE = re.compile(
    r"""\{"|\[|<|%|"\w|echo |curl |begin |select |insert or |Lines:|Answer with |Say \\{|pragma |savepoint |attach |detach |release unit|rollback to|application/|text/|/?Library/|Application Support"""
    r"""|\w+\[|\\d| -H|Bearer |id=|amemorix lane|amemorix \{|configuration applied|#{1,2} \w+ ?\w*\n?$|(bold|dim) \w+$|\{0\} search|value = |`[^`]*`?$|Memor(y|ies) \w+ successfully"""
)
_COMMAND = re.compile(r".*\.(command|callback)\b")
_FIELD = re.compile(
    r"(?:(?:[-a-z][-\w.]*|\{\d+\}|[-\w.]*\{\d+\}[-\w.]*|\{\d+\}, line \{\d+\}|line \{\d+\}): (?=.*[A-Za-z]{2,}.* ))+"
)
"""The place in a file, or the field, that an error is about, before its sentence."""
_HOLE = re.compile(r"\{\w*\}")
_FEWEST_LETTERS = 6
"""Of a single word beside holes; a shorter one would be found in what is none of our sentences."""


def templates(further: Iterable[str] = ()) -> dict[tuple[str, str], list[str]]:
    """(context, template) in the order of the files, with the files that it is in.

    What is filled in stands as `{0}`, `{1}`; the field before an error's sentence is left out. `further` are sentences
    that are no strings of the source, but data.
    """
    found: dict[tuple[str, str], list[str]] = {}
    for path in sorted(_PACKAGE.rglob("*.py")):
        file = path.relative_to(_PACKAGE).as_posix()
        if not _UNREAD.fullmatch(file):
            for context, text in _strings(ast.parse(path.read_text("utf-8"))):
                if context == WORD or _is_sentence(text):
                    files = found.setdefault((context, text if context else _bare(text)), [])
                    if file not in files:
                        files.append(file)
    for text in further:
        found.setdefault(("", text), ["generated.py"])
    for text in SENTENCES:
        found.setdefault(("", text), ["locale/foreign.py"])
    return found


def _strings(node: ast.AST) -> Iterator[tuple[str, str]]:
    match node:
        case ast.Call() if _WORD_CALLS.fullmatch(_dotted(node.func)):
            given = (one for arg in node.args for one in ast.walk(arg) if isinstance(one, ast.Constant))
            yield from ((WORD, one.value) for one in given if one.value and isinstance(one.value, str))
        case ast.Call() if _UNREAD_CALLS.fullmatch(_dotted(node.func)):
            pass
        case ast.Assign(targets=[ast.Name(id=name), *_]) if _WORD_NAMES.fullmatch(name):
            texts = (one.value for one in ast.walk(node.value) if isinstance(one, ast.Constant))
            yield from ((WORD, text) for text in texts if isinstance(text, str))
        case ast.Assign(targets=[ast.Name(id=name), *_]) if _UNREAD_NAMES.fullmatch(name):
            pass
        case ast.Import() | ast.ImportFrom() | ast.Expr(value=ast.Constant()) | ast.Raise(exc=None) | ast.Assert():
            pass
        case ast.Subscript(value=ast.Name(id="Literal")):
            pass
        case ast.AnnAssign(value=None) | ast.AnnAssign(target=ast.Name(id="ENDINGS")) | ast.keyword(arg="description"):
            pass
        case ast.FunctionDef(name="allowed" | "_length"):  # parts of a sentence, which `foreign` has whole
            pass
        case ast.JoinedStr():
            yield "", _template(node)
            for part in node.values:
                if isinstance(part, ast.FormattedValue):
                    yield from _strings(part.value)
        case ast.Constant(value=str() as text):
            yield "", text.replace("{{", "{").replace("}}", "}")
        case _:
            if _speaks(node):
                told = ast.get_docstring(node) or ""  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
                yield "", cleandoc(told).split("\n")[0]
            for child in ast.iter_child_nodes(node):
                yield from _strings(child)


def _speaks(node: ast.AST) -> bool:
    """Whether its docstring is shown: of an error, a command."""
    if isinstance(node, ast.ClassDef):
        return any(_dotted(base) in ("MemoryFault", "Exception", "Conflict") for base in node.bases)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return any(_COMMAND.match(_dotted(one)) for one in node.decorator_list)
    return False


def _dotted(node: ast.AST) -> str:
    """The name by which something is called, as far as it is made of names."""
    match node:
        case ast.Name():
            return node.id
        case ast.Attribute():
            return f"{_dotted(node.value)}.{node.attr}"
        case ast.Call():
            return _dotted(node.func)
        case _:
            return ""


def _template(node: ast.JoinedStr) -> str:
    parts, holes = list[str](), 0
    for part in node.values:
        if isinstance(part, ast.Constant):
            parts.append(str(part.value))
        else:
            parts.append(f"{{{holes}}}")
            holes += 1
    return "".join(parts)


def _bare(text: str) -> str:
    """Without the field before it, the holes numbered from 0."""
    text = text.removeprefix("; ").removeprefix(", ")
    field = _FIELD.match(text)
    if field is None:
        return text
    rest, gone = text[field.end() :], len(_HOLE.findall(field[0]))
    return re.sub(r"\{(\d+)\}", lambda hole: f"{{{int(hole[1]) - gone}}}", rest)


def _is_sentence(text: str) -> bool:
    plain = _HOLE.sub("", text)
    if _NO_SENTENCE.match(text) or (re.search("[一-鿿]", text) and "\n" in text):
        return False
    words = re.findall(r"[A-Za-z]{2,}", plain)
    return " " in plain and (
        len(words) > 1 or (_HOLE.search(text) is not None and len("".join(words)) >= _FEWEST_LETTERS)
    )
