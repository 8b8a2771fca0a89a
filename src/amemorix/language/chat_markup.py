"""What a chat client puts into a text, and what a speaker only passes on."""

from __future__ import annotations

import re

from ..lazy_regex import lazy_regex

__all__ = ["GAP", "spoken", "uncoded"]

GAP = " … "
"""In the place of what had a meaning: what stands around it does not belong together."""
_CODE = lazy_regex(r"\[CQ:(?P<kind>[a-z_]+)[^\]]{0,2000}\]|<a?:\w{1,40}:\d{1,24}>", re.I)
_DECORATION = frozenset({"", "face", "mface", "reply", "bface", "sface"})
_THING = lazy_regex(
    r"<(?:@[!&]?|#)\d{1,24}>|<t:\d{1,14}(?::\w)?>|(?:https?://|www\.)[^\s\u3000-\u303f\u3400-\u9fff\uff00-\uffef<>\"]+"
    r"|\[(?:动画表情|表情|图片|闪照|照片|语音|视频|文件|链接|卡片|位置|红包|转账|聊天记录|合并转发|小程序|音乐|分享|image|photo|picture|sticker"
    r"|video|voice|audio|file|gif)(?:[:：][^\]\n]{0,60})?\]|(?<![\w.])@[^\s@，,。]{1,24}(?=\s)",
    re.I,
)
_FACE = lazy_regex(
    r"\[(?:[\u3400-\u9fff]{1,6}|Smile|Grimace|Facepalm|Joyful|Chuckle|Sob|Doge|LOL|Cry|Laugh|ThumbsUp|Heart)\](?!\()|/(?:微笑|捂脸|笑哭|呲牙|流泪|偷笑|狗头)|(?<!\S):[a-z][a-z0-9_+-]{1,30}:(?!\S)"
)
_STAMP = lazy_regex(r"^[^\S\n]*[\[(（][0-9:：/.\-年月日 ]{4,24}[\])）]\s*", re.M)
_REST = lazy_regex(
    r"^[ \t]*(?:>>>|-{3,}\s*(?:forwarded|original) message|[【\[(（]?(?:转发|转载|转自|引用|合并转发|fwd?|forwarded(?: from)?|RT)"
    r"(?:一下|内容|消息|message)?[】\])）]?[ \t]*(?:[:：]?[ \t]*$|from\b)|begin forwarded message)",
    re.I,
)
"""From here on somebody else speaks."""
_PASSED_ON = lazy_regex(
    r"^[ \t]*(?:[>＞](?![_.<︿﹏]|[oO0][<>])|//@|[【\[(（]?(?:转发|转载|转自|引用|fwd?|forwarded|RT)(?:一下|内容|消息)?[】\])）]?[ \t]*(?:[:：]|@))",
    re.I,
)
_WHO = lazy_regex(r"^[ \t]*(?P<who>[^\s:：,，。.!！?？;；][^:：,，。!！?？;；\n]{0,23})[:：](?!//)\s*(?P<said>\S.*)$")
_NO_NAME = lazy_regex(
    r"我|更新|补充|备注|说明|提醒|注意|总结|结论|重点|介绍|近况|汇报|报告|个人|消息|通知|公告|知识|答|问|话说|其实|对了|换句话|简单说|一句话|打卡|求助|坦白|首先|第[一二三]"
    r"|\b(?:i|my|me|ps|p\.s|update|edit|note|nb|fyi|btw|tl;?dr|reminder|fact|confession|news|status|honestly|also|anyway|remember|answer"
    r"|question|warning|spoiler|summary|intro|about|so|and|but|because|thing|bonus|correction|moral|result)\b",
    re.I,
)
_SELF = lazy_regex(r"我(?![们俩国])|俺|本人|\bI\b|\bI['’]|\b[Mm]y\b|\bi(?:['’]?m)?\b")
_QUOTED = lazy_regex(r"[\"“「『]([^\"”」』\n]{0,300})[\"”」』]")


def spoken(text: str, *, said: bool = True) -> str:
    """The text without chat codes, links and the words of others; `said`: one person has said it all.

    In a text that nobody said, such as a transcript, lines that name their speaker stay.
    """
    text = _STAMP.sub("", uncoded(text))
    own: list[str] = []
    for line in text.split("\n"):
        if said and _REST.match(line):
            break
        if not _PASSED_ON.match(line) and not (said and _is_pasted(line)):
            own.append(line)
    return _QUOTED.sub(lambda found: GAP if _SELF.search(found[1]) else found[0], "\n".join(own))


def uncoded(text: str) -> str:
    """The text without the codes of chat clients and without links."""
    return _FACE.sub(" ", _THING.sub(GAP, _CODE.sub(_decoded, text)))


def _decoded(found: re.Match[str]) -> str:
    return " " if (found["kind"] or "").lower() in _DECORATION else GAP


def _is_pasted(line: str) -> bool:
    """Whether a line such as `Bob: I live in Oslo` gives another's words."""
    found = _WHO.match(line)
    if found is None or _NO_NAME.search(found["who"]) or not _SELF.search(found["said"]):
        return False
    who = found["who"].strip()
    return len(who) <= 8 if not who.isascii() else len(who.split()) <= 3 and (who[0].isupper() or len(who.split()) == 1)
