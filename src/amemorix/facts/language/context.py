"""What shows that news which name nobody are the speaker's own: the line itself, or the one right before it."""

from __future__ import annotations

import re

from ...language.normalise import simplified
from ...language.times import is_question
from ...lazy_regex import lazy_regex
from .implicit_subject import asks_of_deed, opens_well

__all__ = ["is_imagined", "is_of_device", "leads_to_speaker", "shows_person", "tells_where"]

_WHEN_ZH = r"(?:其实|对了|哦+|噢|嗯+|啊|唉|哈+|那|因为|所以|不过|但是?|而且|另外|后来|现在|目前|最近|如今|今天|昨天|前天|今年|去年|上周末?|上个?月|上个?星期|这周|这个月|前几天|刚刚?|已经|终于|是不是|又|还|[，,\s])*"
_FIRST_ZH = lazy_regex(
    rf"{_WHEN_ZH}(?:我(?!们|俩|国|校|司|方|家|[爸妈哥姐弟妹]|朋|同[学事]|室|对象|老[婆公板师家]|[女男儿孩]|的|公司|[这那])|本人|俺(?!们))"
)
_FIRST_EN = lazy_regex(r"(?:(?:well|so|and|but|oh|hey|hi|hello|now|actually|btw|yes|yeah|no),? )*i\b", re.I)
_BELONGS = lazy_regex(r"的(?!是)[\u4e00-\u9fff]{1,8}$")
"""It ends with a thing, of which the next line may go on."""
_THINGS = lazy_regex(
    "公司|总部|单位|部门|团队|服务器|数据|网站|机房|系统|项目|会议|[大年展]会|峰会|论坛|漫展|展览|活动|比赛|[赛决]赛|婚礼|婚宴|场地|场馆|会场|酒店|餐厅|店|快递|包裹|航班|飞机|火车|高铁|票|巡演|演[出唱]|剧组|节目|直播|学校|校区"
    "|厂|银行|医院|法院|考[试场]|博物馆|球队|俱乐部|马戏团|订单|仓库|办公室|账号|频道|群|房东|邻居"
    r"|\b(?:compan(?:y|ies)|offices?|headquarters|hq|servers?|databases?|(?:web)?sites?|teams?|projects?|conferences?|concerts?|festivals?|events?|venues?|meetings?|meetups?|part(?:y|ies)|weddings?|exhibitions?|expos?"
    r"|shows?|circus|tournaments?|match(?:es)?|races?|tickets?|trains?|flights?|bus(?:es)?|packages?|parcels?|orders?|deliver(?:y|ies)|shipments?|stores?|shops?|restaurants?|banks?|factory|schools?|bands?|tours?|clubs?"
    r"|museums?|warehouses?|data|channels?|chats?|threads?|accounts?|domains?|repos?|phones?|cars?|furniture|startups?|firms?|landlord)\b",
    re.I,
)
_IMAGINED = lazy_regex(
    r"梦|游戏|副本|剧情|主角|角色|电视剧|电影|小说|漫画|动漫|番剧|\b(?:dream(?:s|t|ed)?|nightmare|games?|minecraft|sims|nintendogs|tamagotchi|movies?|films?|novels?|episodes?|plot|characters?)\b",
    re.I,
)
_DEVICE = lazy_regex(
    r"手机|电脑|笔记本|平板|电池|没电|开不了?机|关机|充电|屏幕|黑屏|音箱|音响|机器人|玩具|程序|服务器|耳机|相机|汽车|车子|模型|版本|账号"
    r"|\b(?:phones?|laptops?|batter(?:y|ies)|tablets?|computers?|charger|screen|device|speaker|robot|toys?|pc|mac|macbook|iphone|ipad|android|server|car|truck|bike|watch|console|app|router|printer|camera|drive|headset|warranty|plant)\b",
    re.I,
)
_PERSON_ZH = lazy_regex(
    r"搬(?:了)?(?:新)?家|换了?(?:[个份]|新)*(?:工作|公司)|跳槽|毕业|入职|现在[^，。]{0,4}住在|目前住在|(?:上班|读[研博书]|念书|任职|就职)|领?养了|(?:结婚|领证)了"
)
_PERSON_EN = lazy_regex(
    r"\b(?:(?:changed|switched) (?:jobs|companies)|new job|graduated|living in|live in|(?:working|work) (?:at|for)|studying|adopted an?)\b",
    re.I,
)
_FIRM_MOVES = lazy_regex(r"搬(?:了)?(?:新)?家")
_ASKED = lazy_regex(
    r"[?？]|[吗呢][\s~～!！]*$|[哪啥咋]|怎么|什么|如何|^(?:where|what|how|when|did|do|are|have|so where)\b", re.I
)
_TO_YOU = lazy_regex(
    r"[你您](?!们|的|家|司|校|公司|[爸妈哥姐弟妹]|朋友|同[学事]|老[婆公板师家]|[女男儿孩])|\b(?:you|u)\b(?! guys| two| all|r\b)",
    re.I,
)

_TALKS_OF = lazy_regex(
    r"听|问|说(?!实话)|看|聊|讨论|知道|记得|读(?![研博书])|查|搜|新闻|消息"
    r"|\b(?:hear[ds]?|asks?|asked|saw|see(?:n|ing)?|watch(?:ed|ing)?|read(?:ing)?|know|knew|told|talk(?:ed|ing)?|about|news|remember|the|that|those|these)\b"
    r"|\b(?:my|our) (?!(?:new |old )?(?:job|life|place|flat|apartment|home|house)\b)",
    re.I,
)
"""What is heard, seen or asked of may be what the next line goes on about."""
_TELLS_WHERE = lazy_regex(
    r"我[^，,。]{0,6}(?:住|在[^，,。]{1,12}(?:工作|上班|读|念|做|当))|\bi(?:'m| am)? (?:currently |now |still )?(?:live|work|living|working|based)\b",
    re.I,
)


def shows_person(line: str, before: str) -> bool:
    """Whether the line itself shows that a person does it, whatever thing the line `before` was about."""
    said = simplified(line)
    if _tells_of_self(said):
        return True
    if _PERSON_EN.search(said):
        return True
    found = _PERSON_ZH.search(said)
    if found is None:
        return False
    return not (_FIRM_MOVES.fullmatch(found[0]) and "住" not in said and _THINGS.search(simplified(before)))


def leads_to_speaker(before: str, *, by_other: bool) -> bool:
    """Whether the line `before` has its speaker as its subject, or asks whoever speaks next about themselves."""
    said = simplified(before).strip()
    if any(rule.search(said) for rule in (_THINGS, _IMAGINED, _TALKS_OF)) or _BELONGS.search(said.rstrip(" 。.!！~")):
        return False
    if not by_other:
        return _tells_of_self(said)
    asked = is_question(said) or _ASKED.search(said) is not None
    return asked and (_TO_YOU.search(said) is not None or asks_of_deed(said))


def _tells_of_self(said: str) -> bool:
    """Whether a clause begins with the first person, and none with anything else that may be meant later."""
    parts = [part.strip() for part in re.split(r"[，,。.！!？?；;…~\n]+", said) if part.strip()]
    mine = [_FIRST_ZH.match(part) or _FIRST_EN.match(part) for part in parts]
    return any(mine) and opens_well(said) and not _BELONGS.search(said)


def is_imagined(line: str) -> bool:
    """Whether the line speaks of a dream, a game or a story."""
    return _IMAGINED.search(line) is not None


def is_of_device(line: str) -> bool:
    """Whether the line speaks of a thing of which people say that it dies."""
    return _DEVICE.search(line) is not None


def tells_where(line: str) -> bool:
    """Whether the speaker says where they live or work: whoever was spoken of before is out of it."""
    return _TELLS_WHERE.search(simplified(line)) is not None and leads_to_speaker(line, by_other=False)
