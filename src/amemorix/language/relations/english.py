"""What English sentences name and say."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from ...lazy_regex import lazy_regex
from ..clauses import clauses
from ..normalise import STOP_WORDS, normalise_name
from ..passages import Mention, Passage, Triple
from ..stopwords import VAGUE, is_name
from .english_words import CALENDAR, GROUP_WORDS, JOINS, LEADING_ADJECTIVES, MANNER, PLACE_WORDS, STOPS, WEAK

__all__ = ["mentions", "names", "relations"]

_SENTENCE = lazy_regex(r"[^.!?;\n]+[.!?;]*")
_CAPITALS = r"[A-Z][\w'&-]*(?:\s+(?:(?:of|the|de|van|von|and)\s+)?[A-Z][\w'&-]*){0,4}"
_NAME = r"[A-Z][\w&-]*(?:'[A-Z]\w+)?(?:\s[A-Z][\w&-]*){0,3}"
_SUBJECT = rf"(?P<s>\b(?:I|[Ww]e)\b|\b(?:[Mm]y|[Oo]ur)\s[a-z-]+(?:\s[a-z-]+)?|\b{_NAME})"
_ADVERB = (
    r"(?:\s(?:also|now|really|just|still|always|recently|actually|currently|absolutely|totally|finally|only|both|even|usually|often"
    r"|already|personally|especially|mostly|mainly|once|lately))*"
)
_DOER = rf"{_SUBJECT}(?:'m|'ve|'re|'s|\sam|\sare|\sis|\shave|\shas|\shave been|'ve been|\shas been)?{_ADVERB}\s"
_PHRASE = r"(?P<o>[^,.!?;:()\n\"]{2,60})"
_PLACE = rf"(?P<o>(?:the\s)?{_CAPITALS})"


@dataclass(frozen=True, slots=True)
class _Rule:
    predicate: str
    pattern: re.Pattern[str]
    confidence: float
    determined: bool = False
    """The object has to begin as a thing does: with an article, a number, a possessive or a capital."""


def _rule(predicate: str, verb: str, confidence: float, object_: str = _PHRASE, *, determined: bool = False) -> _Rule:
    return _Rule(predicate, lazy_regex(rf"{_DOER}(?:{verb})\s{object_}"), confidence, determined)


_RULES = (
    _rule("lives in", r"(?:live|lives|living|based|reside|resides|residing)\s(?:in|at)", 0.85),
    _rule("moved to", r"(?:moved|relocated)(?:\s(?:away|out|back|here))?\s(?:to|into)", 0.8),
    _rule("is from", r"(?:from|come from|comes from|came from)", 0.7, _PLACE),
    _rule("born in", r"(?:was\s|were\s)?born in", 0.85, _PLACE),
    _rule("works at", r"(?:work|works|working|interning|employed)\s(?:at|for)", 0.85),
    _rule("works as", r"(?:work|works|working|hired|employed)\sas", 0.85, determined=True),
    _rule("studies at", r"(?:study|studies|studying|enrolled)\sat", 0.8),
    _rule("studies", r"(?:study|studies|studying|majoring in|learning|learn)", 0.6),
    _rule("graduated from", r"(?:graduated)\sfrom", 0.8),
    _rule("likes", r"(?:love|loves|like|likes|enjoy|enjoys|adore|adores|into)", 0.7),
    _rule("prefers", r"(?:prefer|prefers)", 0.75),
    _rule("dislikes", r"(?:hate|hates|dislike|dislikes|can't stand|cannot stand|don't like|doesn't like|do not like|does not like)", 0.75),
    _rule("allergic to", r"(?:allergic)\sto", 0.85),
    _rule("has", r"(?:have|has|own|owns|got|adopted|'ve got|bought)", 0.6, determined=True),
    _rule("married to", r"(?:was\s)?married\sto", 0.85),
    _rule("engaged to", r"(?:was\s)?engaged\sto", 0.85),
    _rule("went to", r"(?:went|traveled|travelled|drove|flew|been)\sto", 0.7, _PLACE),
    _rule("visited", r"(?:visited|visiting)", 0.65, determined=True),
    _rule("joined", r"(?:joined|joining|signed up for|signing up for)", 0.7, determined=True),
    _rule("plays", r"(?:play|plays|playing)(?:\sthe)?", 0.6),
    _rule("volunteers at", r"(?:volunteer|volunteers|volunteered|volunteering)\s(?:at|for)", 0.75),
    _rule("owns", r"(?:run|runs|running|opened|opening|started|founded)", 0.55, determined=True),
)  # fmt: skip
_IS = lazy_regex(rf"{_SUBJECT}(?:'m|'s|\sam|\sis)(?P<adv>{_ADVERB})\s(?:an?|the)\s{_PHRASE}")
_MY_NAMED = lazy_regex(
    rf"\b(?P<w>[Mm]y|[Oo]ur|{_NAME}'s)\s(?P<r>[a-z-]+(?:\s[a-z-]+)?)(?:,|\sis(?:\s(?:named|called))?|'s(?:\sname(?:\sis|'s))?|\s(?:named|called))\s(?P<o>{_NAME})(?=[\s,.!?;]|$)"
)
_CALLED = lazy_regex(
    rf"\b(?:an?|another|the|my|our|one|new)\s(?P<k>[a-z][a-z -]{{1,30}}?)\s(?:named|called)\s[\"']?(?P<o>{_CAPITALS})"
)
_NAMED = lazy_regex(r"\b(?:named|called)\b")
_OWNS = lazy_regex(r"\b(?:I|[Ww]e)(?:'ve)?\s(?:\w+\s){0,2}?(?:have|got|own|adopted|bought)\b")
_UNSURE = lazy_regex(
    r"\b(?:if|wish|would|could|might|may|should|maybe|perhaps|hope|hoping|want|wants|wanted|wanna|imagine|pretend|used to|unless|whether"
    r"|heard|said|says|think|thought|guess|suppose|dream|plan|planning|considering|thinking|hardly|rarely|almost|probably)\b|'d\b|'ll\b|\bwill\b|\bgoing to\b",
    re.IGNORECASE,
)
_NOT = lazy_regex(
    r"\b(?:not|never|no|no longer|nobody|none|neither|without|quit|stopped)\b|n't\b|\b(?:any ?more|any longer)\b",
    re.IGNORECASE,
)
_ENDED = lazy_regex(r"\b(?:any ?more|any longer|no longer|back then|used to)\b", re.IGNORECASE)
_DETERMINER = lazy_regex(
    r"^(?:an?|another|the|my|our|his|her|their|its|some|one|two|three|four|five|this|these|those|several)\s+",
    re.IGNORECASE,
)
_DETERMINED = lazy_regex(r"^(?:an?|another|the|my|our|some|one|two|three|four|five|[A-Z])")
_WORD = lazy_regex(r"[A-Za-z][\w'&-]*|\d+")
_I = lazy_regex(r"I(?:'\w+)?\b(?!-)")
_TITLE = lazy_regex(r"\"([A-Z][^\"\n]{1,58})\"|“([A-Z][^”\n]{1,58})”|《([^》\n]{1,40})》")
_CAPITAL_RUN = lazy_regex(_CAPITALS)
_DETERMINED_NOUN = lazy_regex(r"\b(?:the|an?|this|each|every|our|its)\s([a-z][a-z-]{3,})\b")
RECURRING, RECURRING_CHARS = 3, 300
LONGEST_SENTENCE = 600


def relations(text: str, passage: Passage) -> Iterator[Triple]:
    """What the statements say; nothing from a question, from what is wished or supposed, or from what is denied."""
    for match in _SENTENCE.finditer(text):
        sentence = match.group().strip()
        if not sentence.endswith("?") and 6 < len(sentence) <= LONGEST_SENTENCE and not _is_unreal(sentence):
            yield from _stated(sentence, passage)


def _is_unreal(sentence: str) -> bool:
    """Whether the sentence is a joke, or tells a dream or what somebody says of whoever speaks."""
    return any(clause.mood in ("joke", "dream", "reported") for clause in clauses(sentence))


def _stated(sentence: str, passage: Passage) -> Iterator[Triple]:
    for rule in _RULES:
        for match in rule.pattern.finditer(sentence):
            denies = rule.predicate == "dislikes"
            subject = _subject(match, passage)
            named = rule.predicate == "has" and _NAMED.search(match["o"])
            if subject and not named and not _doubtful(sentence, match, denies=denies):
                object_ = _object(match["o"], determined=rule.determined)
                if object_:
                    yield Triple(subject, rule.predicate, object_, rule.confidence)
    yield from _identities(sentence, passage)


def _identities(sentence: str, passage: Passage) -> Iterator[Triple]:
    """What somebody is, and what belongs to somebody by name."""
    for match in _IS.finditer(sentence):
        subject, object_ = _subject(match, passage), _object(match["o"])
        weak = WEAK & set(object_.lower().split())
        if subject and object_ and not _doubtful(sentence, match) and not weak:
            yield Triple(subject, "is", object_, 0.7)
    for match in _MY_NAMED.finditer(sentence):
        whose = passage.speaker if match["w"].lower() in ("my", "our") else match["w"].removesuffix("'s")
        role = " ".join(word for word in match["r"].split() if word not in STOPS | LEADING_ADJECTIVES)
        vocative = sentence[match.end("r")] == "," and normalise_name(match["o"]) in passage.known
        if (
            whose
            and (whose == passage.speaker or _is_proper(whose))
            and role
            and _is_proper(match["o"])
            and not vocative
            and not _doubtful(sentence, match)
        ):
            yield Triple(whose, role, match["o"], 0.8)
    for match in _CALLED.finditer(sentence):
        kind = _object(match["k"])
        if kind and not _doubtful(sentence, match) and _is_proper(match["o"]):
            yield Triple(match["o"], "is", kind, 0.8)
            if passage.speaker and _OWNS.search(sentence[: match.start() + 1]):
                yield Triple(passage.speaker, "has", match["o"], 0.7)


def _subject(match: re.Match[str], passage: Passage) -> str:
    """The speaker for the first person, else a proper name or one that is known; empty for anything else."""
    said = match["s"]
    if said in ("I", "We", "we"):
        return passage.speaker
    if said[:3].lower() in ("my ", "our"):
        return ""
    known = passage.known.get(normalise_name(said))
    return known.name if known else said if _is_proper(said) else ""


def _is_proper(name: str) -> bool:
    words = name.split()
    return (
        bool(words) and not any(w.lower().removesuffix("'s") in CALENDAR | STOP_WORDS for w in words) and is_name(name)
    )


def _doubtful(sentence: str, match: re.Match[str], *, denies: bool = False) -> bool:
    """Whether the statement is denied, over, wished for or only supposed, up to its object or right after it."""
    end = match.end() if "o" not in match.re.groupindex else match.start("o")
    before = sentence[:end]
    clause = re.split(r"[,:—]|\b(?:but|and|so|because)\b", before[: match.start()])[-1] + before[match.start() :]
    if (
        _UNSURE.search(clause)
        or re.match(r"\s*if\b", sentence, re.IGNORECASE)
        or _ENDED.search(sentence[match.start() :])
    ):
        return True
    return not denies and bool(_NOT.search(clause))


def _object(phrase: str, *, determined: bool = False) -> str:
    """The noun phrase at the beginning of what follows the verb, without its article; empty if there is none."""
    phrase = phrase.strip()
    if determined and not _DETERMINED.match(phrase):
        return ""
    phrase = _DETERMINER.sub("", _DETERMINER.sub("", phrase))
    words: list[str] = []
    for match in _WORD.finditer(phrase):
        word = match.group()
        if word.lower() in STOPS and not (words and word.lower() in JOINS and _next_is_capital(phrase, match.end())):
            break
        if words and phrase[: match.start()].rstrip()[-1:] in "-–—/":
            break
        words.append(word)
        if len(words) > 6:
            return ""
    while words and words[0] in LEADING_ADJECTIVES:
        words.pop(0)
    words = words[:5]
    while words and words[-1].lower() in JOINS:
        words.pop()
    return _sound(words)


def _sound(words: list[str]) -> str:
    if (
        not words
        or words[0].lower() in MANNER
        or words[-1].lower() in VAGUE
        or words[-1].lower().endswith("ly")
        or words[0].isdigit()
    ):
        return ""
    name = " ".join(words).rstrip("'-")
    return name if is_name(name) and name.lower() not in CALENDAR else ""


def _next_is_capital(text: str, at: int) -> bool:
    """Whether a name goes on here; the pronoun `I` is none."""
    rest = text[at:].lstrip().split(" ")
    after = rest[1] if rest[0] in JOINS and len(rest) > 1 else rest[0]
    return after[:1].isupper() and not _I.match(after)


def names(text: str) -> Iterator[str]:
    """Runs of capitalised words and their parts."""
    for match in _CAPITAL_RUN.finditer(text):
        words = match.group().split()
        for i in range(len(words)):
            for j in range(i + 1, min(len(words), i + 4) + 1):
                name = " ".join(words[i:j]).removesuffix("'s")
                if len(name) > 1 and name.lower() not in CALENDAR:
                    yield name


def mentions(text: str) -> Iterator[Mention]:
    """Titles, proper names, and in a long text the things that it keeps coming back to."""
    for match in _TITLE.finditer(text):
        title = next(filter(None, match.groups())).rstrip(",.!?")
        if is_name(title) and len(title.split()) <= 8 and not re.search(r"[.!?]\s", title):
            yield Mention(title, "work")
    for match in _CAPITAL_RUN.finditer(text):
        yield from _proper(text, match)
    if len(text) >= RECURRING_CHARS:
        counts = Counter(_DETERMINED_NOUN.findall(text))
        yield from (
            Mention(word) for word, n in counts.items() if n >= RECURRING and is_name(word) and word not in STOPS
        )


def _proper(text: str, match: re.Match[str]) -> Iterator[Mention]:
    """A capitalised word in the middle of a sentence, or several words anywhere."""
    words = match.group().split()
    begins = not re.search(r"[\w,;:)'\"-]\s*$", text[max(0, match.start() - 4) : match.start()])
    while words and words[0].lower().removesuffix("'s") in CALENDAR | STOP_WORDS:
        words.pop(0)
        begins = False if words else begins
    while words and words[-1].lower() in CALENDAR | STOP_WORDS:
        words.pop()
    name = " ".join(words).removesuffix("'s").removesuffix("'")
    if not words or (begins and len(words) == 1) or not _is_proper(name):
        return
    last = words[-1].lower()
    yield Mention(
        name, "place" if {last, words[0].lower()} & PLACE_WORDS else "organisation" if last in GROUP_WORDS else ""
    )
