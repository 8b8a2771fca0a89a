"""Facts, relations and lines as statements of a profile: in which section, in which words."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from importlib.resources import files
from itertools import accumulate, pairwise
from typing import Any

from ..facts.language.sentences import written_dates
from ..facts.language.slots import STATEMENT
from ..facts.oneself import FIRST_PERSON
from ..facts.rows import FactRow
from ..facts.timeline import ANY
from ..ids import fact_key
from ..language.normalise import fold, is_mostly_cjk, tokens
from ..language.stopwords import is_talk
from ..language.times import is_question
from ..lazy_regex import lazy_regex
from .items import ProfileItem, estimated_tokens
from .rows import Line, RelationOf, Said

__all__ = ["cut_at_phrase", "fact_items", "fact_section", "line_items", "relation_item", "worded_fact"]

LONGEST, SHORTEST = 240, 3
"""Characters of a statement."""
MORE = 5
"""Tokens that a sentence has beyond the value of the fact that it states: `I live in`, 我家的猫叫."""
OWN = ("direct_user", "manual")
"""Authorities of what a person said themselves, or a hand confirmed."""
BY_HAND = 0.7
"""The least weight of what a hand or another program has stated."""
EVENT_FACTOR = 1.6
"""A factor for what happened to a person: it is asked for as often as what lasts."""
NEWS_FACTOR = 0.3
"""A factor for what was kept only because it is news of something else."""
TELLING_ENOUGH = 9
"""Words that say something in particular with which a statement has all of its weight."""
DOUBTED_FACTOR = 0.85
"""A factor for what something later puts in doubt."""
CONTESTED_FACTOR = 0.6
"""A factor for what somebody says against the person's own word: it comes after that, however new it is."""
RELATION_WEIGHT = 0.6
"""The weight of a relation."""
TELLING, TELLING_WORDS = 3, 2
"""Lines shown of somebody of whom nothing lasting is known, and telling words of the least of them."""
_CONTESTED_MARKS = {
    True: (" (their own word; others say otherwise)", "（自己说的，与别人说的矛盾）"),
    False: (" (said by others; contradicted)", "（别人说的，有矛盾）"),
}
"""What is added to a contested fact, by whether it is the person's own word, in English and Chinese."""
_DOUBTED_MARKS = (" (outdated?)", "（可能已过时）")
"""What is added to a fact that something later puts in doubt."""
PAST = ("event", "opinion")
"""Kinds of what nothing later puts in doubt."""
UNSETTLED = ("", "plan", "habit", "event", "opinion")
"""Kinds of what may be a plan by its words."""
_UNDATED = frozenset(("name", "nickname", "birthday", "phone", "email", "hometown"))
_OPPOSITES = {"likes": "dislikes", "dislikes": "likes", "allergies": "notes"}
_ENDS = " ，,；;。.!！…~～-–—"
_PHRASE_ENDS = ((" · ", "。", "！", "？", "；", ". ", "! ", "? ", "; "), ("，", "、", ", "), (" ",))
"""Where a long text may be cut, the best places first."""
_CLAUSES = lazy_regex(
    r"(?:(?<=[,;.!])|(?<=\s[-–—]))\s+|(?<=[，；。！])|\s+(?=and (?:i|it|we|they|that)\b)", re.IGNORECASE
)
_OWN_CLAUSE = lazy_regex(r"(?:i|i['’]\w+|my|we|we['’]\w+|our)\b|我", re.IGNORECASE)
"""What a clause begins with that stands without the one before it."""
_DATES = lazy_regex(r"\b\d{4}-\d\d(?:-\d\d)?|\b(?:19|20)\d\d(?:-\d{4})?\b")
_NAME = lazy_regex(r"(?<=[a-z,'’\"(] )(?!I\b)[A-Z]\w")
_HAN = lazy_regex(r"[\u3400-\u9fff]")


@cache
def _words() -> dict[str, Any]:
    return tomllib.loads(files("amemorix.profiles").joinpath("data/sections.toml").read_text("utf-8"))


@cache
def _leading() -> re.Pattern[str]:
    return re.compile(_words()["leading"]["words"], re.IGNORECASE)


@cache
def _kept() -> re.Pattern[str]:
    return re.compile(_words()["kept"]["words"], re.IGNORECASE)


@cache
def _unclear() -> list[tuple[re.Pattern[str], float]]:
    return [(re.compile(one["words"], re.IGNORECASE), one["factor"]) for one in _words()["unclear"]]


@cache
def _vague() -> tuple[frozenset[str], re.Pattern[str]]:
    words = _words()["vague"]
    chinese = sorted(words["chinese"].split(), key=len, reverse=True)
    return frozenset(tokens(words["english"])), re.compile("|".join(chinese))


@lru_cache(maxsize=4096)
def telling_words(sentence: str) -> float:
    """How many words say something in particular: a name and a date count twice, of Chinese two characters once."""
    vague, chinese = _vague()
    bare = chinese.sub(" ", _DATES.sub(" ", sentence))
    words = {word for word in tokens(_HAN.sub(" ", bare)) if word not in vague and not is_talk(word)}
    named = len(_NAME.findall(bare)) + 2 * len(_DATES.findall(sentence))
    return len(words) + named + len(_HAN.findall(bare)) / 2


@lru_cache(maxsize=4096)
def clarity(sentence: str) -> float:
    """0..1: how much a sentence tells a reader who has not seen the lines around it."""
    return math.prod(factor for words, factor in _unclear() if words.search(sentence))


def fact_items(
    facts: Sequence[FactRow], said: Mapping[int, Sequence[Said]], *, chinese: bool, year: int
) -> list[ProfileItem]:
    """Facts as statements; a typed fact and the sentence that carries it are one. `year` is the present one."""
    sentences = {
        fact.id: next((one.sentence for one in said.get(fact.id, ()) if one.sentence), "")
        or (fact.value if fact.attribute == STATEMENT else "")
        for fact in facts
    }
    whole: dict[int, list[str]] = {}
    """Paragraph -> the sentences that were kept of it."""
    for fact in facts:
        for one in said.get(fact.id, ()) if fact.attribute == STATEMENT else ():
            whole.setdefault(one.paragraph, []).append(sentences[fact.id])
    places: dict[tuple[int, str], int] = {}
    items: list[ProfileItem] = []
    for fact in sorted(facts, key=lambda fact: (fact.attribute == STATEMENT, -fact.importance, fact.id)):
        rows, value = said.get(fact.id, ()), fold(fact.value)
        held = (words for one in rows for words in whole.get(one.paragraph, ()) if value in fold(words))
        sentence = sentences[fact.id] or next(held, "")
        keys = [(one.paragraph, fold(sentence)) for one in rows] if sentence else []
        place = next((places[key] for key in keys if key in places), None)
        if place is not None and fact.attribute == STATEMENT:
            evidence = dict.fromkeys([*items[place].evidence, *(one.paragraph for one in rows)])
            items[place] = replace(items[place], evidence=tuple(evidence))
            continue
        places |= dict.fromkeys(keys, len(items))
        items.append(_fact_item(fact, rows, sentence if place is None else "", chinese=chinese, year=year))
    return _beside(items, facts)


def _fact_item(fact: FactRow, rows: Sequence[Said], sentence: str, *, chinese: bool, year: int) -> ProfileItem:
    teller = rows[0].teller if rows else ""
    own = fact.authority in OWN
    said_at = rows[0].at if rows else fact.valid_from
    words = shortened(sentence)
    weight = fact.importance
    if fact.attribute == STATEMENT:
        weight *= clarity(words) * math.sqrt(min(1.0, telling_words(words) / TELLING_ENOUGH))
        weight *= 1.0 if fact.kind or fact.asserted_at is not None else NEWS_FACTOR
    weight = min(
        1.0, weight * (EVENT_FACTOR if fact.kind == "event" else 1.0) * (DOUBTED_FACTOR if fact.doubted_by else 1.0)
    )
    if fact.attribute == STATEMENT or (fact.norm == ANY and words):
        basis = "model" if fact.authority == "model" else "said" if fact.authority == "direct_user" else "told"
        text = words or fact.value
        if basis == "told" and teller:
            text = f"{teller}：“{text}”" if chinese else f'{teller}: "{text}"'
        at = said_at
    else:
        basis, text, at = (
            "fact",
            worded_fact(fact.attribute, fact.value, fact.polarity < 0, chinese, year),
            fact.valid_from,
        )
        if words and estimated_tokens(words) - estimated_tokens(fact.value) > MORE and fact.polarity > 0:
            told = f"{teller}{'：' if chinese else ': '}" if teller else ""
            text = f"{text}，{told}“{words}”" if chinese else f'{text}, {told}"{words}"'
    contested, doubted = fact.status == "conflicted", bool(fact.doubted_by) and fact.kind not in PAST
    mark = _CONTESTED_MARKS[own][chinese] if contested else _DOUBTED_MARKS[chinese] if doubted else ""
    return ProfileItem(
        section=fact_section(fact.attribute, fact.kind, fact.polarity < 0, sentence or fact.value),
        statement=written_dates(text, year),
        basis=basis,
        evidence=tuple(dict.fromkeys(one.paragraph for one in rows)),
        confidence=round(fact.confidence * (CONTESTED_FACTOR if contested and not own else 1.0), 3),
        at=at,
        ref=fact_key(fact.id),
        weight=weight if fact.asserted_at is None else max(weight, BY_HAND),
        mark=mark,
        sentence=written_dates(words, year) if basis == "fact" else "",
        beside=fact_key(fact.doubted_by or 0) if doubted else "",
        dated=fact.attribute not in _UNDATED and _DATES.search(f"{fact.value} {text}") is None,
    )


def _beside(items: list[ProfileItem], facts: Sequence[FactRow]) -> list[ProfileItem]:
    """The items, of those that contradict each other each behind the person's own word, else behind the newest."""
    of = {fact_key(fact.id): fact for fact in facts}
    contested = [item for item in items if item.ref in of and of[item.ref].status == "conflicted"]
    contested.sort(key=lambda item: (of[item.ref].authority not in OWN, -item.at, item.ref))
    found: list[ProfileItem] = []
    for item in items:
        if item in contested:
            before = (one for one in contested[: contested.index(item)] if of[one.ref].conflicts_with(of[item.ref]))
            first = next(before, None)
            item = item if first is None else replace(item, beside=first.ref)
        found.append(item)
    return found


def fact_section(attribute: str, kind: str, denied: bool, text: str) -> str:
    """The section of a fact: by its attribute, or of a whole sentence by its kind."""
    words = _words()["words"]
    if attribute != STATEMENT:
        section = _by_attribute(attribute, "notes")
        if denied:
            return "notes" if attribute in _words()["denied"] else _OPPOSITES.get(section, section)
        return section
    section = _words()["kinds"].get(kind, "notes")
    folded = fold(text)
    if kind in UNSETTLED and any(word in folded for word in words["plans"]):
        return "plans"
    if kind == "preference" and (denied or any(word in folded for word in words["dislikes"])):
        return "dislikes"
    if kind == "health" and not denied and any(word in folded for word in words["allergies"]):
        return "allergies"
    return section


def _by_attribute(label: str, otherwise: str) -> str:
    label = label.lower()
    sections: dict[str, list[str]] = _words()["attributes"]
    return next((section for section, stems in sections.items() if any(stem in label for stem in stems)), otherwise)


def worded_fact(attribute: str, value: str, denied: bool, chinese: bool, year: int) -> str:
    """A typed fact in a few words: `residence: Leeds`, 住处：杭州; the bare value where its section says all.

    Its dates are as a person writes them in this `year`.
    """
    words, value = _words(), written_dates(value, year)
    if denied and attribute in words["denied"]:
        label = words["denied"][attribute][chinese]
        return f"{label}：{value}" if chinese else f"{label}: {value}"
    section = _by_attribute(attribute, "notes")
    plain = attribute.rpartition(".")[2]
    if plain in ("like", "likes", "dislike", "dislikes", STATEMENT) or plain in ("喜欢", "不喜欢", "讨厌"):
        return value
    if section == "allergies" and not denied:
        return value
    attribute, _, thing = attribute.partition(":")
    label = words["labels"].get(attribute, attribute) if chinese else plain.partition(":")[0].replace("_", " ")
    label = f"{label}{thing}" if chinese else f"{label} {thing}".strip()
    if chinese:
        return f"{label}：{'不是' if denied else ''}{value}"
    return f"{label}: {'not ' if denied else ''}{value}"


def relation_item(relation: RelationOf) -> ProfileItem:
    """A relation as a statement."""
    predicate = relation.predicate.replace("_", " ")
    words = f"{relation.subject}{predicate}{relation.object}"
    if not is_mostly_cjk(words):
        words = f"{relation.subject} {predicate} {relation.object}"
    return ProfileItem(
        _by_attribute(relation.predicate, "relations"), words, "relation", (relation.paragraph,),
        round(relation.confidence * 0.85, 3), relation.at, f"r{relation.id}", RELATION_WEIGHT, dated=False,
    )  # fmt: skip


def line_items(lines: Sequence[Line]) -> list[ProfileItem]:
    """The most telling of what a person said lately, the newest first; where nothing tells much, what is in the first person."""
    asserted = [line for line in lines if not is_question(line.content)]
    # plans run out
    lasting = [line for line in asserted if fact_section(STATEMENT, "", False, line.content) != "plans"]
    telling = [line for line in lasting if telling_words(line.content) >= TELLING_WORDS]
    telling = telling or [line for line in lasting if FIRST_PERSON.search(line.content)]
    best = sorted(telling, key=lambda line: (-telling_words(shortened(line.content)), -line.id))
    return [
        ProfileItem("recent", text, "said", (line.id,), 0.4, line.at, weight=0.1)
        for line in sorted(best[:TELLING], key=lambda line: -line.id)
        if (text := shortened(line.content))
    ]


@lru_cache(maxsize=4096)
def shortened(text: str) -> str:
    """In one line, without clauses around it that say nothing; of a long text as many clauses as have room."""
    text = " ".join(text.split()).strip(_ENDS)
    text = text[end.end() :] if (end := _leading().match(text)) else text
    starts = [0, *(found.end() for found in _CLAUSES.finditer(text))]
    clauses = [text[start:end] for start, end in pairwise([*starts, len(text)])]
    while len(clauses) > 1 and _is_aside(clauses[0]) and _OWN_CLAUSE.match(clauses[1]):
        clauses.pop(0)
    while len(clauses) > 1 and _is_aside(clauses[-1]) and _OWN_CLAUSE.match(clauses[0]):
        clauses.pop()
    text = "".join(clauses).strip(_ENDS)
    if len(text) < SHORTEST:
        return ""
    return text if len(text) <= LONGEST else cut_at_phrase(text, LONGEST)


def cut_at_phrase(text: str, longest: int) -> str:
    """The first phrases of a text for which there is room, else its first words, with an ellipsis if anything is left out."""
    if len(text) <= longest:
        return text
    for marks in _PHRASE_ENDS:
        end = max(text.rfind(mark, longest // 3, longest) for mark in marks)
        if end > 0:
            return text[:end].rstrip(_ENDS) + "…"
    from rjieba import cut

    ends = [end for end in accumulate(map(len, cut(text[: 2 * longest]))) if end < longest]
    return text[: ends[-1] if ends else longest - 1].rstrip(_ENDS) + "…"


def _is_aside(clause: str) -> bool:
    return not telling_words(clause) and not _kept().search(clause)
