"""A catalogue of translations, in gettext's format, by which finished sentences are recognised."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, cached_property
from pathlib import Path

__all__ = ["Catalogue", "Key", "catalogue", "holes", "po_entries", "po_text"]

Key = tuple[str, str]
"""Context (empty, or `word`) and the English template."""
HOLE = re.compile(r"\{\w*\}")
_PLACE = re.compile(r"(?:(.+?), )?(?:line|row) (\d+)(?:, column (\d+))?: (.+)")
_FIELD = re.compile(r"([-a-z][-\w.\[\]]*): (?=\S)")
_THING = re.compile(r"([a-z]\d+|'[^']*'|\"[^\"]*\"|`[^`]*`) ")
_NUMBER = re.compile(r"\{n\d\}")
"""A hole for numbers alone."""
_CHINESE = re.compile(r"[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef“”‘’]")
_ENDS = "。！？：；…"
_JOINTS = ((". ", "", "."), ("; ", "；", ""), (", ", "，", ""), (": ", "：", ""))
"""Where two sentences may be joined: how, how in Chinese, and what the first one ended with."""
_MOST_JOINTS = 8
"""Of one kind; a sentence with more of them lists something."""
_MOST_PARTS = 64
"""Of a sentence that are looked at."""
_LONGEST = 2_000
"""Letters of a line; longer ones are no sentences of ours."""
_Known = dict[str, str | None]
"""What has been found of the parts of a sentence."""
_LINE = re.compile(r'(msgctxt|msgid|msgstr)?\s*"(.*)"')
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}


class Catalogue:
    """Translations by context and template."""

    def __init__(self, entries: Mapping[Key, str]) -> None:
        self.entries = entries
        self._whole = {text.strip(): new.strip() for (context, text), new in entries.items() if new and not context}

    def word(self, text: str) -> str:
        """The translation of what stands alone; itself if there is none."""
        return self.entries.get(("word", text)) or text

    def translated(self, sentence: str) -> str:
        """The sentence in the language of the catalogue; itself if no template recognises it."""
        found = self._found(sentence, {})
        if found is None:
            return sentence
        indent = len(sentence) - len(sentence.lstrip(" "))
        return f"{' ' * indent}{found}" if indent > 1 else found

    @cached_property
    def _templates(self) -> list[tuple[str, str, str]]:
        """(longest literal piece, template, translation), the most literal first."""
        found = [(text, new) for text, new in self._whole.items() if HOLE.search(text)]
        found.sort(key=lambda one: -len(HOLE.sub("", one[0])))
        return [(max(HOLE.split(text), key=len), text, new) for text, new in found]

    def _found(self, text: str, known: _Known) -> str | None:
        text = text.strip()
        if text not in known and len(known) < _MOST_PARTS:
            known[text] = None  # while it is looked at
            known[text] = self._read(text, known)
        return known.get(text)

    def _read(self, text: str, known: _Known) -> str | None:
        if (exact := self._whole.get(text)) is not None and not HOLE.search(text):
            return exact
        if len(text) > _LONGEST and "\n" not in text:
            return None
        return self._behind_prefix(text, known) or self._matched(text, known) or self._in_parts(text, known)

    def _behind_prefix(self, text: str, known: _Known) -> str | None:
        """A sentence behind the place in a file, the field or the state that it is about; each of several lines."""
        if "\n" in text:
            lines = [(line, self._found(line, {})) for line in text.split("\n")]
            indented = (f"{line[: len(line) - len(line.lstrip())]}{new or line.strip()}" for line, new in lines)
            return "\n".join(indented) if any(new for _, new in lines) else None
        if place := _PLACE.fullmatch(text):
            file, line, column, problem = place.groups()
            if rest := self._found(problem, known):
                return f"{f'{file} ' if file else ''}第 {line} 行{f'第 {column} 列' if column else ''}：{rest}"
        if (field := _FIELD.match(text)) and (rest := self._found(text[field.end() :], known)):
            return f"{field[1]}：{rest}"
        state, *further = text.split("; ")
        if further and " " not in state and all(found := [self._found(one, known) for one in further]):
            return "；".join([state, *map(str, found)])
        return None

    def _matched(self, text: str, known: _Known) -> str | None:
        for piece, template, new in self._templates:
            if piece in text and _in_order(template, text) and (match := _pattern(template).fullmatch(text)):
                return self._filled(template, new, match.groups(), known)
        return None

    def _filled(self, template: str, new: str, values: Iterable[str], known: _Known) -> str:
        """A translation with the values of a template, of which those that are sentences are translated too."""
        given = list(values)
        shown = [(" " in value and self._found(value, known)) or value for value in given]
        stop = ""
        if HOLE.fullmatch(template[template.rfind("{") :]) and shown[-1] == given[-1] and given[-1].endswith("."):
            shown[-1], stop = given[-1][:-1], "。"  # it ends the sentence, and not the value
        named = dict(zip(HOLE.findall(template), shown, strict=True))
        result = ""
        for literal, hole in zip(HOLE.split(new), [*HOLE.findall(new), ""], strict=True):
            result += literal.removeprefix(" ") if result and _CHINESE.match(result[-1]) else literal
            value = named.get(hole, "")
            result = (result.removesuffix(" ") if _CHINESE.match(value) else result) + value
        return result if result.endswith(tuple(_ENDS)) else result + stop

    def _in_parts(self, text: str, known: _Known) -> str | None:
        """What is put together of sentences: with a stop more or less, of a thing, or several after each other."""
        if text.endswith(".") and (rest := self._whole.get(text[:-1]) or self._matched(text[:-1], known)):
            return rest if rest[-1] in _ENDS else f"{rest}。"
        if (rest := self._whole.get(f"{text}.")) is not None:
            return rest.removesuffix("。")
        if (thing := _THING.match(text)) and (rest := self._found(text[thing.end() :], known)):
            return f"{thing[1]} {rest}"
        for joint, chinese, end in _JOINTS:
            for place in _places(joint, text) if text.count(joint) <= _MOST_JOINTS else ():
                if rest := self._found(text[place + len(joint) :], known):
                    first = text[:place] + end
                    return f"{self._found(first, known) or first}{chinese}{rest}"
        return None


def holes(text: str) -> list[str]:
    """The places in a template where values go, in order."""
    return HOLE.findall(text)


@cache
def catalogue(language: str) -> Catalogue:
    """The catalogue of a language other than English."""
    return Catalogue(po_entries(Path(__file__).with_name(f"{language}.po").read_text("utf-8")))


@cache
def _pattern(template: str) -> re.Pattern[str]:
    pattern = re.escape(HOLE.split(template)[0])
    for hole, literal in zip(HOLE.findall(template), HOLE.split(template)[1:], strict=True):
        pattern += ("([-+.,e\\d]+)" if _NUMBER.fullmatch(hole) else "(.*?)") + re.escape(literal)
    return re.compile(pattern, re.DOTALL)


def _in_order(template: str, text: str) -> bool:
    """Whether the literal pieces of a template stand in a text one after the other: quicker told than by a pattern."""
    place = 0
    for piece in HOLE.split(template):
        place = text.find(piece, place)
        if place < 0:
            return False
        place += len(piece)
    return True


def _places(joint: str, text: str) -> Iterator[int]:
    place = text.find(joint)
    while place >= 0:
        yield place
        place = text.find(joint, place + 1)


def po_entries(text: str) -> dict[Key, str]:
    """The entries of a PO file, without its head."""
    found: dict[Key, str] = {}
    entry, part = {"msgctxt": "", "msgid": "", "msgstr": ""}, ""
    for line in [*text.splitlines(), ""]:
        if match := _LINE.match(line):
            part = match[1] or part
            entry[part] += re.sub(r"\\(.)", lambda escape: _ESCAPES[escape[1]], match[2])
        elif not line and part:
            if entry["msgid"]:
                found[entry["msgctxt"], entry["msgid"]] = entry["msgstr"]
            entry, part = dict.fromkeys(entry, ""), ""
    return found


def po_text(language: str, templates: Mapping[Key, Iterable[str]], translations: Mapping[Key, str]) -> str:
    """A PO file of these templates, each with the files that hold it and its translation, empty where there is none."""
    head = f"Language: {language}\nMIME-Version: 1.0\nContent-Type: text/plain; charset=UTF-8\nContent-Transfer-Encoding: 8bit\n"
    blocks = ["\n".join(['msgid ""', 'msgstr ""', *(_quoted(f"{line}\n") for line in head.splitlines())])]
    for (context, text), files in templates.items():
        lines = [f"#: {file}" for file in files] + [f"msgctxt {_quoted(context)}"] * bool(context)
        blocks.append(
            "\n".join([*lines, f"msgid {_quoted(text)}", f"msgstr {_quoted(translations.get((context, text), ''))}"])
        )
    return "\n\n".join(blocks) + "\n"


def _quoted(text: str) -> str:
    for short, char in (("\\", "\\"), ('"', '"'), ("n", "\n"), ("t", "\t")):
        text = text.replace(char, f"\\{short}")
    return f'"{text}"'
