"""A correction in words: what it says is so, what is not, and what is to be forgotten."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ..language.normalise import STOP_WORDS, fold, is_mostly_cjk, tokens
from ..language.person_names import TITLE_BEFORE
from ..language.times import asks_something
from ..lazy_regex import lazy_regex
from ..search.query import is_small_talk

__all__ = ["FIRST", "SPELLING", "Sentence", "data", "fillers", "kin", "negation", "read_sentence", "topics"]

MOST_CHARS = 400
"""A correction is a sentence or two; what is longer is a text of its own."""
_BREAK = lazy_regex(r"(?:[^\w\s'’“”\"()/%$￥¥+#@&-]|--|—)+(?=\s|$|[^\x00-\x7f])|[，。；！？…—\n]+")
_BREAK_ZH = lazy_regex(r"(?:[^\w\s'’“”\"()/%$￥¥+#@&:：.-]|—|\.(?!\d))+|\s+|\.+$")
_TITLE = lazy_regex(rf"\b{TITLE_BEFORE}$", re.I)
SPELLING = lazy_regex(
    r"\bwith(?:out)? (?:an?|one|two|no|the) '?[a-z]'?s?\b(?! \w)|\bspel(?:t|led)\b|^(?:no,? )?it'?s \w+$", re.I
)
"""What tells how a name is written."""
FIRST = lazy_regex(
    r"我(?![国校司])|俺|咱|本人|\b(?:i|i'm|im|i've|i'd|i'll|my|mine|me|we|we're|we've|our|ours|us)\b", re.I
)


@cache
def data() -> dict[str, Any]:
    """The words of `words.toml`."""
    return tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8"))


@cache
def _pattern(*path: str) -> re.Pattern[str]:
    found: Any = data()
    for name in path:
        found = found[name]
    return re.compile("|".join(f"(?:{one})" for one in ([found] if isinstance(found, str) else found)), re.I)


@cache
def fillers() -> frozenset[str]:
    """Words of no matter of their own."""
    return STOP_WORDS | set(data()["fillers"]["words"])


@dataclass(frozen=True, slots=True)
class Sentence:
    """What somebody says is wrong."""

    text: str
    """The sentence, without words that only say that something is wrong."""
    said: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    ended: tuple[tuple[str, str], ...] = ()
    """Of what is said, what has come to an end, and of what: ("we sold the van", "we the van")."""
    forget: str = ""
    exchange: tuple[str, str] | None = None
    """What is wrong and what is right, where the sentence names both: "Rex → Max"."""
    cued: bool = False
    """Whether it shows that it corrects something: it denies, asks to forget, or begins with such a word."""

    @property
    def first_person(self) -> bool:
        """Whether it speaks of whoever says it."""
        return FIRST.search(self.text) is not None

    @property
    def states_something(self) -> bool:
        """Whether it is more than a question or a greeting."""
        return self.cued or not (asks_something(self.text) or is_small_talk(fold(self.text)))


def read_sentence(text: str) -> Sentence | None:
    """The parts of a sentence; None for one that is too long or says nothing."""
    whole = " ".join(text.replace("’", "'").split())
    if len(whole) > MOST_CHARS or not (tokens(whole) or SPELLING.search(whole)):
        return None
    chinese, start, opened = is_mostly_cjk(whole), 0, False
    said: list[str] = []
    denied: list[str] = []
    for begin, end in _clauses(whole, chinese):
        clause, lead = whole[begin:end], 0
        while (found := _pattern("openers").match(clause, lead)) and found.end() > lead:
            if (
                chinese
                and found.end() < len(clause)
                and found.end() - lead == 1
                and clause[lead] not in "哎唉诶喂嗯哦噢啊哈错"
            ):
                break
            lead = found.end()
            while lead < len(clause) and clause[lead] in " ,，:：~":
                lead += 1
        opened |= _pattern("interjections").sub("", clause[:lead]) != ""
        if not tokens(clause[lead:]) and not re.search(r"\w{3}", clause[lead:]) and not SPELLING.search(clause):
            start = end if not (said or denied) else start
            continue
        if not (said or denied):
            start = begin + lead
        if exchange := _pattern("exchange").fullmatch(clause[lead:].strip()):
            old, new = (one.strip(" 的\"'“”") for one in exchange.groups() if one is not None)
            if tokens(old) and tokens(new):
                return Sentence(whole[start:].strip(), (new,), (old,), exchange=(old, new), cued=True)
        asked = _pattern("forget").fullmatch(clause[lead:].strip())
        if asked and (what := _forgotten(next(filter(None, asked.groups()), ""))):
            if said:  # we split ages ago, forget Zoe
                denied.append(what)
                continue
            return Sentence(whole[start:].strip(), forget=what, cued=True)
        clause = _pattern("closers").sub("", clause[lead:].strip())
        if named := re.fullmatch(f"(.{{2,}}?)(?:{_pattern('wrong_tail').pattern})", clause, re.I):
            said.append(named[1])
            opened = True
        else:
            (_read_chinese if chinese else _read_english)(clause, said, denied)
    rest = _pattern("closers").sub("", whole[start:]).strip(" ,，")
    ended = [(part, over) for part in said if (over := _pattern("ended").sub("", part)) != part]
    cued = opened or bool(denied or ended or SPELLING.search(rest))
    return Sentence(rest, tuple(said), tuple(denied), tuple(ended), cued=cued) if said or denied else None


def _clauses(text: str, chinese: bool) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    start = 0
    for gap in (_BREAK_ZH if chinese else _BREAK).finditer(text):
        if gap[0][0] == "." and _TITLE.search(text, 0, gap.start()):
            continue
        if gap.start() > start:
            found.append((start, gap.start()))
        start = gap.end()
    return [*found, (start, len(text))] if start < len(text) else found


def _forgotten(what: str) -> str:
    lead = _pattern("forget_lead")
    what = _pattern("closers").sub("", what.strip())
    while (found := lead.match(what)) and found.end():
        what = what[found.end() :].strip()
    shorter = re.sub(f"(?:{_pattern('forget_tail').pattern})$", "", what)
    return shorter or what


def _read_chinese(clause: str, said: list[str], denied: list[str]) -> None:
    if misquoted := _pattern("denied", "misquoted").fullmatch(clause):
        denied.append(next(filter(None, misquoted.groups())))
        before = clause[: misquoted.start(misquoted.lastgroup or 0)]
        if re.search("[写说记打听当看]成|以为", before) and (
            rest := re.sub("(?:[写说记打听当看]成|以为).*", "", before)
        ):
            said.append(rest)
        return
    contrast = re.fullmatch(rf"(?P<left>.*?)(?:{_pattern('denied', 'zh_contrast').pattern})(?P<right>.+)", clause)
    if contrast and not re.fullmatch(f".*?(?:{_pattern('denied', 'zh_no_negation').pattern}).*", clause):
        left, right = contrast["left"], contrast["right"]
        verb = contrast["verb"].removeprefix("是")
        if not left:
            denied.append(verb + right)
        elif re.search(rf"[是叫]|{contrast['verb'][0]}|应该|\d|[一二两三四五六七八九十]", left) or len(left) > 6:
            said.append(left)
            denied.append(verb + right)
        else:
            denied.append(left + verb + right)
        return
    plain = re.sub(_pattern("denied", "zh_no_negation").pattern, lambda m: "\0" * len(m[0]), clause)
    if found := re.search(_pattern("denied", "zh").pattern, plain):
        denied.append(clause[: found.start()] + clause[found.end() :].rstrip("了啦"))
    else:
        said.append(clause)


def _read_english(clause: str, said: list[str], denied: list[str]) -> None:
    if misquoted := _pattern("denied", "misquoted").fullmatch(clause):
        denied.append(next(filter(None, misquoted.groups())))
        return
    negation = _pattern("denied", "en").search(clause)
    if negation is None:
        contrast = _pattern("denied", "en_contrast").search(clause)
        if contrast is None:
            said.append(clause)
            return
        said.append(clause[: contrast.start()])
        denied.append(clause[contrast.end() :])
        return
    before, after = (
        clause[: negation.start()].strip(),
        _pattern("denied", "en_rest").sub("", clause[negation.end() :]).strip(),
    )
    but = re.fullmatch(r"(.+?),? but (?!(?:i|he|she|they|we|you|it|my)\b)(.+)", after, re.I)
    if but:  # I'm not allergic to peanuts but to cashews
        denied.append(f"{before} {but[1]}".strip())
        said.append(f"{before} {but[2]}".strip())
    elif negation[0].lower() == "not" and before:  # 4500 not 5400
        said.append(before)
        denied.append(after)
    elif contrast := re.search(r"\bnot (?!just |only )", after):  # he isn't …, not …
        denied.extend(filter(None, (f"{before} {after[: contrast.start()]}".strip(), after[contrast.end() :])))
    elif after:
        denied.append(f"{before} {after}".strip())
    else:
        said.append(clause)


def negation(clause: str) -> int | None:
    """Where the clause says that something is not so, or no longer; what somebody must not do is so."""
    chinese = is_mostly_cjk(clause)
    plain = (
        re.sub(_pattern("denied", "zh_no_negation").pattern, lambda m: "\0" * len(m[0]), clause) if chinese else clause
    )
    found = _pattern("denied", "zh" if chinese else "en").search(plain)
    able = found and re.match(
        r"\s*(?:能|可以|敢|吃|喝|碰)|can|could", plain[found.end() - (0 if chinese else len(found[0])) :], re.I
    )
    return found.start() if found and not able else None


def topics(text: str) -> frozenset[str]:
    """The matters that a text is about."""
    return frozenset(name for name in data()["topics"] if _pattern("topics", name).search(text))


@cache
def _kin() -> list[tuple[str, re.Pattern[str]]]:
    chinese = [(one, re.compile(one)) for one in data()["kin"]["zh"]]
    return chinese + [(one, re.compile(rf"\b(?:{one})(?:'s)?\b", re.I)) for one in data()["kin"]["en"]]


def kin(text: str) -> dict[str, tuple[int, int]]:
    """The relatives, friends and pets that a text names: which of them, and where first."""
    found: dict[str, tuple[int, int]] = {}
    for one, words in _kin():
        if (match := words.search(text)) and not any(a <= match.start() < b for a, b in found.values()):
            found[one] = match.span()
    return found
