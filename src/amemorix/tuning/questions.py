"""Questions in words, made of what is stored without its words; Chinese and English."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from ..language.normalise import fold, is_mostly_cjk, tokens
from ..language.stopwords import VAGUE
from ..lazy_regex import lazy_regex

__all__ = ["about_fact", "about_relation", "copies", "content_words", "from_turn"]

MOST_SHARED = 2 / 3
"""A question of which more content words are in its answer is not asked: people ask in words of their own (in LoCoMo's
questions the median is a half)."""
LONGEST_RUN, LONGEST_RUN_CJK = 16, 5
"""Characters in a row that a question may have in common with its answer."""
LEAST_ASKED, LEAST_POINTING = 2, 4
"""Content words of a question, and of one that points at what was said before."""
_POINTING = lazy_regex(
    r"\b(?:it|its|that|this|those|these|them|they|there|one|ones|he|she|him|her)\b|[这那它他她]", re.I
)
_SENTENCE = lazy_regex(r"[^.!?。！？\n]*[.!?。！？]+|[^.!?。！？\n]+")
_ASKING_ZH = lazy_regex(
    r"什么时候|为什么|怎么样|怎样|怎么|什么|哪里|哪儿|哪个|哪些|哪|多少|几|谁|是不是|有没有|能不能|要不要|吗|呢|吧|啊|呀"
    r"|你们|我们|他们|你|我|他|她|的|了|是|在|有|和|也|都|就|还|不|去|来|会|要"
)
_YOU_EN = (
    (lazy_regex(r"\byou(?:'|’)re\b", re.I), "{0} is"), (lazy_regex(r"\byou(?:'|’)ve\b", re.I), "{0} has"),
    (lazy_regex(r"\byou(?:'|’)d\b", re.I), "{0} would"), (lazy_regex(r"\byou(?:'|’)ll\b", re.I), "{0} will"),
    (lazy_regex(r"\byours?\b", re.I), "{0}'s"), (lazy_regex(r"\byou\b", re.I), "{0}"),
    (lazy_regex(r"\bmy\b", re.I), "{1}'s"), (lazy_regex(r"\b(?:me|I)\b"), "{1}"),
)  # fmt: skip
_YOU_ZH = ((lazy_regex("你们|您|你"), "{0}"), (lazy_regex("我(?!们)"), "{1}"))
_FACT_EN = {
    "residence": "Where does {who} live?", "hometown": "Where is {who} from originally?",
    "workplace": "Which company does {who} work for?", "occupation": "What does {who} do for a living?",
    "school": "Where did {who} study?", "birthday": "When is {who}'s birthday?", "age": "How old is {who}?",
    "name": "What is {who}'s full name?", "nickname": "What do people call {who}?",
    "spouse": "Who is {who} married to?", "child": "Does {who} have any children?",
    "pet": "What pets does {who} have?", "allergy": "What is {who} allergic to?", "avoids": "What does {who} never eat?",
    "diet": "What kind of diet does {who} follow?", "like": "What does {who} enjoy?",
    "favourite": "What is {who}'s favourite {thing}?", "language": "Which languages does {who} speak?",
    "phone": "What is {who}'s phone number?", "email": "What is {who}'s e-mail address?",
    "plan": "What is {who} planning to do?",
}  # fmt: skip
_FACT_ZH = {
    "residence": "{who}住在哪里？", "hometown": "{who}的老家是哪里？", "workplace": "{who}在哪家公司上班？",
    "occupation": "{who}是做什么工作的？", "school": "{who}是哪个学校毕业的？", "birthday": "{who}的生日是哪天？",
    "age": "{who}多大年纪？", "name": "{who}的全名叫什么？", "nickname": "大家怎么称呼{who}？", "spouse": "{who}的爱人是谁？",
    "child": "{who}有几个孩子？", "pet": "{who}养了什么宠物？", "allergy": "{who}对什么过敏？", "avoids": "{who}有什么忌口？",
    "diet": "{who}的饮食习惯是什么？", "like": "{who}喜欢什么？", "favourite": "{who}最喜欢的{thing}是什么？",
    "language": "{who}会说哪些语言？", "phone": "{who}的电话号码是多少？", "email": "{who}的邮箱是什么？",
    "plan": "{who}接下来有什么打算？",
}  # fmt: skip


def from_turn(text: str, *, asker: str, answerer: str) -> str:
    """What a turn of a chat asks, told of the persons by their names; empty if it asks for nothing in particular.

    Only the sentences that ask are kept: `Great! How was your trip?` asks `How was Melanie's trip?`.
    """
    sentences = [part.strip() for part in _SENTENCE.findall(text) if part.strip()]
    asking = [part for part in sentences if part.endswith(("?", "？"))] or sentences[-1:]
    said = " ".join(asking)
    if len(set(content_words(said))) < (LEAST_POINTING if _POINTING.search(said) else LEAST_ASKED):
        return ""
    for pattern, name in _YOU_ZH if is_mostly_cjk(said) else _YOU_EN:
        who = name.format(answerer, asker)
        said = pattern.sub(lambda _, who=who: who, said)
    return said


def about_fact(subject: str, attribute: str, *, cjk: bool) -> str:
    """The question that a fact answers, without its value; empty for what is no attribute."""
    kind, _, thing = attribute.partition(":")
    pattern = (_FACT_ZH if cjk else _FACT_EN).get(kind, "")
    if not subject or (not thing and "{thing}" in pattern):
        return ""
    return pattern.format(who=subject, thing=thing)


def about_relation(subject: str, predicate: str, *, cjk: bool) -> str:
    """The question that a relation answers, without its object."""
    does = predicate.replace("_", " ").strip()
    if not subject or not content_words(does):
        return ""
    return f"{subject}{does}什么？" if cjk else f"What is it that {subject} {does}?"


def content_words(text: str) -> list[str]:
    """The terms of a text that say what it is about: of Chinese the pairs of characters."""
    bare = _ASKING_ZH.sub(" ", fold(text)) if is_mostly_cjk(text) else text
    return [term for term in tokens(bare) if len(term) > 1 and term not in VAGUE]


def copies(question: str, answer: str) -> bool:
    """Whether a question is worded like its answer, so that finding it would be no achievement."""
    asked, told = set(content_words(question)), set(content_words(answer))
    if asked and len(asked & told) / len(asked) > MOST_SHARED:
        return True
    one, other = fold(question), fold(answer)
    run = SequenceMatcher(None, one, other, autojunk=False).find_longest_match().size
    return run > (LONGEST_RUN_CJK if is_mostly_cjk(question) else LONGEST_RUN)
