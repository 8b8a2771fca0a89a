"""The Chinese-English dictionary CC-CEDICT, read into short English glosses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from ...language.normalise import fold
from ...lazy_regex import lazy_regex

__all__ = ["Entry", "Gloss", "brief", "glosses", "read_entries", "senses_of"]

_MAX_FOLLOWED = 3
"""How many references of the kind "variant of X" are followed in a row."""
_MAX_WORDS = 6
"""A longer sense is an explanation; its first words say what the thing is."""

_HAN = "\u3400-\u9fff"
_LINE = lazy_regex(r"(\S+) (\S+) \[(.*?)\] /(.*)/\s*$")
_BRACKETS = lazy_regex(r"\([^()]*\)|\[[^\[\]]*\]")
_REFERENCE = lazy_regex(
    rf"(?:[^{_HAN}]*\b)?(?:variant of|see|see also|abbr\. (?:for|of)|also (?:written|called)|now written|used in|same as"
    rf"|equivalent of|equivalent:|contraction of|(?:slang|short|name|used) for) ?([{_HAN}]+)(?:\|([{_HAN}]+))?"
)
_USELESS = lazy_regex(r"CL:|surname |place name|(?:Taiwan|also|old) pr\.|abbr\. to |opposite:|contrasted with|cf\.? ")
_RARE = lazy_regex(
    r"lit\. |(?:\([^)]*\) ?)*(?:classifier for|prefix|suffix|particle|interjection|auxiliary|used |indicat|refers to"
    r"|unit of|ancient |euphemis|onom|sound of)"
    r"|\((?:lit\.|old|archaic|arch\.|literary|classical|in former times|dialect|Tw|Cantonese|bound form|Buddhism|TCM"
    r"|onom\.)\)"
)
_MODERN = lazy_regex(
    r"slang|coll\.|colloquial|neologism|Internet|loanword|gaming|computing|\b(?:brand|company|website|messaging"
    r"|social media|social networking|microblog|video game|mobile|smartphone|e-commerce|fast food|coffee)\b"
)
_SPECIAL = lazy_regex(
    r"\((?:idiom|bird species|dog breed|chemistry|biochem|math|physics|geology|mineral|mining|soil|botany|zoology"
    r"|taxonomy|biology|anatomy|medicine|TCM|astronomy|constellation|military|linguistics|Buddhism|old|archaic|literary"
    r"|classical|name)"
)
_MARK = lazy_regex(r"(?:fig|lit|esp|abbr)\.(?: and fig\.)? ")
_SOMEBODY = lazy_regex(r"(?:'s)?\b(?:sb|sth)(?:'s)?\b(?: or (?:sb|sth)\b)?")
_CHINESE = lazy_regex(rf"[{_HAN}|·，、]+")
_LEAD = lazy_regex(r"^(?:to be|to|an?|the) (?=\w)")
_EDGES = " ,.:-=+"


@dataclass(frozen=True, slots=True)
class Entry:
    """One reading of a word: its simplified form, its pinyin and its senses as they are printed."""

    word: str
    pinyin: str
    senses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Gloss:
    """What a word means, the likeliest sense first, and what sort of word it is."""

    senses: tuple[str, ...]
    is_name: bool
    """Every reading is capitalised."""
    is_modern: bool
    """Slang, a loanword, a brand, or a word of the Internet."""
    is_special: bool
    """An idiom, an old word or a term of some science."""


def read_entries(lines: Iterable[str]) -> Iterator[Entry]:
    """The entries of a file in CC-CEDICT's format; comments and lines of another form are passed over."""
    for line in lines:
        if match := _LINE.match(line):
            _, word, pinyin, senses = match.groups()
            yield Entry(word, pinyin, tuple(senses.split("/")))


def glosses(entries: Iterable[Entry]) -> dict[str, Gloss]:
    """The gloss of each word, folded as texts are.

    Readings that are names come last, and of the others those with few senses. A word that is only a reference to
    another one has the other's senses; a word of which nothing is left is not there.
    """
    readings: dict[str, list[Entry]] = {}
    for entry in entries:
        readings.setdefault(fold(entry.word), []).append(entry)
    found = {word: _gloss(group) for word, group in readings.items()}
    references = {word: _reference(readings[word]) for word, gloss in found.items() if not gloss.senses}
    for word in references:
        found[word] = replace(found[word], senses=_followed(word, found, references))
    return {word: gloss for word, gloss in found.items() if gloss.senses}


def senses_of(entry: Entry) -> tuple[list[str], list[str]]:
    """The common and the rare senses of an entry in plain English, without remarks and references.

    Rare are old, literary, literal and dialectal senses, and those that describe a use instead of a meaning.
    """
    common: list[str] = []
    rare: list[str] = []
    for sense in entry.senses:
        if not (_USELESS.match(sense) or _REFERENCE.match(sense)):
            kept = rare if _RARE.match(sense) else common
            before, bare = "", sense
            while bare != before:  # brackets may hold brackets
                before, bare = bare, _BRACKETS.sub(" ", bare)
            kept.extend(filter(None, map(_plain, bare.split(";"))))
    return common, rare


def brief(sense: str, *, bare: bool = False) -> str:
    """The first six words of a sense; if `bare`, only those before a comma, without "to" or an article in front."""
    if bare:
        sense = _LEAD.sub("", sense.partition(",")[0])
    return " ".join(sense.split()[:_MAX_WORDS])


def _gloss(readings: list[Entry]) -> Gloss:
    printed = "/".join(sense for entry in readings for sense in entry.senses)
    return Gloss(
        senses=_merged(readings),
        is_name=all(map(_is_name, readings)),
        is_modern=_MODERN.search(printed) is not None,
        is_special=_SPECIAL.search(printed) is not None,
    )


def _merged(readings: Iterable[Entry]) -> tuple[str, ...]:
    """The senses of all readings of a word, each once: first the common ones of every reading that is no name."""
    groups: list[tuple[int, int, list[str]]] = []
    for entry in readings:
        for is_rare, senses in enumerate(senses_of(entry)):
            groups.append((2 if _is_name(entry) else is_rare, -len(senses), senses))
    groups.sort(key=lambda group: group[:2])
    return tuple(dict.fromkeys(sense for _, _, senses in groups for sense in senses))


def _is_name(entry: Entry) -> bool:
    return entry.pinyin[:1].isupper()


def _reference(readings: Iterable[Entry]) -> str:
    """The first word that the senses refer to, folded; empty if there is none."""
    for entry in readings:
        for sense in entry.senses:
            if match := _REFERENCE.match(sense):
                return fold(match[2] or match[1])
    return ""


def _followed(word: str, found: Mapping[str, Gloss], references: Mapping[str, str]) -> tuple[str, ...]:
    for _ in range(_MAX_FOLLOWED):
        word = references.get(word, "")
        if word in found and found[word].senses:
            return found[word].senses
    return ()


def _plain(sense: str) -> str:
    """One meaning without marks, Chinese characters, "sb" or "sth"; empty if there is no letter left."""
    sense = _CHINESE.sub(" ", _SOMEBODY.sub(" ", sense))
    sense = " ".join(sense.split()).replace(" ,", ",").strip(_EDGES)
    if mark := _MARK.match(sense):
        sense = sense[mark.end() :]
    return sense if any(map(str.isalpha, sense)) else ""
