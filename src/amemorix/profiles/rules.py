"""Statements about a person, read out of single texts without a model."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ..language.chat_markup import GAP, spoken
from ..language.clauses import NOBODY, Clause, after, clauses, without_laugh
from ..language.extractive_summary import keywords
from ..language.normalise import fold, is_mostly_cjk, normalise_name
from ..lazy_regex import lazy_regex
from .items import Basis, ProfileItem
from .patterns import (
    LEADING,
    OTHER_SUBJECT,
    SELF,
    ZH_KIN,
    ZH_SELF,
    is_empty,
    is_secret,
    is_supposed,
    is_vague,
    section_of,
)
from .rows import SPEAKER, FactOf, Line, RelationOf

__all__ = ["TOPIC_LINES", "Others", "covers", "fact_item", "relation_item", "statements", "topic_item"]

Others = Callable[[str], bool]
"""Whether a clause names somebody else."""
LONGEST, SHORTEST = 160, 3
READ_CHARS = 4_000
"""Of a longer text only the beginning is read."""
SAID, WRITTEN, TOLD, SUMMED = 0.8, 0.9, 0.7, 0.6
"""How sure a statement is: said by the person, written as a fact about them, told of them, told in a summary."""
NOTED = 0.75
"""A factor for what no rule can sort, and for what is as much about somebody else."""
CONTESTED = 0.6
"""A factor for what somebody says against the person's own word: it comes after that, however new it is."""
_MARKS = {
    True: (" (their own word; others say otherwise)", "（自己说的，与别人说的矛盾）"),
    False: (" (said by others; contradicted)", "（别人说的，有矛盾）"),
}
"""What is added to a contested fact, by whether it is the person's own word, in English and Chinese."""
TOPICS, TOPIC_LINES = 5, 12
_SENTENCE = lazy_regex(r"[^。！？!?\n]+?(?:[。！？!?\n]+|\.(?=\s|$)|$)")
_NO_JOKE = frozenset(("identity", "allergies"))
"""Of these nothing is believed that is said with a laugh."""
_LIKES = lazy_regex(r"lik|lov|enjoy|prefer|hobb|interest|favou?rite|喜|爱|愛|偏好|兴趣", re.I)
_BARE = lazy_regex(r"(?:\w+\.)?(?:dis)?likes?|statement|喜欢|不喜欢|讨厌", re.I)
"""Attributes whose value says all in its section."""
_KIND = lazy_regex(r" \(.*\)$")
"""What a pet is, after its name."""
_LABELS = {
    "residence": "住处", "hometown": "家乡", "workplace": "工作单位", "occupation": "职业", "school": "学校", "birthday": "生日",
    "age": "年龄", "name": "名字", "nickname": "昵称", "spouse": "配偶", "child": "孩子", "pet": "宠物", "allergy": "过敏",
    "avoids": "忌口", "partner": "伴侣", "diet": "饮食", "favourite": "最喜欢", "language": "语言", "phone": "电话", "email": "邮箱", "plan": "打算",
}  # fmt: skip
"""What the attributes of facts are called before a Chinese value."""
_DENIED = {
    "avoids": ("no longer avoids", "不再忌口"),
    "allergy": ("not allergic to", "不过敏"),
    "pet": ("no longer has", "不再养"),
}
"""What is said of a value that is denied where the attribute itself says no, in English and Chinese."""
_OPPOSITES = {"likes": "dislikes", "dislikes": "likes", "allergies": "notes"}
_SECTIONS = (
    ("allergies", lazy_regex(r"allerg|过敏", re.I)),
    ("dislikes", lazy_regex(r"dislik|hate|avoid|fear|taboo|讨厌|厌|不喜|怕|忌", re.I)),
    ("likes", _LIKES),
    ("plans", lazy_regex(r"plan|goal|intend|wish|want|打算|计划|目标|想", re.I)),
    ("relations", lazy_regex(r"famil|friend|spouse|wife|husband|partner|mother|father|brother|sister|child|pet|colleague|"
                             r"know|marr|朋友|家|妻|夫|父|母|爸|妈|兄|弟|姐|妹|儿|女|同事|同学|宠物|认识", re.I)),
    ("habits", lazy_regex(r"habit|skill|language|diet|routine|usual|often|speaks|plays|keeps|习惯|技能|擅长|会|常|负责|看管|保管", re.I)),
    ("identity", lazy_regex(r"name|age|live|residen|location|city|home|job|work|occup|profession|employ|school|stud|birth|"
                            r"gender|nation|role|phone|mail|address|姓名|年龄|住|居|城市|职业|工作|学校|专业|生日|出生|性别|籍贯|身份|是", re.I)),
)  # fmt: skip
"""Sections by the attribute of a fact or the predicate of a relation."""


@dataclass(frozen=True, slots=True)
class _Telling:
    """Sentences that tell of the person: how sure, and whether they have to name them."""

    basis: Basis
    confidence: float
    by_name: bool
    notes: bool


def statements(line: Line, names: Sequence[str], others: Others) -> Iterator[ProfileItem]:
    """What a paragraph says of the person called `names`."""
    how = _telling(line)
    called = () if how.basis == "said" else tuple(names)
    before = NOBODY
    for sentence in _SENTENCE.findall(_text(line)):
        said = clauses(sentence.strip(), called, before)
        before = after(said[-1].text, said[-1].whose) if said and said[-1].whose.owner == "other" else NOBODY
        if is_supposed(sentence) or is_secret(sentence):
            continue
        joking = without_laugh(sentence) != sentence
        for section, statement in _of_sentence(sentence.strip(), said, how, names, others):
            if joking and section in _NO_JOKE:
                continue
            sure = how.confidence * (NOTED if section == "notes" or is_vague(statement) else 1.0)
            yield ProfileItem(section, statement, how.basis, (line.id,), round(sure, 3), line.at)


def _text(line: Line) -> str:
    """What is said in the line, each stretch between codes on its own."""
    return spoken(line.content[:READ_CHARS], said=line.kind == "message").replace(GAP, "\n")


def _telling(line: Line) -> _Telling:
    if line.role == SPEAKER:
        return _Telling("said", SAID, by_name=False, notes=False)
    if line.source_type == "person_fact":
        return _Telling("told", WRITTEN, by_name=line.role == 0, notes=True)
    if line.kind == "summary":
        return _Telling("told", SUMMED, by_name=True, notes=True)
    return _Telling("told", TOLD, by_name=True, notes=line.kind == "text")


def _of_sentence(
    sentence: str, said: Sequence[Clause], how: _Telling, names: Sequence[str], others: Others
) -> Iterator[tuple[str, str]]:
    if is_mostly_cjk(sentence):
        yield from _chinese(sentence, said, how, names, others)
    elif found := _english(sentence, how, names):
        yield found


def _chinese(
    sentence: str, said: Sequence[Clause], how: _Telling, names: Sequence[str], others: Others
) -> Iterator[tuple[str, str]]:
    """The clauses from the one that brings the person in up to the one that brings in somebody else."""
    about = not how.by_name and how.basis == "told"
    told: list[tuple[str, str]] = []
    for clause in said:
        own = _brought_in(clause, how, names)
        about = own is not None or (about and not _is_of_others(clause, how, others))
        if about and (found := _chinese_clause(clause, own, others)) is not None:
            told.append(found)
    if told:
        yield from told
    elif how.notes and about and (note := _shortened(sentence)):
        yield "notes", note


def _brought_in(clause: Clause, how: _Telling, names: Sequence[str]) -> int | None:
    """Where the clause names the person, or who belongs to them; None if it tells of them, if at all, without that."""
    of = clause.whose
    if how.basis == "said":
        mine = of.owner == "speaker" or (of.kin and not of.name)
        return _self_at(clause.text) if mine and not of.carried else None
    if not how.by_name and of.owner == "speaker":
        return _self_at(clause.text)
    of_speaker = of.owner == "speaker" or (of.kin and not of.name)
    return None if of_speaker and not of.carried else _names_at(clause.text, names)


def _chinese_clause(clause: Clause, own: int | None, others: Others) -> tuple[str, str] | None:
    folded = fold(clause.text)
    found = section_of(folded, chinese=True)
    if found is None or not _is_stated(clause, found[0]):
        return None
    between = clause.text[own or 0 : found[1]]
    if OTHER_SUBJECT.search(between) or others(between):
        return None
    unclear = own is not None and clause.whose.owner not in ("speaker", "named")
    of_kin = clause.whose.kin or (unclear and ZH_KIN.search(between) is not None)
    statement = _shortened(LEADING.sub("", clause.text.strip()))
    return ("relations" if of_kin else found[0], statement) if statement else None


def _is_stated(clause: Clause, section: str) -> bool:
    """Whether the clause says that it is so; a wish is a plan too."""
    return clause.mood == "plain" or (clause.mood == "wish" and section == "plans")


def _self_at(clause: str) -> int | None:
    found = ZH_SELF.search(clause)
    return found.start() if found else None


def _names_at(text: str, names: Sequence[str]) -> int | None:
    folded = fold(text)
    places = [at for name in names if (at := folded.find(normalise_name(name))) >= 0]
    return min(places, default=None)


def _is_of_others(clause: Clause, how: _Telling, others: Others) -> bool:
    """Whether a clause that does not bring the person in is about somebody else."""
    ours = ("unsaid", "speaker") if how.basis == "said" else ("unsaid", "named")
    if clause.whose.owner not in ours or OTHER_SUBJECT.match(clause.text):
        return True
    return section_of(fold(clause.text), chinese=True) is not None and others(clause.text)


def _english(sentence: str, how: _Telling, names: Sequence[str]) -> tuple[str, str] | None:
    probe = sentence if how.basis == "said" else _as_first_person(sentence, names)
    told_of = SELF.search(probe) is not None
    found = section_of(probe, chinese=False) if told_of else None
    if found is not None:
        if not all(_is_stated(clause, found[0]) for clause in clauses(probe) if clause.start <= found[1] < clause.stop):
            return None
        statement = _shortened(LEADING.sub("", sentence))
        return (found[0], statement) if statement else None
    if how.notes and (told_of or not how.by_name) and (note := _shortened(sentence)):
        return "notes", note
    return None


def _as_first_person(sentence: str, names: Sequence[str]) -> str:
    """The sentence with the person's name put as `I`; whoever says `I` in it is somebody else."""
    probe = re.sub(r"\b(?:I|[Mm]y)\b", "someone", sentence)
    for name in sorted(names, key=len, reverse=True):
        probe = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "I", probe, flags=re.IGNORECASE)
    return probe


def _shortened(text: str) -> str:
    """At most so many characters; nothing if it is too short to say anything."""
    text = " ".join(text.split()).strip(" ，,；;。.!！…~～")
    if len(text) < SHORTEST or is_empty(text):
        return ""
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def relation_item(relation: RelationOf, at: float) -> ProfileItem:
    """A relation as a statement."""
    predicate = relation.predicate.replace("_", " ")
    words = f"{relation.subject}{predicate}{relation.object}"
    if not is_mostly_cjk(words):
        words = f"{relation.subject} {predicate} {relation.object}"
    section = _section(relation.predicate, "relations")
    return ProfileItem(
        section, words, "relation", (relation.paragraph,), round(relation.confidence * 0.85, 3), at, relation.id
    )


def fact_item(fact: FactOf, *, chinese: bool) -> ProfileItem:
    """A fact as a statement, labelled in the language of the profile."""
    section = _section(fact.attribute, "notes")
    if fact.polarity < 0 and fact.attribute in _DENIED:
        section = "notes"
    elif fact.polarity < 0 and _BARE.fullmatch(fact.attribute):
        section = _OPPOSITES.get(section, section)
    worded = _worded(fact, chinese) + (_MARKS[fact.own][chinese] if fact.contested else "")
    sure = fact.confidence * (CONTESTED if fact.contested and not fact.own else 1.0)
    return ProfileItem(section, worded, "fact", fact.evidence, round(sure, 3), fact.at, fact.id)


def covers(item: ProfileItem, fact: FactOf) -> bool:
    """Whether a sentence says the fact, or a part of one that was kept as a whole sentence."""
    value, statement = fold(fact.value), fold(item.statement)
    value = _KIND.sub("", value) if fact.attribute == "pet" and not fact.holds else value
    return not set(fact.evidence).isdisjoint(item.evidence) and (value in statement or statement in value)


def _worded(fact: FactOf, chinese: bool) -> str:
    denied = fact.polarity < 0
    if denied and fact.attribute in _DENIED:
        label = _DENIED[fact.attribute][chinese]
        return f"{label}：{fact.value}" if chinese else f"{label}: {fact.value}"
    if _BARE.fullmatch(fact.attribute) or (_section(fact.attribute, "notes") == "allergies" and not denied):
        return fact.value
    attribute, _, thing = fact.attribute.partition(":")
    label = _LABELS.get(attribute, attribute) if chinese else attribute.rpartition(".")[2].replace("_", " ")
    label = f"{label}{thing}" if chinese else f"{label} {thing}".strip()
    if chinese:
        return f"{label}：{'不是' if denied else ''}{fact.value}"
    return f"{label}: {'not ' if denied else ''}{fact.value}"


def _section(label: str, otherwise: str) -> str:
    return next((section for section, rule in _SECTIONS if rule.search(label)), otherwise)


def topic_item(lines: Sequence[tuple[int, float, str]]) -> ProfileItem | None:
    """What the last (paragraph, time, text) of the person keep coming back to; None if to nothing."""
    newest = sorted(lines, reverse=True)[:TOPIC_LINES]
    if len(newest) < 3:
        return None
    texts = [text for _, _, text in newest]
    words = _apart([word for word in keywords(texts, TOPICS) if sum(_holds(text, word) for text in texts) > 1])
    if not words:
        return None
    held = [(row, at) for row, at, text in newest if any(_holds(text, word) for word in words)]
    return ProfileItem(
        "recent", " · ".join(words), "topic", tuple(row for row, _ in held), 0.4, max(at for _, at in held)
    )


def _holds(text: str, word: str) -> bool:
    return word in text or word in fold(text)


def _apart(words: Sequence[str]) -> list[str]:
    """Without Chinese stretches that share two characters in a row with one before them."""
    kept: list[str] = []
    for word in words:
        pairs = {} if word.isascii() else {word[i : i + 2] for i in range(len(word) - 1)}
        if not any(pair in other for other in kept for pair in pairs):
            kept.append(word)
    return kept
