"""What is searched for: the query, read without a model, and everything else that a request means by it."""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import UTC, tzinfo

import numpy as np
from numpy.typing import NDArray

from ..config.model import Retrieval
from ..facts.oneself import asks_of_oneself
from ..indexes.name_directory import NameDirectory
from ..language.normalise import STOP_WORDS, TIME, fold, is_mostly_cjk, query_terms, term_hashes
from ..language.times import Span, asks_when, find_span
from ..lazy_regex import lazy_regex
from ..ports import Encoded
from .language.answer_type import wanted_answer
from .language.dialogue import read_dialogue
from .language.temporal_order import Ordering, read_ordering

__all__ = ["Query", "SearchPlan", "is_small_talk", "read_query"]

_ASKING = lazy_regex(
    "什么时候|甚么|什么|為什麼|为什么|怎么样|怎樣|怎么|哪里|哪裡|哪儿|哪些|哪个|哪天|多少|多久|几个|几点|是不是|有没有人|有没有|"
    "请问|告诉我|还记得|记不记得|记得|知道|知不知道|有谁|[的了吗嗎呢啊吧呀嘛么麼是谁誰哪啥]"
)
"""Words that ask or only join others, and say nothing about the answer; pairs of characters must not straddle them."""
_LETTERS = lazy_regex(r"[^\W\d_]+")
_TALK_WORDS = """
hi hello hey hiya yo howdy thanks thank you thx ty cheers okay ok k sure fine cool nice great lol haha hahaha
hahahaha hehe bye goodbye good morning evening night afternoon got it well done sorry please yes no yep nope
really wow so much very all everybody everyone there are no problem thumbs up oh i see happy merry new year
christmas then hola gracias buenos dias привет спасибо danke hallo merci bonjour salut
"""
_TALK = frozenset(_TALK_WORDS.split())
_CJK_TALK = lazy_regex(
    "(?:你好[呀啊吗]?|您好|哈[喽啰罗]|嗨|喂|在[吗么]|在不在|谢谢[你您]?[啊啦了]?|多谢|感谢|[嗯哦噢喔]+|哈{2,}|呵呵|嘻嘻|嘿嘿|笑死|早[啊安]|早上好|早|午安|晚上好|"
    "晚安啦?|拜拜|再见|收到|辛苦了|没问题|对不起|抱歉|真的吗?|那?好[的滴哒嘞啊吧呀]?|行[吧啊]?|新年快乐|生日快乐|我回来了|给你点个?赞|无聊|"
    "こんにちは|おはよう(?:ございます)?|こんばんは|ありがとう(?:ございます)?|안녕(?:하세요)?|감사합니다|고마워요?)++"
)
"""Greetings, thanks and signs of life, from which nothing is asked."""
_ORDERING = lazy_regex(
    r"\b(?:first|earliest|latest|last|lately|recently|currently|now)\b|第一次|最早|最初|最近一次|最后一次|上次|最近|现在|目前",
    re.IGNORECASE,
)
"""Words that ask for an end of the course of events, or for the present."""
_HAPPENING = lazy_regex(
    r"\b(?:happen(?:s|ed|ing)?|occur(?:s|red)?|did|do|doing|done|go(?:es|ing)? on|went on|was|were|anything|something|everything|events?|thing(?:s)?|new|up)\b"
    r"|发生|過|过|做|干|有|事情|事|大家|群里|我们|咱们|聊|说|在|都|些|呢",
    re.IGNORECASE,
)
"""Words of a question that asks only what there was."""
_DATED = lazy_regex(
    r"[0-9]|jan(?:uary)?\b|feb(?:ruary)?\b|march|april|may\b|june|july|aug(?:ust)?\b|sept(?:ember)?\b|oct(?:ober)?\b|nov(?:ember)?\b|dec(?:ember)?\b"
    r"|[一二三四五六七八九十]月",
    re.IGNORECASE,
)
"""Times whose words may stand in the date of a text; of others only the stretch they name counts."""


A_DAY = 1.5 * 86_400.0
"""A stretch up to here is a day."""


@dataclass(frozen=True, slots=True)
class Query:
    """The query as the lanes use it."""

    text: str
    """What is asked, of a pasted dialogue what the user said in it; empty if only a window of time is looked at."""
    bare: str
    """The text without the names of known persons: what is embedded."""
    terms: tuple[str, ...]
    hashes: NDArray[np.uint32]
    """Ascending distinct term hashes."""
    persons: tuple[frozenset[int], ...]
    """For each person named, the rows that may be meant."""
    names: tuple[str, ...]
    cjk: bool
    wants: int = 0
    """Flags of `normalise` that an answer holds."""
    spans: tuple[Span, ...] = ()
    """Stretches of time that the query names."""
    days: tuple[Span, ...] = ()
    """Those of them that are a day as people speak of it ("yesterday", "上周五"), and no date."""
    ordering: Ordering = field(default_factory=Ordering)
    small_talk: bool = False
    """It is a greeting, thanks or a sign of life, and asks for nothing."""
    keywords: bool = False
    """It is a row of words, and no sentence: no stop-word of English joins them, no particle or asking word of Chinese."""
    of_oneself: bool = False
    """It is about whoever asks it, who is the person that it names."""
    only_time: bool = False
    """It asks what happened at a time, and nothing else: neither of whom nor of what."""


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """One search, resolved: nothing in it has to be looked up or checked again."""

    query: Query
    limit: int
    settings: Retrieval
    now: float
    scopes: tuple[int, ...] | None = None
    """Scope rows that may be seen; None means all of them, empty means none."""
    window: Span | None = None
    persons: tuple[int, ...] | None = None
    """Only what is bound to one of these persons; empty means nobody matched."""
    within: NDArray[np.int64] | None = None
    """Only these, ascending: what is of the source, of its kind, and has the tags that are asked for."""
    encoded: Encoded | None = None
    """The query's vectors, None if there is no model or it did not answer in time."""
    generation: int = 0
    """The generation whose token vectors the query compares to."""
    min_score: float = 0.0
    min_similarity: float = 0.0
    rrf_k: int = 0
    """The constant of reciprocal rank fusion; 0: the order is by the weighted sum of all signals."""
    stage1: int = 0
    """The first of each lane that take part in it."""
    half_life: float = math.inf
    """Seconds after which half of a paragraph is left."""
    as_of: float | None = None
    """Only what the memory held at that time, and what had happened by then."""
    zone: tzinfo = UTC
    """In which times are shown."""
    asker: frozenset[int] = frozenset()
    """Rows that may be who asks."""
    hidden: NDArray[np.int64] | None = None
    """Sorted ids of paragraphs that count as not stored."""


def is_small_talk(folded: str) -> bool:
    """Whether folded text is nothing but greetings, thanks and signs of life."""
    said = _LETTERS.findall(folded)
    return bool(said) and all(word in _TALK or _CJK_TALK.fullmatch(word) for word in said)


def read_query(
    text: str, directory: NameDirectory, chats: Collection[int] | None, now: float, zone: tzinfo,
    asker: frozenset[int] = frozenset(),
) -> Query:  # fmt: skip
    """Split a query into the persons it names, the times it names, and what it asks about them.

    Where it names nobody but is about whoever asks it, and that is known, it names the `asker`.
    """
    dialogue = read_dialogue(text)
    if dialogue is not None and dialogue.asked:
        text = dialogue.asked
    named = directory.find(text, chats)
    of_oneself = bool(asker) and not named.persons and asks_of_oneself(text)
    times = find_span(text, now=now, zone=zone)
    topic = rest = named.bare
    for said, _ in times:
        rest = rest.replace(said, " ", 1)
        topic = topic if _DATED.search(said) else topic.replace(said, " ", 1)
    topic, rest = (_ASKING.sub(" ", _ORDERING.sub(" ", part)) for part in (topic, rest))
    terms = query_terms(topic) or query_terms(named.bare)
    folded = fold(text)
    words = folded.split()
    joined = (
        _ASKING.search(folded) or folded.rstrip().endswith(("?", "。", "!", ".")) or not STOP_WORDS.isdisjoint(words)
    )
    return Query(
        text=text,
        bare=named.bare,
        terms=tuple(terms),
        hashes=np.unique(term_hashes(terms)),
        persons=(asker,) if of_oneself else named.persons,
        names=named.names,
        cjk=is_mostly_cjk(text),
        wants=TIME * asks_when(text) | wanted_answer(text),
        spans=tuple(span for _, span in times),
        days=tuple(span for said, span in times if span.end - span.start <= A_DAY and not _DATED.search(said)),
        ordering=read_ordering(text, persons=named.names),
        small_talk=is_small_talk(folded),
        keywords=not joined and (len(words) > 1 or folded.isascii()),
        of_oneself=of_oneself,
        only_time=bool(times) and not named.persons and not query_terms(_HAPPENING.sub(" ", rest)),
    )
