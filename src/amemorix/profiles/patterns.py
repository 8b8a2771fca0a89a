"""The wordings by which people tell of themselves and of each other, in Chinese and English."""

from __future__ import annotations

import re

from ..language.times import is_question
from ..lazy_regex import lazy_regex

__all__ = [
    "LEADING",
    "OTHER_SUBJECT",
    "SELF",
    "ZH_KIN",
    "ZH_SELF",
    "is_empty",
    "is_secret",
    "is_supposed",
    "is_vague",
    "section_of",
]

SELF = lazy_regex(r"\b(?:I|I['’](?:m|ve|ll|d)|[Mm]y|[Mm]yself)\b")
ZH_SELF = lazy_regex(r"我(?!们|們)|本人|俺|在下")
OTHER_SUBJECT = lazy_regex(r"[你您他她它]|大家|有人|人家|别人|对方|群里")
"""Whoever is meant by these is somebody else."""
LEADING = lazy_regex(
    r"^(?:(?:还有(?=我)|哈{2,}|并且|而且|另外|同时|所以|但是|不过|然后|因为|其实|反正|而|并|且|但|也|还)+(?=[^\W\d_a-zA-Z])|"
    r"(?:(?:(?:hey|hi|hello)\s+(?:all|everyone|everybody|guys|folks|there)|yeah|yes|well|oh|and|but|so|also|haha|lol|hey|(?:hi|hello)(?=[,!.])|wow|no way|no|plus|actually|honestly)\b[,!. ]*)+)",
    re.IGNORECASE,
)
"""Words that join a statement to what stands before it."""
_SUPPOSED = lazy_regex(r"^(?:如果|要是|假如|万一|除非)|^(?:if|unless|imagine|suppose)\b", re.IGNORECASE)

_KIN_ZH = (
    "爸爸?|妈妈?|父亲|母亲|爹|娘|老婆|老公|妻子|丈夫|太太|爱人|对象|女朋友|男朋友|女友|男友|哥哥?|姐姐?|弟弟?|妹妹?|"
    "儿子|女儿|孩子|爷爷|奶奶|外公|外婆|同事|老板|领导|室友|舍友|朋友|闺蜜|同学|老师|师傅|徒弟|邻居|猫|狗|宠物"
)
ZH_KIN = lazy_regex(rf"(?:的|家)?(?:{_KIN_ZH})")
"""Somebody who belongs to whoever stands before."""
_TO_ME = "(?:叫|让|喊|催|骂|逼|劝|问|约|找)(?:了|着|过)?我"
"""What somebody who belongs to the speaker does to them at the moment tells nothing of either."""
_KIN_EN = (
    "mom|mum|mother|dad|father|parents?|wife|husband|partner|fianc[eé]e?|girlfriend|boyfriend|brothers?|sisters?|"
    "sons?|daughters?|kids?|child(?:ren)?|grand(?:ma|pa|mother|father)|aunt|uncle|cousins?|friends?|boss|colleagues?|"
    "coworkers?|roommates?|neighbou?rs?|teacher|mentor|dogs?|cats?|puppy|kitten|pets?|family"
)
_CALLED = "叫(?=[^你您他她它我大人车])(?!了|过|着|外卖|滴滴|出租|快递|代驾|跑腿|救护|醒|停|好|苦|上|来)"
"""A name follows."""
_ADVERBS = (
    r"(?:\s+(?:really|absolutely|just|also|always|still|totally|do|does|actually|especially|particularly|truly|too|so|"
    r"much|have|has|even|kinda|mostly|only|both|all)\b)*"
)
_I = r"\bI"
_BE = r"(?:['’]m|['’]s|\s+am|\s+is|\s+was|\s+have been|\s+has been|['’]ve been)"
_NO_RELATIVE = "(?![^，,。]{0,8}的(?:那[位个些]|朋友|人|日子|时候|同[学事]|店))"
"""The clause does not go on with whoever or whatever it only describes."""

_CHINESE_RULES = (
    ("allergies", r"(?<!不)(?<!没有)(?:过敏|過敏)"),
    ("dislikes", rf"不(?:太|怎么|是很|大|再|敢)?(?:喜欢|喜歡|爱|愛|能?[吃喝]{_NO_RELATIVE}|习惯)|讨厌|討厭|厌恶|反感|受不了|"
                 r"(?<![恐可不])怕(?!是)|害怕|忌口|痛恨|嫌弃"),
    ("plans", r"打算|计划[去在要着考搬学买]|准备(?:去|要|在|考|搬|学|买|换)|想(?:去|学|买|考|换|养)|要去|将要|即将|"
              r"(?:下周|下个月|明年|明天|后天|下学期|年底).{0,6}(?:要|去|会)|期待"),
    ("likes", rf"(?<!不)(?<!没)(?:喜欢|喜歡|喜爱|爱[吃喝看听玩逛]{_NO_RELATIVE}|愛[吃喝看聽玩]|偏爱|偏好|热爱|钟爱|最爱|最愛|爱好|迷上|"
              r"沉迷|痴迷)|感兴趣|感興趣|只[喝吃]|离不开|的粉丝"),
    ("relations", rf"(?:我|俺|本人|的)(?:的|家)?.{{0,3}}(?:{_KIN_ZH})(?!.{{0,6}}{_TO_ME})|(?:和|跟|与).{{1,8}}(?:结婚|恋爱|分手|订婚|同居|搭档|"
                  r"是(?:朋友|同学|同事|室友|夫妻|兄弟|姐妹))|养了.{0,4}(?:猫|狗|鸟|鱼|兔)"),
    ("identity", rf"(?:我|本人)(?:{_CALLED}|姓|来自|今年|生于|毕业)|(?:住|定居|出生|生活)(?:在|于)|老家|来自|\d+\s*岁|"
                 r"在.{1,12}(?:工作|上班|上学|读书|念书|读研|实习|任职)|毕业于|(?:职业|专业|生日|家乡|籍贯|星座|血型|学历|"
                 r"公司|学校|身高)(?:是|在|为|：)|是(?:一?[名位个])?.{0,10}(?:人|师|员|生|家|者|长|工|手|医生|经理|老板|博士|硕士)(?![a-zA-Z\u4e00-\u9fff])"),
    ("habits", r"每(?:天|次|晚|周|月|年|早|逢|到)|平时|平常|通常|经常|常常?(?!识)|总是|一般都?|习惯|一向|从来|"
               r"会(?:弹|做|写|说|用|拉|唱|跳|画|修|开车|游)|(?<!我)会(?:先|自带|带|把)|擅长|擅於|精通|拿手|负责|看管|保管|掌管|担任|自带|坚持|在学|正在学"),
)  # fmt: skip
_ENGLISH_RULES = (
    ("allergies", rf"{_I}{_BE}?{_ADVERBS}\s+(?:allergic|an\s+allergy)\b|\b[Mm]y\s+(?:\w+\s+)?allerg"),
    ("plans", rf"{_I}(?:['’]d|\s+would){_ADVERBS}\s+(?:like|love)\s+to\b|{_I}(?:['’]ll|\s+will)\s+.*\b(?:tomorrow|tonight|soon|next|weekend|month|year|week)\b|"
              rf"{_I}{_BE}{_ADVERBS}\s+(?:going\s+to|planning|thinking\s+(?:of|about)|hoping|about\s+to|looking\s+forward)|"
              rf"{_I}{_ADVERBS}\s+(?:plan|want|hope|intend)s?\s+to\b|{_I}{_ADVERBS}\s+look(?:s|ing)?\s+forward"),
    ("dislikes", rf"{_I}{_ADVERBS}\s+(?:hate|dislike|detest|avoid|fear)s?\b|{_I}\s+(?:can['’]t|cannot|can\s+not)\s+stand|"
                 rf"{_I}\s+(?:don['’]t|doesn['’]t|do\s+not|does\s+not|never){_ADVERBS}\s+(?:like|love|enjoy|eat|drink)s?\b|"
                 rf"{_I}{_BE}?{_ADVERBS}\s+(?:afraid|scared|terrified)\b"),
    ("likes", rf"{_I}{_ADVERBS}\s+(?:love|like|enjoy|adore|prefer|fancy)(?:s|d)?\b(?!\s+you\b)|"
              rf"{_I}{_BE}{_ADVERBS}\s+(?:into|fond\s+of|an?\s+(?:big\s+|huge\s+)?fan\s+of|obsessed\s+with|"
              r"passionate\s+about|keen\s+on|hooked\s+on|crazy\s+about)|\b(?:[Mm]y|I['’]s)\s+(?:\w+\s+)?(?:favou?rite|hobby|hobbies|passion)"),
    ("relations", rf"(?<!\bof )\b(?:[Mm]y|I['’]s)\s+(?:\w+\s+){{0,2}}(?:{_KIN_EN})\b|{_I}{_BE}\s+(?:married|engaged|divorced|single)\b|"
                  rf"{_I}{_ADVERBS}\s+(?:have|has|had|got|adopted)\s+(?:\w+\s+){{0,3}}(?:{_KIN_EN})\b"),
    ("identity", rf"{_I}{_BE}{_ADVERBS}\s+(?:an?\s+(?!bit|little|lot|few|fan\b|big\s+fan)|from\s+(?!(?:the\s+(?:future|past|moon)|mars|outer|space|another|work|home|now|here|there)\b)|\d{{1,3}}\b(?!\s*(?:min|sec|h(?:ou)?rs?\b|days?|weeks?|months?|%|percent|km|miles?|pages?|steps?|episodes?|chapters?|points?|people|times?))|originally\s|born\s)|"
                 rf"\b(?:[Mm]y|I['’]s)\s+(?:name|job|hometown|birthday|major|degree|age|profession)\b|\byears\s+old\b|"
                 rf"{_I}{_ADVERBS}\s+(?:lives?\s+(?:in|at|near|with)|works?\s+(?:in|at|as|for|with)|stud(?:y|ies|ied)\b|"
                 r"grew\s+up|graduated|moved\s+(?:to|from|back)|teach(?:es)?\b)"),
    ("habits", rf"{_I}{_BE}?{_ADVERBS}\s+(?:usually|often|regularly|never(?!\s+forget)|always(?!\s+(?:here|there|around|proud|remember))|used\s+to|know\s+how|good\s+at|great\s+at|"
               r"learning|training|practi[cs](?:e|es|ing)|volunteer(?:s|ing)?|plays?|collects?|paints?|runs?|speaks?|cooks?|bakes?|works?\s+out|goes|go)\b|"
               rf"{_I}\s+can\s+(?:play|speak|cook|sing|dance|draw|paint|drive|swim|ski|code)|"
               rf"{_I}(?:['’]ve|\s+have|\s+has)\s+been\s+\w+ing\b|"
               rf"{_I}\b.*\bevery\s+(?:day|morning|evening|night|week|weekend|month|year|mon|tues|wednes|thurs|fri|satur|sun)"),
)  # fmt: skip
_CHINESE = [(section, lazy_regex(rule)) for section, rule in _CHINESE_RULES]
_ENGLISH = [(section, lazy_regex(rule)) for section, rule in _ENGLISH_RULES]


_SECRET = lazy_regex(r"\bpass(?:word|code|phrase)s?\b|\bpin\s+(?:code|number)\b|密码|口令|验证码", re.IGNORECASE)
_VAGUE = lazy_regex(r"\b(?:you|your|yours|you['’]\w+)\b|[你您]", re.IGNORECASE)
_EMPTY = lazy_regex(
    r"^I\s+(?:\w+\s+)?(?:love|like|loved|liked|enjoy|enjoyed|hate)(?:\s+(?:it|that|this|them|to))?\W*$|^我也?(?:很|挺)?(?:喜欢|爱|讨厌|怕|住在?|在|来自|叫|打算|养了|爱[吃喝看])\W*$"
)


def is_vague(statement: str) -> bool:
    """Whether the statement is about whoever is spoken to as much as about the person."""
    return _VAGUE.search(statement) is not None


def is_empty(statement: str) -> bool:
    """Whether the statement means nothing without what stands before it."""
    return _EMPTY.match(statement) is not None


def section_of(text: str, *, chinese: bool) -> tuple[str, int] | None:
    """(section, where the telling words begin) of a clause that tells of its subject; English has to say `I`."""
    for section, rule in _CHINESE if chinese else _ENGLISH:
        if found := rule.search(text):
            return section, found.start()
    return None


def is_supposed(text: str) -> bool:
    """Whether the sentence asks or imagines, and states nothing."""
    return is_question(text) or _SUPPOSED.match(text.strip()) is not None


def is_secret(text: str) -> bool:
    """Whether the sentence speaks of a password: no profile is to hold one, nor a hint at it."""
    return _SECRET.search(text) is not None
