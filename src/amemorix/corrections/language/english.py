"""Corrections said in English."""

from __future__ import annotations

import re

from ...language.person_names import TITLE_BEFORE
from ...lazy_regex import lazy_regex
from .claim import Correction, counted, named
from .text import plain

__all__ = ["LEAD", "read_denial", "read_english"]

LEAD = lazy_regex(
    r"^(?:(?:(?:no|nope|nah|wrong|incorrect|wait|actually|sorry|correction|hey|ugh|hm+|oh|well|um+)(?=[\s,.:;!-])|you(?:'re| are) wrong|you got (?:that|it) wrong|that(?:'s| is) (?:wrong|not right|not true|incorrect))"
    r"[\s,.:;!-]+)+",
    re.I,
)
_NOT = r"(?:(?:do|does|did|is|are|was|were|has|have|will|would|can)(?:n't| not)|ain't|never|no longer|am not|'m not|'s not|'re not|not)"
_STILL = r"(?:\s+(?:any ?more|any longer|these days|now|at all|yet))?"
_BETWEEN = r"\s*[,.;:–-]+\s*(?:(?:but|rather|instead|actually|now|it was|it is|it's|(?P<who>he|she|it|they|we|i|that)(?:'s|'m|'re)?)\s+)*"
_SPLIT = lazy_regex(
    rf"^(?P<subject>.*?)\s*\b{_NOT}\s+(?P<first>.+?){_STILL}{_BETWEEN}(?P<second>[^,;]+?)(?:\s+(?:instead|now))?[.!\s]*$",
    re.I,
)
_NOT_BUT = lazy_regex(rf"^(?P<about>.*?)\b{_NOT}\s+(?P<wrong>[^,;]+?),?\s+but\s+(?P<right>[^,;]+?)[.!\s]*$", re.I)
_AFTER = lazy_regex(
    r"^(?P<first>.+?)(?:\s*(?:,|;|-|–)\s*(?:and |but )?not|\s+(?:rather than|instead of))\s+(?:(?:in|on|at|a|an|the|to)\s+)?(?P<wrong>[^,;]+?)[.!\s]*$",
    re.I,
)
_CLEFT = lazy_regex(
    r"^it(?:'s| is) (?P<right>.+?) (?:that )?(?P<about>(?:I'm|I am|I|he's|he is|she's|she is|[A-Z][a-z]+(?: is)?)\b .+?)(?:,\s*|\s+and )not (?P<wrong>[^,;]+?)[.!\s]*$",
    re.I,
)
"""`It's eggs I'm allergic to, not nuts`."""
_CHANGE = lazy_regex(
    r"^(?:please\s+)?(?:change|replace|correct)\s+(?P<wrong>.+?)\s+(?:to|with|by|into)\s+(?P<right>.+?)[.!\s]*$", re.I
)
_SHOULD = lazy_regex(r"^(?P<wrong>.+?)\s+should (?:be|read|say)\s+(?P<right>.+?)[.!\s]*$", re.I)
_FORGET = lazy_regex(
    r"^(?:please\s+)?(?:forget|delete|remove|erase|drop)\s+(?:everything\s+|anything\s+|all\s+)?(?:(?:the\s+)?(?:notes?|memory|memories|records?|lines?|facts?)\s+)?"
    r"(?:(?:that|about|of|saying)\s+)?(?P<what>.+?)[.!\s]*$",
    re.I,
)
_NO_LONGER = lazy_regex(rf"^(?P<subject>.*?)\s*\b{_NOT}\s+(?P<first>.+?)(?P<end>{_STILL})[.!\s]*$", re.I)
_DENIAL = lazy_regex(
    rf"^(?P<subject>I|he|she|they|(?:my|his|her|the) \w+|(?:{TITLE_BEFORE}\s+)?[A-Z][\w'-]*(?: [A-Z][\w'-]*)*?)\s*\b{_NOT}\s+(?!(?:know|think|want|mean|care|mind|understand|remember|believe|sure|see|feel)\b)(?P<first>[^,;]+?)[.!\s]*$",
    re.I,
)
_COPULA = lazy_regex(r"^(?:is|are|was|were|be|am|'s|'m|'re)\s+", re.I)
_IS_NOT = lazy_regex(r"(?:\b(?:is|are|was|were)(?:n't| not)|'s not|'re not|'m not|^\s*not)\s*$", re.I)
_CLAUSE = lazy_regex(
    r"^(?:so|and|because|since|if|when|then|we|you|let|please|i|he|she|it|they|this|that|there)\b", re.I
)
_NOW = lazy_regex(r"(?:\s+(?:now|these days|currently|actually|instead))+$", re.I)
_SENTENCE_END = lazy_regex(r"(?<!\bdr)(?<!\bmr)(?<!\bmrs)(?<!\bms)(?<!\bprof)(?<!\brev)[.!;]\s+", re.I)
_NUMBER = lazy_regex(
    r"(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty)(?![\w:/])", re.I
)
_SMALL = lazy_regex(r"\b(?:to|at|in|on|for|with|from|of|about|by)\b", re.I)
_HEAD = lazy_regex(r"^(?:(?:a|an|the|in|on|at|to|for|of|as)\s+)+", re.I)
_SUBJECT = lazy_regex(
    rf"^(?P<subject>(?:(?i:{TITLE_BEFORE})\s+)?[A-Z][\w'-]*(?:\s+[A-Z][\w'-]*)*|I|he|she|they|we|my \w+|the \w+)\b\s*(?P<rest>.*)$"
)


def read_english(said: str) -> Correction | None:
    """What the sentence corrects; None if it reads as no correction."""
    if found := _FORGET.match(said):
        return _forgotten(found["what"])
    if found := _CHANGE.match(said) or _SHOULD.match(said):
        return Correction("replace", _bare(found["wrong"]), _bare(found["right"]))
    if found := _NOT_BUT.match(said):
        return None if _CLAUSE.match(found["right"]) else _not_but(found["about"], found["wrong"], found["right"])
    if (found := _SPLIT.match(said)) and not re.fullmatch(_NOT, found["second"], re.I):
        copula = bool(_IS_NOT.search(said[: found.start("first")])) and not _CLAUSE.match(found["second"])
        wrong, right, verb = _apart(found["first"], found["second"], copula=copula)
        subject = found["subject"].strip()
        return Correction("replace", wrong, right, named(subject), f"{subject} {verb}") if wrong and right else None
    if found := _CLEFT.match(said):
        return _lifted(found["about"], found["right"], found["wrong"])
    if found := _AFTER.match(said):
        return _after(found["first"], found["wrong"])
    if (found := _NO_LONGER.match(said)) and (found["end"] or "no longer" in said.lower()):
        subject, (verb, wrong) = found["subject"].strip(), _verb_and_object(found["first"])
        return Correction("remove", wrong, "", named(subject), f"{subject} {verb}")
    return None


def read_denial(said: str) -> Correction | None:
    """`Tom doesn't work at Google`: what the sentence says not to be so."""
    found = _DENIAL.match(said)
    if found is None:
        return None
    subject, (verb, wrong) = found["subject"].strip(), _verb_and_object(found["first"])
    return Correction("remove", wrong, "", named(subject), f"{subject} {verb}")


def _apart(first: str, second: str, *, copula: bool) -> tuple[str, str, str]:
    """(wrong, right, the words both begin with): `work at Google` / `works at Stripe` differ in the company."""
    said, instead = first.split(), _COPULA.sub("", second).split()
    shared = 0
    for a, b in zip(said[:-1], instead[:-1], strict=False):
        if plain(a) != plain(b) and {plain(a), plain(b)} != {plain("have"), plain("has")}:
            break
        shared += 1
    verb = " ".join(said[:shared])
    if not verb and not copula:
        return "", "", verb
    wrong, right = counted(_bare(" ".join(said[shared:])), _bare(" ".join(instead[shared:])))
    return wrong, right, verb


def _not_but(about: str, wrong: str, right: str) -> Correction:
    """`not allergic to peanuts but to cashews`: what comes before the shared small word belongs to the matter."""
    small = _SMALL.match(right)
    before = [m for m in _SMALL.finditer(wrong) if small and m.group().lower() == small.group().lower()]
    cut = before[-1].end() if before else 0
    if not cut:
        words = list(re.finditer(r"\S+", wrong))
        shorter = len(_bare(right).split())
        cut = words[-shorter].start() if len(words) > shorter else 0
    subject = _SUBJECT.match(about)
    return Correction(
        "replace", _bare(wrong[cut:]), _bare(right), named(subject["subject"]) if subject else "",
        f"{about} {wrong[:cut]}".strip(),
    )  # fmt: skip


def _lifted(about: str, right: str, wrong: str) -> Correction:
    subject = _SUBJECT.match(about)
    return Correction("replace", _bare(wrong), _bare(right), named(subject["subject"]) if subject else "", about)


def _after(first: str, wrong: str) -> Correction | None:
    """`the meeting was on Tuesday, not Monday`: the right word is the last one of the same kind."""
    wrong = _bare(wrong)
    words = _NOW.sub("", _SENTENCE_END.split(first)[-1]).split()
    count = min(len(wrong.split()), len(words) - 1)
    if count < 1:
        return None
    start = _start_of_kind(words, wrong, count)
    right, about = " ".join(words[start : start + count]), " ".join([*words[:start], *words[start + count :]])
    wrong, right = counted(wrong, right)
    found = _SUBJECT.match(about)
    return Correction("replace", wrong, _bare(right), named(found["subject"]) if found else "", about)


def _start_of_kind(words: list[str], wrong: str, count: int) -> int:
    """Where the last words of the kind of the wrong ones begin: at the last number for a number."""
    last = len(words) - count
    if not _NUMBER.match(wrong):
        return last
    return next((i for i in range(last, 0, -1) if _NUMBER.match(words[i])), last)


def _forgotten(what: str) -> Correction | None:
    found = _SUBJECT.match(what.strip())
    if found is None or not found["rest"]:
        return Correction("remove", _bare(what))
    verb, wrong = _verb_and_object(found["rest"])
    return Correction("remove", wrong, "", named(found["subject"]), f"{found['subject']} {verb}")


def _verb_and_object(words: str) -> tuple[str, str]:
    """(`like`, `coffee`): the object is what follows the verb and its small words; alone, the verb is the object."""
    verb, _, rest = words.strip().partition(" ")
    rest = _bare(rest)
    return (verb, rest) if rest else ("", verb)


def _bare(words: str) -> str:
    return _HEAD.sub("", words.strip().strip("\"“”'")).strip()
