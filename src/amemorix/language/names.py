"""Names in texts: what is written like one, and what may be one that is known."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..lazy_regex import lazy_regex
from .chat_markup import uncoded
from .chinese_words import HAN, tagged_words
from .normalise import STOP_WORDS, is_mostly_cjk, normalise_name
from .stopwords import LONGEST_NAME, is_name, is_talk
from .word_lists import word_lists

__all__ = ["MOST_CHARS", "Mention", "are_chinese", "is_chinese_name", "names", "possible_names"]

MOST_CHARS = 20_000
"""What is read of one text."""
_LISTS = word_lists("names")
_NO_NAMES = _LISTS["no_names"]
_BEGINS = _LISTS["begins_sentence"] | _NO_NAMES | STOP_WORDS
_JOINS = _LISTS["joins"]

_KANA = lazy_regex(r"[\u3041-\u30ff]")
_WORK = lazy_regex(r"《([^》\n]{1,40})》")
_QUOTED = lazy_regex(r"[\"“]([A-Z0-9][^\"”\n]{1,58})[\"”]|(?<!\w)'([A-Z0-9][^\"”\n]{1,58}?)'(?!\w)")
_WORD = r"(?:[A-HJ-Z]\.(?=\s[A-Z])|[A-Z][\w&]*(?:-\w+)*(?:'(?!(?:s|ll|re|ve|t|d|m)\b)[\w-]+)?(?!\w|'t\b))"
_RUN = lazy_regex(
    rf"(?<![\w'@#/.-])(?:(?:Dr|Mr|Mrs|Ms|Prof|St|Mt)\.\s)?{_WORD}(?:'s)?"
    rf"(?:\s(?:(?:of|the|de|del|la|van|von)\s){{0,2}}{_WORD}(?:'s)?){{0,4}}"
)
_GOES_ON = lazy_regex(r"(?:[a-z0-9,;&)]|(?<=\w)['’]s|[A-Z])['’]?\s$")
"""What stands before a word in the middle of a sentence."""
_LATIN = lazy_regex(r"(?<![A-Za-z0-9@/.])[A-Z][A-Za-zÀ-ÿ]*[a-zÀ-ÿ]{2,}(?: [A-Z][a-z]+){0,2}(?![A-Za-z0-9])")
_CODE = lazy_regex(r"[A-Z]\d+")
LONGEST_INITIALS = 4
"""What is longer and all in capitals is shouted."""
_SHOUTED = 0.5
"""The share of capitals among letters from which a text is shouted."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A named thing that a text speaks of."""

    name: str
    kind: str = ""


def names(text: str) -> list[Mention]:
    """What is written like a name: titles of works, and in English words with a capital that do not just begin a sentence,
    or that do so again and again. The kind is empty where nothing tells it."""
    text = uncoded(text[:MOST_CHARS].replace("’", "'"))
    found = [Mention(title, "work") for title in _WORK.findall(text) if is_name(title)]
    found += _latin(text) if is_mostly_cjk(text) else _english(text)
    met: dict[str, Mention] = {}
    for mention in found:
        norm = normalise_name(mention.name)
        if len(norm) <= LONGEST_NAME and not (norm in met and met[norm].kind):
            met[norm] = mention
    return list(met.values())


def are_chinese(text: str) -> bool:
    """Whether names in it are Chinese ones: not in Japanese, nor where Chinese only strays in."""
    return is_mostly_cjk(text) and HAN.search(text) is not None and _KANA.search(text) is None


def is_chinese_name(name: str) -> bool:
    """Whether what a model took for a name may be one."""
    return is_name(name) and name not in _LISTS["no_names_chinese"] and HAN.search(name) is not None


def possible_names(text: str) -> set[str]:
    """Normalised words, and up to four in a row, by which something may be known."""
    text = text[:MOST_CHARS].replace("’", "'")
    if is_mostly_cjk(text):
        cut = [word for word, _ in tagged_words(text)]
        runs = ("".join(cut[i:j]).strip() for i in range(len(cut)) for j in range(i + 1, min(len(cut), i + 3) + 1))
        return {
            normalise_name(run)
            for run in runs
            if 2 <= len(run) <= 12 and run[0].isalnum() and run[-1].isalnum() and not (run.isascii() and run.islower())
        }
    return {
        normalise_name(name)
        for run in _RUN.finditer(text)
        for name in _parts([word.removesuffix("'s") for word in run.group().split()])
        if len(name) > 1 and name.lower() not in _NO_NAMES
    }


def _parts(run: Sequence[str]) -> Iterator[str]:
    return (" ".join(run[i:j]) for i in range(len(run)) for j in range(i + 1, min(len(run), i + 4) + 1))


def _latin(text: str) -> Iterator[Mention]:
    """Names in Latin letters in Chinese talk."""
    for name in _LATIN.findall(text):
        if name.lower() not in _LISTS["no_names_in_chinese"] and is_name(name):
            yield Mention(name)


def _english(text: str) -> Iterator[Mention]:
    letters = [char for char in text if char.isalpha()]
    small = set(re.findall(r"\b[a-z][\w'-]*", text))
    shouted = sum(char.isupper() for char in letters) > _SHOUTED * len(letters)
    if shouted or len(small & _LISTS["german"]) > 1:
        return
    for match in _QUOTED.finditer(text):
        title = (match[1] or match[2]).rstrip(",.!? ")
        if _is_title(title):
            near = re.findall(r"[a-z]+", text[max(0, match.start() - 80) : match.end() + 40].lower())
            yield Mention(title, "work" if _LISTS["works"] & set(near) else "")
    text = _QUOTED.sub(lambda match: '""' if _is_title((match[1] or match[2]).rstrip(",.!? ")) else match.group(), text)
    begun = Counter[str]()
    for run in _RUN.finditer(text):
        said, begins = run.group().split(), _GOES_ON.search(text[max(0, run.start() - 6) : run.start()]) is None
        for part in _persons(said):
            first = begins and part[0] is said[0]
            name = _name(part, begins=first)
            if not name or (" " not in name and name.lower() in small):
                continue
            if first and name == said[0].removesuffix("'s"):
                begun[name] += 1
                if begun[name] < 2:
                    continue
            yield Mention(name, _kind(name.lower().split()))


def _persons(run: Sequence[str]) -> Iterator[Sequence[str]]:
    """What stands before and after a possessive: Kevin's Honda is two."""
    begin = 0
    for at, word in enumerate(run, 1):
        if word.endswith("'s") or at == len(run):
            yield run[begin:at]
            begin = at


def _is_title(text: str) -> bool:
    """Whether words in quotes are written as titles are: every long word with a capital, no whole sentence."""
    said = text.split()
    long = [word for word in said if len(word) > 4]
    if len(said) > 8 or not all(word[0].isupper() or not word[0].isalpha() for word in long):
        return False
    return is_name(text) and not (len(said) == 1 and _is_talk(text))


def _name(run: Sequence[str], *, begins: bool) -> str:
    """The run without what only begins a sentence, and without words that name nothing; empty if nothing is left."""
    said = [word.removesuffix("'s") for word in run]
    if len(said) > 1 and said[0].lower().rstrip(".") in _LISTS["titles"]:
        return " ".join(said)
    while said and (said[0].lower() in _NO_NAMES or said[0] in ("A", "I")):
        said.pop(0)
    while begins and said and (_is_talk(said[0]) or said[0].endswith(("ing", "ly"))):
        said.pop(0)
    while said and (said[-1] in ("I", "A") or said[-1] in _JOINS):
        said.pop()
    name = " ".join(said)
    if not said or said[0] in _JOINS or not is_name(name):
        return ""
    if name.isupper() and len(name) > LONGEST_INITIALS:
        return ""
    says_nothing = all(map(_is_talk, said)) and (begins or len(said) == 1)
    return "" if says_nothing or _CODE.fullmatch(name) else name


def _is_talk(word: str) -> bool:
    """Whether it names nothing by itself."""
    word = word.lower()
    return word in _BEGINS or ("'" not in word and is_talk(word))


def _kind(said: Sequence[str]) -> str:
    if said[0].rstrip(".") in _LISTS["titles"]:
        return "person"
    if said[-1] in _LISTS["organisations"]:
        return "organisation"
    is_place = len(said) > 1 and (said[-1] in _LISTS["places"] or said[0] in _LISTS["places_begin"])
    return "place" if is_place else ""
