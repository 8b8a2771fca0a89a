"""The sentences of a text, without the words of others: which of them state something."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...language.clauses import without_laugh
from ...language.normalise import fold
from ...language.times import is_question
from ...lazy_regex import lazy_regex
from .framing import jokes

__all__ = ["bare", "is_statement", "listed", "sentences", "unquoted"]

_SENTENCE = lazy_regex(r"[^。！？!?；;\n…]+?(?:[。！？!?；;\n…]+|(?<=[a-z0-9)])\.(?=\s|$)|$)", re.I)
_QUOTED = lazy_regex(r"[\"“「『]([^\"”」』]{0,200})[\"”」』]")
_UNSURE = lazy_regex(
    r"如果|要是|假如|假设|假装|倘若|万一|的话|除非|若是|好像|似乎|可能|也许|或许|大概|估计|说不定|应该|希望|但愿|恨不得|差点|听说|据说|传说|梦[到见]|做梦|小时候"
    r"|以前|曾经?|从前|过去|原来|当年|之前|本来|什么|谁|[哪啥]|怎么(?!都)|多少|几岁|为何|是不是|有没有|对不对|会不会|能不能|开玩笑|骗你|才怪|不是说"
    r"|\b(?:if|would|could|should|wish|suppose|imagine|might|maybe|perhaps|probably|possibly|used to|pretend|dream(?:ed|t|s)?|as if|unless|almost|hope"
    r"|thought|think|guess|kidding|joking|once|formerly|seems?|wonder|whether|what|which|who|why|how come)\b",
    re.I,
)
_REPORTED = lazy_regex(
    r"说|讲|告诉|回答|写道|表示|问[过了道:：]|声称|觉得|以为|转发|歌词"
    r"|\b(?:said|says|saying|told|tells|asked|claims?|claimed|quot(?:e|es|ed|ing)|wrote|heard|believes?|lyrics)\b",
    re.I,
)
_HARMLESS = lazy_regex(
    r"(?:我|是|都){0,4}(?:之前|以前|原来|本来|当时)(?:是|都)?我?(?:搞|弄|记|说|写|查|测|以为)错了?|\bi (?:just )?(?:thought|believed) (?:i was|so)\b|"
    r"说实话|老实说|说真的|话说|来说|说一下|提一下|说起来|跟[你大][们家]?说|和[你大][们家]?说|告诉[你大][们家]?|[会能]说|[会能]讲|说[中英日法德韩俄]|忘了说|我说过|小说|听说读写|演讲"
)
_LIST = lazy_regex(
    r"\b(?:likes?|loves?|enjoys?|hates?|dislikes?|speaks?|eats?|drinks?|allergic to)"
    r" [a-z-]+(?:, (?!(?:and|but|so|i|not|too)\b)[a-z-]+)+(?= and [a-z-]+\s*(?:[.!,;\n]|$))",
    re.I,
)
_FIRST = lazy_regex(r"我(?![们俩国校司方等])|俺(?!们)|本人|\bi(?:'m|'ve)?\b(?!')|\bmy\b|(?<=call )me\b", re.I)


def sentences(text: str) -> Iterator[tuple[str, bool]]:
    """The sentences without the laugh at their end, and whether there was one there or right after it."""
    said = _SENTENCE.findall(text)
    calm = [without_laugh(sentence) for sentence in said]
    for i, sentence in enumerate(calm):
        if i + 1 < len(said) and jokes(said[i + 1]):
            continue
        laughs_after = i + 1 < len(calm) and calm[i + 1] != said[i + 1] and not calm[i + 1].strip()
        yield sentence, sentence != said[i] or laughs_after


def unquoted(text: str) -> str:
    """Quoted names stay, quoted sentences go."""
    return _QUOTED.sub(lambda m: m[1] if len(m[1]) <= 12 and not _FIRST.search(m[1]) else " … ", text)


def listed(text: str) -> str:
    """`tea, coffee and cake` as one stretch."""
    return _LIST.sub(lambda found: found[0].replace(", ", "、"), text)


def is_statement(sentence: str) -> bool:
    """Whether it says that something is so: no question or supposition, nothing of the past, no words of others."""
    ending = sentence.rstrip()
    if is_question(sentence) or ending.endswith(("?", "？", "吗", "么", "吗。")):
        return False
    plain = _HARMLESS.sub("", fold(sentence))
    return not _UNSURE.search(plain) and not _REPORTED.search(plain)


def bare(sentence: str) -> str:
    """The sentence without its end, as long as it is when folded."""
    raw = sentence.strip().rstrip("。！!；;….\n ")
    folded = fold(raw)
    return raw if len(raw) == len(folded) else folded
