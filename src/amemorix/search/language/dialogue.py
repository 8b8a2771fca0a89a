"""Dialogues pasted where a question was expected."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from ...language.normalise import fold
from ...lazy_regex import lazy_regex

__all__ = ["Dialogue", "Turn", "read_dialogue", "speaker_role"]

_Role = Literal["user", "bot", "other", ""]
"""Whom a label means; `other` is a word for a speaker who is neither, an empty one may be anybody's name."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What one speaker said in one go, without the label and the time it was sent."""

    speaker: str
    """The label as written; empty for words that stand before the first label."""
    text: str


@dataclass(frozen=True, slots=True)
class Dialogue:
    """The turns of a dialogue in their order; none is empty."""

    turns: tuple[Turn, ...]

    @property
    def speakers(self) -> tuple[str, ...]:
        """The distinct labels, in the order in which they first speak."""
        return tuple(dict.fromkeys(turn.speaker for turn in self.turns if turn.speaker))

    @property
    def asked(self) -> str:
        """The texts of the user's turns, joined by newlines.

        Those of labels that mean the user, if there are any; else those of all that are no bot; else all. Words before
        the first label are the user's.
        """
        roles = {speaker: speaker_role(speaker) for speaker in self.speakers}
        users = [speaker for speaker, role in roles.items() if role == "user"]
        asking = {"", *(users or [speaker for speaker, role in roles.items() if role != "bot"] or self.speakers)}
        return "\n".join(turn.text for turn in self.turns if turn.speaker in asking)


@dataclass(frozen=True, slots=True)
class _Line:
    """A line that begins with what may be a speaker's label."""

    speaker: str
    text: str
    role: _Role
    sure: bool
    """The label is a word for a speaker, or is written as only chat programs write one."""


def read_dialogue(text: str) -> Dialogue | None:
    """The dialogue that a text is, or None if fewer than two of its lines begin with a speaker's label.

    Lines without a label belong to the turn before; a heading ("Chat so far:") above the first turn is left out. Names
    that are no word for a speaker count if their lines read like talk, so that a list of keys and values is none.
    """
    lines = text.splitlines()
    if len(lines) < 2:
        return None
    labels: list[_Line | None] = []
    speaking = fenced = False
    for line in lines:
        if speaking and line.lstrip().startswith("```"):
            fenced = not fenced
        label = None if fenced else _read_label(line)  # what stands between code fences within a turn has none
        speaking = speaking or label is not None
        labels.append(label)
    if {"user", "bot"} <= {label.role for label in labels if label}:
        # between a user and a bot nobody else speaks: other labels are part of what they say
        labels = [label if label and (label.role or label.sure) else None for label in labels]
    if not _is_talk(labels, lines):
        return None
    turns = tuple(turn for turn in _turns(labels, lines) if turn.text)
    return Dialogue(turns) if turns else None


# Words for speakers

_NUMBERED = r"(?:[ _#-]?(?:[0-9]{1,12}|[a-z]))?"
_USER = lazy_regex(
    rf"(?:user|human|me|myself|i|customer|client|guest|visitor|q|question)(?:{_NUMBERED})"
    rf"|(?:我|我自己|自己|本人|用户|使用者|客户|顾客|买家|访客|游客|提问者?|问)(?:{_NUMBERED})"
)
_BOT = lazy_regex(
    r"(?:(?:ai|chat|virtual|voice|the|my)[ _-]?)?(?:assistant|bot|chatbot|ai|robot|chatgpt|gpt|llm|system|model|agent|tool"
    rf"|function|developer|support|customer service|answer)(?:{_NUMBERED})|[a-z0-9]{{1,20}}[ _-](?:bot|assistant|ai)"
    rf"|\w{{0,12}}(?:机器人|助手|助理|客服|智能体)(?:{_NUMBERED})|人工智能|系统|模型|工具|回答|答"
)
_OTHER = lazy_regex(
    rf"(?:you|them|other|speaker|person|participant|host|interviewer|interviewee)(?:{_NUMBERED})"
    rf"|(?:对方|说话人|发言人|主持人|嘉宾|记者|采访者|受访者|网友|群友|甲|乙|丙)(?:{_NUMBERED})"
)
_UNSURE_WORDS = """
i client guest q question system model agent tool function developer support answer other host person them
自己 系统 模型 工具 回答
"""
_UNSURE = frozenset(_UNSURE_WORDS.split())
"""Words for a speaker that head other lines as well."""
_CAMEL_BOT = lazy_regex(r"[a-z0-9](?:Bot|AI|GPT)$")

_KEY_WORDS = """
note notes todo task tasks warning error info debug warn fatal trace exception log fix bug feature name names title
subject date time day week month year age gender sex address email mail phone tel url link website from to cc bcc re
fw fwd sent location place where when why what who how which price cost total amount number id type kind status state
city country version author source sources file path output input result results summary conclusion introduction
background abstract example examples tip tips hint step steps part section chapter option options phase item items
case figure table scene round level pro pros con cons advantages disadvantages goal goals plan plans idea ideas
reason reasons problem solution context topic theme category tags tag keyword keywords description details detail
key keys point points fact facts quote definition meaning ingredients instructions directions method materials
monday tuesday wednesday thursday friday saturday sunday today tomorrow yesterday morning afternoon evening night
breakfast lunch dinner snack january february march september october november december ps p.s nb n.b fyi btw
eg e.g ie i.e attention important reminder update edit spoiler source translation password username login http https
ftp mailto default else try finally public private protected return lambda class def true false null none yes no
budget deadline hobby hobbies job occupation favorite favourite likes dislikes language languages skills score
rating review size color colour weight height duration distance speed temperature weather agenda attendees
"""
_KEYS = frozenset(_KEY_WORDS.split())
"""Words that head a line and say nothing about who speaks."""
_KEYS_ZH = lazy_regex(
    r"第|.*(?:注意|备注|注|提示|警告|错误|时间|日期|地点|地址|姓名|名字|名称|名|年龄|性别|电话|手机|邮箱|标题|主题|题目|内容|原因"
    r"|结论|总结|结果|情况|问题|答案|例如|比如|譬如|例子|步骤|方案|选项|目标|目的|计划|事项|待办|任务|价格|金额|数量|编号|类型"
    r"|状态|版本|作者|来源|链接|网址|密码|账号|优点|缺点|优势|劣势|背景|说明|描述|定义|要点|重点|建议|方法|方式|材料|用法|职业|爱好"
    r"|生日|身高|体重|城市|国家|公司|学校|专业|早[餐饭]|[午中晚][餐饭]|周[一二三四五六日末]|星期[一二三四五六日天]|月|日|号|年|天|早上|上午|中午"
    r"|下午|晚上|今天|明天|昨天|其[一二三]|[一二三四五六]是|如下|以下|也就是|即|[说问道喊叫写想讲曰])"
)
_NO_NAME_ZH = lazy_regex(r"[的是了这那你您他她它]|我.{3}|.{9}")

# Lines

_CLOCK = r"(?:[上下]午|晚上|凌晨)?[0-9]{1,2}[:：][0-9]{2}(?:[:：][0-9]{2}(?:[.,][0-9]{1,6})?)?(?:[ \u202f]?[AaPp]\.?[Mm]\.?)?"
_DATE = r"(?:[0-9]{4}[-/.年][0-9]{1,2}[-/.月][0-9]{1,2}日?|[0-9]{1,2}[-/.月][0-9]{1,2}(?:[-/.][0-9]{2,4}|日)?)"
_MOMENT = rf"(?:{_DATE}(?:T|,? {{0,2}}))?{_CLOCK}(?:Z| ?[+-][0-9]{{2}}:?[0-9]{{2}})?"
_STAMP = rf"(?:{_MOMENT}|{_DATE})"
_NAME_WORD = r"""[^\s:：<>\[\]【】()（）{}"“”=;；,，。!?！？|/\\*]{1,24}"""
_NAME = rf"(?=[\w@]){_NAME_WORD}(?: {_NAME_WORD}){{0,3}}"
_COLON = r"(?P<colon>[:：])(?![/\\:：])(?!(?<=[0-9][:：])[0-5][0-9])"
_LABEL = lazy_regex(
    rf"\s{{0,8}}(?P<mark>[-*•+]\s{{1,4}}|#{{1,6}} )?(?:(?P<at>[\[(（【] ?{_STAMP} ?[\])）】]|{_MOMENT})\s{{0,4}}(?:[-–—|,] )?)?"
    rf"(?:<(?P<angle>{_NAME})>[ \t]|[*_]{{0,3}}(?:[\[【](?P<boxed>{_NAME})[\]】]|(?P<name>{_NAME}))"
    rf"(?:\s?[(（\[](?P<aside>[^()（）\[\]]{{1,40}})[)）\]]|\s(?P<then>{_STAMP}))?[*_]{{0,3}}\s{{0,2}}(?:{_COLON}|(?<=[\]】])))"
    r"[*_]{0,3}(?P<text>.*)"
)
_STAMP_ONLY = lazy_regex(rf"\s?{_STAMP}\s?")
_LATIN_NAME = lazy_regex(
    r"@?[^\W\d_][\w.'’&-]{0,23}(?: (?:[^\W\d_a-zà-ÿ][\w.'’&-]{0,23}|[0-9]{1,6}|de|da|van|von|la|di|bin)){0,3}"
)
_UNSPACED = lazy_regex(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_TAG_WORDS = "a b i u p li ul ol td tr th div span br hr h1 h2 h3 h4 em strong code pre html body head img"
_HTML = frozenset(_TAG_WORDS.split())
_SPEECH = lazy_regex(
    r"[?？~～]|[!！]\s*$|\b(?:i|i'm|i'll|i've|you|you're|your|my|me|we|we're|our|us|hi|hello|hey|thanks|okay|lol|haha)\b"
    r"|[我你您妳咱吗嗎吧呢啊呀哦嗯噢喔哈嘛啦]|谢谢|謝謝|好的",
    re.IGNORECASE,
)
_CODE_LINE = lazy_regex(r"[,;{}\\]\s*$")
_CODE_ENDING = lazy_regex(r"[;{}\\]\s*$|^\s*[\[{]")


def _read_label(line: str) -> _Line | None:
    match = _LABEL.match(line)
    if match is None:
        return None
    speaker = (match["angle"] or match["boxed"] or match["name"]).strip("_ ")
    role = speaker_role(speaker)
    if not (role or _is_name(speaker)) or not _is_written_as_label(match, role):
        return None
    stamped = match["at"] or match["then"] or (match["aside"] and _STAMP_ONLY.fullmatch(match["aside"]))
    sure = bool(stamped or match["angle"] or (role and fold(speaker) not in _UNSURE))
    return _Line(speaker, match["text"].strip(), role, sure)


def speaker_role(speaker: str) -> _Role:
    """Whom a speaker's label or a role means."""
    word = fold(speaker.removeprefix("@"))
    if _USER.fullmatch(word):
        return "user"
    if _BOT.fullmatch(word) or _CAMEL_BOT.search(speaker):
        return "bot"
    return "other" if _OTHER.fullmatch(word) else ""


def _is_name(speaker: str) -> bool:
    """Whether a label that is no word for a speaker has the shape of a name."""
    word = fold(speaker)
    if _UNSPACED.search(word):
        return not (_KEYS_ZH.fullmatch(word.rstrip("0123456789 ")) or word[0] == "第" or _NO_NAME_ZH.search(word))
    if any(part in _KEYS for part in word.rstrip("0123456789 #.").split()):
        return False
    return _LATIN_NAME.fullmatch(speaker) is not None


def _is_written_as_label(match: re.Match[str], role: _Role) -> bool:
    """Whether the marks around a name are those of a label and not of a list, of code or of a web page."""
    text = match["text"]
    if match["angle"]:
        return match["angle"].lower() not in _HTML and "</" not in text
    if role:
        return match["colon"] is not None or role != "other"
    if match["mark"] or match["colon"] is None:
        return False
    tight = match["colon"] == ":" and text[:1].isascii() and not text[:1].isspace() and text != ""
    return not tight or _UNSPACED.search(match["name"] or match["boxed"]) is not None


def _is_talk(labels: Sequence[_Line | None], lines: Sequence[str]) -> bool:
    """Whether speakers take turns, or half of the lines address somebody; one is enough beside a sure label."""
    spoken = [label for label in labels if label]
    if len(spoken) < 2 or all(_CODE_LINE.search(label.text[-80:]) for label in spoken):
        return False
    if sum(label.sure for label in spoken) >= 2:
        return True
    written = sum(1 for line in lines if line.strip())
    if len(spoken) * 2 < written or any(_CODE_ENDING.search(label.text[-80:]) for label in spoken):
        return False
    letters = "".join(label.speaker for label in spoken)
    if letters in "ABCDEFGHabcdefgh" and (labels[0] is None or len(spoken) > 2):
        return False  # answers to choose from
    speakers = {label.speaker for label in spoken}
    if 2 <= len(speakers) < len(spoken):
        return True  # they take turns
    talking = sum(1 for label in spoken if _SPEECH.search(label.text))
    return talking * 2 >= len(spoken) or (talking > 0 and any(label.sure for label in spoken))


def _turns(labels: Sequence[_Line | None], lines: Sequence[str]) -> Iterator[Turn]:
    speaker, said = "", list[str]()
    for label, line in zip(labels, lines, strict=True):
        if label is None:
            said.append(line)
            continue
        yield _turn(speaker, said)
        speaker, said = label.speaker, [label.text]
    yield _turn(speaker, said)


def _turn(speaker: str, said: Sequence[str]) -> Turn:
    if not speaker:
        said = [line for line in said if not line.rstrip("*_ ").endswith((":", "：", "```"))]
    return Turn(speaker, "\n".join(said).strip())
