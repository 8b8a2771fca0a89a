"""Corrections said in Chinese."""

from __future__ import annotations

import re

from ...lazy_regex import lazy_regex
from .claim import Correction, counted, named

__all__ = ["LEAD", "read_chinese", "read_denial"]

LEAD = lazy_regex(
    r"^(?:(?:哈{2,}|嗯+|呃+|(?:你|我)?(?:都|又|好像)?(?:(?:记|搞|弄|说)错[了啦]?)|更正一下|更正|纠正一下|纠正|不对不对|不对(?=[，,：:。！!\s啊呀哦])|不是的|不是啊|错了|其实|实际上|请注意|注意|哎呀?|喂|等等)[啊呀哦吧啦]?[，,：:。！!\s]*)+"
)
_NOT = r"(?:已经不|早就不|并不|从不|不再|没有|不|没)"
_VERBS = (
    r"(?:是|住在|住|搬到了?|搬去|在|叫做|叫|姓|喜欢|喜爱|爱|讨厌|不喜欢|想要|想|会|吃|喝|养了|养|有|去过?|用|做|当|学|来自|属于|负责|"
    r"对|要|买了?|送了?|放在|生于|毕业于|认识)"
)
_BETWEEN = (
    r"[，,；;。！!\s]+(?:而是|而|但是|但|其实|应该|应当|实际上|现在|已经|早就|(?P<who>他们|她们|他|她|它|我|你))*"
)
_END = r"(?:了|的|呢|啦|哦|吧|呀|啊)?[。！!\s]*$"
_SPLIT = lazy_regex(rf"^(?P<subject>.*?){_NOT}(?P<first>.+?){_BETWEEN}(?P<second>.+?){_END}")
_TOWARDS = lazy_regex(
    r"^(?P<subject>.*?)(?:对(?P<wrong>[^，,；;。！!不没]+?)(?:并|已经|其实)?(?:不|没有?)(?P<what>[^，,；;]{1,4}?)|(?:并|已经|其实)?不对(?P<wrong2>[^，,；;]+?)(?P<what2>过敏|感兴趣|满意|熟))"
    r"(?:的|了)?(?:[，,；;。\s]+(?:而是|其实|应该|是|他|她|我|(?P=subject))*对(?P<right>.+?)(?P=what)?(?P=what2)?)?[的了呀啊啦哦]*[。！!\s]*$"
)
_HAS_NOT = lazy_regex(r"^(?P<subject>[^，,。]{1,8}?)(?:并没有|没有|并没)(?P<wrong>[^，,。了过]{2,12})[。！!\s]*$")
_AFTER = lazy_regex(rf"^(?P<first>.+?)[，,；;。！!]\s*(?:而)?不(?P<verb>{_VERBS})?(?P<wrong>.+?){_END}")
_CHANGE = lazy_regex(rf"^(?:请)?(?:把|将)?(?P<wrong>.+?)(?:改成|改为|换成|更正为)(?P<right>.+?){_END}")
_FORGET = lazy_regex(
    r"^(?:请|麻烦)?(?:帮我)?(?:把)?(?:删掉|删除|删了|忘掉|忘记|忘了|去掉|清除|移除|不要再?记得?|别再?记得?|不用记)"
    r"(?:关于|有关|所有)?(?P<what>.+?)(?:的|这件|那件)?(?:记录|记忆|事情|事儿|事|内容|信息|资料|话)?[。！!\s]*$"
)
_FORGET_LAST = lazy_regex(
    r"^(?:请)?(?:把)(?:关于|有关)?(?P<what>.+?)(?:的)?(?:记录|记忆|事情|事|内容|信息)?(?:都)?(?:删掉|删除|删了|忘掉|忘记|忘了|去掉|清除|移除)[吧了。！!\s]*$"
)
_NO_LONGER = lazy_regex(r"^(?P<subject>.*?)(?:已经不|早就不|不再|不)(?P<first>.+?)(?P<end>了?)[。！!\s]*$")
_TOPIC = lazy_regex(
    r"^(?P<subject>我|他|她|[^，,]{2,4}?)(?P<what>过敏|生日|住址|地址|年龄|电话|手机号?|邮箱|职业|工作)$"
)
_DENIAL = lazy_regex(rf"^(?P<subject>[^，,。；;]{{1,8}}?){_NOT}(?P<verb>{_VERBS})(?P<wrong>[^，,。；;]+?){_END}")
_FIXED = lazy_regex(
    r"不(?:错|知道|好意思|客气|行|用了?$|过[，,]|管|清楚|太|要紧|一定|然|如|同)|没(?:事|关系|问题|错|什么|空)"
)
"""Words that begin like a negation and are none."""
_VERB_HEAD = lazy_regex(rf"^{_VERBS}")
_FRAMES = (
    lazy_regex(r"(?:住在?|在)(?P<what>.+)"),
    lazy_regex(r"对(?P<what>.+?)(?:过敏|感兴趣|满意)"),
    lazy_regex(r"(?P<what>.+?)(?:上班|工作|任职|就职|读书|上学|过敏|出生|生活|人)"),
)
"""What a value may stand in on one side only."""
_SUBJECT_AGE = lazy_regex(
    r"^(?P<subject>.*?)(?P<verb>(?:今年|现在|已经|都|刚|满)*)(?P<object>[0-9一二三四五六七八九十]+岁)$"
)
_SUBJECT_VERB = lazy_regex(rf"^(?P<subject>.*?)(?P<verb>{_VERBS})(?P<object>.+)$")


def read_chinese(said: str) -> Correction | None:
    """What the sentence corrects; None if it reads as no correction."""
    if found := _FORGET.match(said) or _FORGET_LAST.match(said):
        return _forgotten(found["what"])
    if _FIXED.search(said):
        return None
    if found := _towards(said):
        return found
    if found := _SPLIT.match(said):
        return _split(found, said)
    if (found := _AFTER.match(said)) and not _CHANGE.match(said):
        return _after(found["first"], found["wrong"])
    if found := _CHANGE.match(said):
        about, wrong = _of(found["wrong"])
        return Correction("replace", wrong, found["right"].strip(), named(about), about)
    if found := _NO_LONGER.match(said):
        subject, first = found["subject"].strip(), found["first"].strip("了 ")
        ended = found["end"] or "再" in said or "已经" in said or "早就" in said
        head = _VERB_HEAD.match(first)
        wrong = first[head.end() :] if head and len(first) > head.end() else first
        if ended:
            return Correction("remove", wrong, "", named(subject), f"{subject}{first[: len(first) - len(wrong)]}")
    if (found := _HAS_NOT.match(said)) and named(found["subject"]):
        return Correction("remove", found["wrong"].strip(), "", named(found["subject"]), found["subject"])
    return None


def read_denial(said: str) -> Correction | None:
    """`林澈不喜欢香菜`: what the sentence says not to be so."""
    found = _DENIAL.match(said)
    if found is None or _FIXED.search(said) or not found["subject"]:
        return None
    subject = found["subject"].strip()
    return Correction("remove", found["wrong"].strip(), "", named(subject), f"{subject}{found['verb']}")


def _towards(said: str) -> Correction | None:
    """`我对花生不过敏，是对虾过敏`: what somebody is not, towards something."""
    found = _TOWARDS.match(said)
    if found is None:
        return None
    subject, wrong, what = found["subject"], found["wrong"] or found["wrong2"], found["what"] or found["what2"]
    right = (found["right"] or "").strip().removesuffix(what)
    return Correction("replace" if right else "remove", wrong.strip(), right, named(subject), f"{subject}{what}")


def _split(found: re.Match[str], said: str) -> Correction | None:
    """`林澈不住在上海，他住在杭州`, or the wrong word before everything else: `不是上海，林澈住在杭州`."""
    wrong, right, verb = _apart(found["first"], found["second"])
    subject = found["subject"].strip("的， ,")
    if wrong and right:
        what = wrong.removeprefix(counted(wrong, right)[0])
        return Correction("replace", *counted(wrong, right), named(subject), f"{subject}{verb}{what}")
    rest = re.split(r"[，,；;。]\s*", said[found.end("first") :], maxsplit=1)
    return _after(re.sub(_END, "", rest[-1]), found["first"]) if not subject and len(rest) > 1 else None


def _apart(first: str, second: str) -> tuple[str, str, str]:
    """(wrong, right, the words both stand in): 住在上海 / 住在杭州 differ in the place."""
    first, second = first.strip("了的 "), second.strip()
    head = _VERB_HEAD.match(first)
    verb = head.group() if head else ""
    if verb and second.startswith(verb):
        return _framed(first[len(verb) :], second[len(verb) :].removeprefix("的").removeprefix("是"), verb)
    other = _VERB_HEAD.match(second)
    if not verb and second.startswith("有"):
        verb = "有"  # 没有
        return _framed(first, second[1:], verb)
    if not verb or other is None:
        return "", "", verb
    return _framed(first[len(verb) :], second[other.end() :], verb)


def _framed(wrong: str, right: str, verb: str) -> tuple[str, str, str]:
    """The same without what both may still stand in: 对…过敏, 在…上班."""
    wrong, right, around = wrong.strip(), right.strip(), ""
    for frame in _FRAMES:
        of_right, of_wrong = frame.fullmatch(right), frame.fullmatch(wrong)
        if of_right:
            around = right.replace(of_right["what"], "", 1)
            wrong, right = of_wrong["what"] if of_wrong else wrong, of_right["what"]
    return wrong, right, f"{verb}{around}"


def _after(first: str, wrong: str) -> Correction | None:
    """`他住在杭州，不是上海`."""
    found = _SUBJECT_VERB.match(first.strip()) or _SUBJECT_AGE.match(first.strip())
    if found is None:
        return None
    head = _VERB_HEAD.match(wrong)
    wrong = wrong[head.end() :] if head and len(wrong) > head.end() else wrong
    wrong, right, verb = _framed(wrong, found["object"], found["verb"])
    subject = found["subject"].strip()
    about = f"{subject}{verb}{right.removeprefix(counted(wrong, right)[1])}"
    return Correction("replace", *counted(wrong, right), named(subject), about)


def _forgotten(what: str) -> Correction | None:
    what = what.strip("的， ")
    found = re.match(rf"^(?P<subject>我们|我|他|她|[^\s，]{{2,4}}?)(?P<verb>{_VERBS})(?P<object>.+)$", what)
    if found:
        return Correction("remove", found["object"], "", named(found["subject"]), f"{found['subject']}{found['verb']}")
    subject, rest = _of(what)
    if not subject and (topic := _TOPIC.match(what)):
        subject, rest = topic["subject"], topic["what"]
    if not subject and what[:1] in "我他她" and len(what) > 2:
        subject, rest = what[0], what[1:]
    return Correction("remove", rest, "", named(subject), subject)


def _of(words: str) -> tuple[str, str]:
    """(whom or what, its part): `小王的生日` is of 小王."""
    owner, mark, rest = words.strip().partition("的")
    return (owner, rest) if mark and rest and len(owner) <= 8 else ("", words.strip())
