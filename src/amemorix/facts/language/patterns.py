"""The sentences that tell a fact, in Chinese and English; `@` stands for whom they tell it of."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, Protocol

from ...lazy_regex import lazy_regex
from ..timeline import ANY

__all__ = ["PATTERNS", "SUBJECT", "Pattern", "Shape"]

SUBJECT = "\ue000"
"""What stands in a clause in the place of its subject."""
Shape = Literal[
    "place",
    "town",
    "firm",
    "house",
    "name",
    "thing",
    "likes",
    "food",
    "people",
    "date",
    "age",
    "number",
    "mail",
    "job",
    "school",
    "deed",
]
"""What a value has to look like; a town or a house (of business) is known by itself, where the words tell neither."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A whole clause, folded; the group `v` is the value, `t` the kind of thing it is, `no` makes it a denial.

    The group `w` is a value of the opposite: what the other takes the place of.
    """

    attribute: str
    shape: Shape
    regex: re.Pattern[str]
    polarity: int = 1
    fixed: str = ""
    """The value, where the words are not it."""
    dated: bool = False
    """It has to name a time to come."""
    norm: str = ""
    """The norm of the value, where it is not made of its words."""


_ADV = (
    "(?:现在|目前|如今|已经|一直|从小|平时|平常|通常|真的|其实|很|都|也|还是?|就|才|刚刚?|是|特别|非常|超级?|比较|最近|早就|终于|又|挺|蛮|确实"
    "|从来|一点都?|一点也|完全|可|真|最|天生|仍然|依然|始终|从?开始|[从自]起|起就?)*"
)
_NO = "(?P<no>(?:再也|已经|早就|现在|都|也|真的)*不(?:再|太|怎么|是很)?|没(?:有)?|不会再|别)"
_END = r"(?:了|啦|呢|呀|啊|的|哦|噢|喔|哈|嘛|哒|滴|咯|喽|[~～。.!！])*"
_CN = r"(?P<v>[^\s,，。!！?？]{1,20}?)"
_SHORT = r"(?P<v>[^\s,，。!！?？的]{1,12}?)"
_OF = "的?"
_JOB_ZH = (
    "程序员|工程师|医生|护士|老师|教师|律师|会计|学生|设计师|司机|厨师|记者|警察|作家|画家|演员|歌手|摄影师|产品经理|经理|销售|公务员|教授|"
    "研究员|科学家|翻译|编辑|导游|店员|店长|快递员|外卖员|消防员|飞行员|空姐|咖啡师|理发师|教练|分析师|顾问|实习生|研究生|大学生|高中生|初中生|博士生|硕士生|"
    "自由职业者?|全职妈妈|全职爸爸|家庭主妇|码农|前端|后端|运维|博主|主播|插画师|音乐人|军人|保安|护工|牙医|兽医|药剂师|建筑师|电工|木匠|木工|裁缝|农民|渔民|老板|创业者"
)
_JOB_EN = (
    "engineers?|developer|programmer|teacher|professor|doctor|nurse|lawyer|student|designer|writer|author|journalist|chef|cook|driver|"
    "pilot|artist|painter|musician|singer|actor|actress|accountant|analyst|consultant|manager|scientist|researcher|architect|"
    "photographer|barista|waiter|waitress|dentist|vet|veterinarian|pharmacist|electrician|plumber|carpenter|farmer|firefighter|"
    "police officer|soldier|librarian|translator|editor|therapist|psychologist|counselor|coach|freelancer|salesperson|"
    "product manager|intern|mechanic|baker|tailor|entrepreneur|attorney|surgeon|paramedic|social worker|stay-at-home (?:mom|dad)"
)
_PET_ZH = "(?!电子|虚拟|机器|玩具|赛博)(?:小|大|老)?[^\\s,，的了]{0,3}?(?:猫咪?|狗狗?|犬|兔子?|仓鼠|鹦鹉|乌龟|金鱼|柯基|柴犬|金毛|泰迪|布偶|英短|哈士奇|边牧|龙猫|刺猬|蜥蜴)"
_PET_EN = r"(?!(?:[a-z]+ )?(?:hot|corn|chil+i|cheese|veggie|coney|sonoran|robot|robotic|toy|stuffed|plush|electronic|virtual|digital|lego|balloon|ceramic|wooden|plastic|inflatable|fake|desk|dead) )(?:[a-z]+ ){0,2}(?:cat|dog|kitten|puppy|rabbit|bunny|hamster|parrot|turtle|tortoise|goldfish|corgi|beagle|poodle|labrador|horse|snake|lizard|guinea pig|ferret)"
_SCHOOL_ZH = r"(?P<v>清华|北大|复旦|交大|浙大|武大|人大|[^\s,，。的]{1,16}?(?:大学|学院|中学|高中|初中|小学|职高|技校|附中|[一二三四五六七八九]中|清华|北大|复旦|交大|浙大|武大|人大))"
_ENG = r"(?P<v>[^,.;!?]{1,60}?)"
_NOW = (
    "(?:currently |now |still |actually |really |always |just |recently |finally |also |already |have |has |had |'ve )*"
)
_BE = "(?:am|is|was)"
_NOT = "(?P<no>(?:(?:do|does|did|am|is|can|could) ?(?:not|n't)(?: really)?|no longer|never|not) )"
_TAIL = r"(?: now| currently| these days| at the moment| any ?more| already| again| too| as well| a lot| so much| very much| actually| btw)*[.! ]*"
_MONTH = "(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
_DATE_ZH = r"(?P<v>(?:农历)?(?:[0-9]{4}年)?(?:[0-9]{1,2}|十?[一二三四五六七八九十])月(?:[0-9]{1,2}|[一二三]?十?[一二三四五六七八九十])[日号]?)"
_FIRMS_EN = (
    "google|microsoft|apple|amazon|meta|netflix|tesla|openai|nvidia|intel|ibm|oracle|salesforce|uber|airbnb|spotify|adobe|samsung|sony|siemens|bosch|sap|"
    "goldman sachs|jpmorgan|deloitte|pwc|kpmg|mckinsey|accenture|boeing|nokia|ericsson|huawei|alibaba|tencent|bytedance|stripe|shopify|dropbox|nasa"
)
_NO_FIRM_EN = "(?!(?:facebook|instagram|twitter|tiktok|reddit|duolingo|snapchat|youtube|whatsapp|wechat|linkedin|tinder|discord)\\b)"
_PLACE = r"[^\s,，。!！?？]{2,12}?"
_DISH = r"[^\s,，。!！?？]{1,12}?"
_WORDS = r"[^,.;!?]{1,40}?"
_NO_STAGE = (
    r"(?!在[^\s,，。]{0,10}?(?:[里中上]|边|游戏|剧[组场本社]?|戏|梦|电影|小说|群|社团|班级?|家)(?:做|当|担任|任))"
)
"""Where one only plays somebody."""
_AT = _NO_STAGE + r"在[^\s,，。!！?？]{2,12}?"
_A = r"(?:一名|一个|一位|个|名|位)"
_KEEPS = r"(?:have|has|own|owns|got|adopted|bought)(?: got)?"
_CALLED = r"(?:叫(?![声个得唤嚷我他她你])做?|名叫|名字是)"
_TONGUE = r"(?P<v>[^\s,，。]{1,16}?(?:语|文|话))"
_TONGUE_EN = "(?:english|french|german|spanish|italian|portuguese|chinese|mandarin|cantonese|japanese|korean|russian|arabic|hindi|dutch|swedish|polish|turkish|thai|vietnamese|greek|hebrew|latin|ukrainian|finnish|danish|norwegian|czech)"
_MATE_ZH = "(?:我的?)?(?:前?男朋?友|前?女朋?友|对象|老公|老婆|爱人|丈夫|妻子|未婚[夫妻]|[他她])"
_MATE_EN = "(?:my|his|her|their|@'s) (?:girlfriend|boyfriend|partner|fianc[eé]e?|husband|wife|ex)"
_NO_MATE_ZH = "(?!初恋|前任|同[事学]|室友|舍友|朋友|家人|[爸妈哥姐弟妹]|父|母|老[师板])"
_MEAT_ZH = "(?:红|牛|羊|猪|鸡)?(?:肉|荤)(?:食|菜)?"
_MEAT_EN = "(?:some )?(?:red )?(?:meat|chicken|beef|pork|steaks?)"
_GONE_ZH = "(?:干|做|工作|上班|任职|待|呆)?了"
_NEXT_ZH = "(?:现在|目前|最近)?(?:去了|跳到了?|跳槽到了?|跳槽去了?|换到了?|转到了?|加入了?|入职了?|到了)"
_DATE_EN = rf"(?P<v>(?:the )?[0-9]{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}(?:,? [0-9]{{4}})?|{_MONTH} (?:the )?[0-9]{{1,2}}(?:st|nd|rd|th)?(?:,? [0-9]{{4}})?)"


class _Read(Protocol):
    """Makes a pattern of one language; `@` stands for the subject."""

    def __call__(
        self,
        attribute: str,
        shape: Shape,
        pattern: str,
        polarity: int = 1,
        fixed: str = "",
        *,
        dated: bool = False,
        norm: str = "",
    ) -> Pattern: ...


def _language(end: str, flags: re.RegexFlag) -> _Read:
    """`end` is what may follow the last word of a clause."""

    def read(
        attribute: str,
        shape: Shape,
        pattern: str,
        polarity: int = 1,
        fixed: str = "",
        *,
        dated: bool = False,
        norm: str = "",
    ) -> Pattern:
        regex = lazy_regex(pattern.replace("@", SUBJECT) + end, flags)
        return Pattern(attribute, shape, regex, polarity, fixed, dated, norm)

    return read


_zh, _en = _language(_END, re.NOFLAG), _language(_TAIL, re.I)

PATTERNS = (
    # where
    _zh("residence", "place", rf"@{_ADV}{_NO}?{_ADV}(?:住在|定居(?:在|于)|居住在|现居|家住|常住在?)(?:了)?{_CN}"),
    _zh("residence", "place", rf"@{_ADV}(?:搬到|搬去|搬来|搬回|移居|移民到|迁到|搬家到)了?{_CN}(?:去了|来了|住了?|生活了?|定居了?)?"),
    _zh("residence", "place", rf"@{_OF}家(?:就)?在{_CN}"),
    _en("residence", "place", rf"@ {_NOW}{_NOT}?{_NOW}(?:(?:am |is )?(?:living|residing)|lives?|reside[sd]?|(?:am|is) based) (?:{_NOW})?in {_ENG}"),
    _en("residence", "place", rf"@ {_NOW}(?:lived|been living) in {_ENG} (?:ever )?since"),
    _en("residence", "place", rf"@ {_NOW}(?:moved|relocated) (?:back )?(?:over )?to {_ENG}"),
    _zh("residence", "place", rf"@{_ADV}(?:回|去|到|在){_CN}定居"),
    _zh("residence", "town", rf"@{_ADV}搬(?:家|走)?了[,，]\s*(?:我)?(?:现在|目前|如今|已经)*(?:住在?|在|到了?|去了?)了?{_CN}(?:上班|工作|生活|住|待着)?"),
    _en("residence", "place", rf"@ {_NOW}(?:am|is) {_NOW}(?:back )?in {_ENG}(?: now)?,? {_NOW}(?:moved|relocated|settled)(?: down| back)? here(?: for good| permanently)?"),
    _en("residence", "place", rf"@ {_NOW}(?:am|is) {_NOW}back in {_ENG} for good"),
    _en("residence", "place", rf"@ {_NOW}settled(?: down)? in {_ENG}"),
    _en("residence", "place", rf"@ {_NOW}moved,? {_NOW}(?:(?:am|is) )?{_NOW}(?:living |based )?in {_ENG}"),
    _zh("residence", "town", rf"@{_ADV}(?:不在|离开了?)(?P<w>{_PLACE})了?[,，]\s*(?:现在)?(?:去了|到了|搬到了?|搬去了?|回了|回到了?){_CN}"),
    _zh("residence", "place", rf"@{_ADV}(?:不再?|没(?:有)?再?)(?:继续)?[住待呆]在?(?P<v>[^\s,，。!！?？]{{2,16}}?)了", -1),
    _zh("residence", "place", rf"@{_ADV}不再住在?{_CN}", -1),
    _zh("residence", "town", rf"@{_ADV}(?:搬离|搬出|离开)了?{_CN}", -1),
    _zh("residence", "town", rf"@{_ADV}(?:不在|没在)(?P<v>{_PLACE})(?:生活|住|待|呆|干|混)?了", -1),
    _en("workplace", "firm", rf"@ {_NOW}(?:left|quit) (?P<v>{_FIRMS_EN})", -1),
    _en("workplace", "firm", rf"@ {_NOW}left (?P<w>{_WORDS}) (?:for|to join) (?P<v>{_FIRMS_EN})"),
    _en("workplace", "firm", rf"@ {_NOW}left (?P<w>{_WORDS}) to (?:join|work (?:at|for)) {_ENG}"),
    _en("residence", "town", rf"@ {_NOW}moved from (?P<w>{_WORDS}) to {_ENG}"),
    _en("residence", "town", rf"@ {_NOW}(?:left|moved (?:out of|away from)) {_NO_FIRM_EN}{_ENG}(?: for good| forever)?", -1),
    _zh("hometown", "place", rf"@{_OF}(?:老家|家乡|故乡)(?:就)?(?:在|是){_CN}"),
    _zh("hometown", "place", rf"@{_ADV}(?:来自|出生在|出生于|生在){_CN}"),
    _zh("hometown", "place", r"@(?:是|就是|也是)(?:土生土长的)?(?P<v>北京|上海|天津|重庆|广东|广州|深圳|四川|成都|浙江|杭州|江苏|南京|苏州|湖南|长沙|湖北|武汉|河南|郑州|河北|山东|青岛|济南|山西|陕西|西安|福建|厦门|福州|安徽|合肥|江西|南昌|辽宁|大连|沈阳|吉林|长春|黑龙江|哈尔滨|东北|云南|昆明|贵州|贵阳|广西|南宁|海南|甘肃|兰州|青海|宁夏|新疆|西藏|内蒙古|香港|澳门|台湾|台北|宁波|无锡|温州)(?:本地)?人"),
    _en("hometown", "place", rf"@ (?:am|is) (?:originally |actually )?from {_ENG}"),
    _en("hometown", "place", rf"@(?:'s hometown is| comes? from| (?:grew up|was born(?: and raised)?) in) {_ENG}"),
    # work and school
    _zh("workplace", "firm", rf"@{_ADV}{_NO}?{_ADV}(?:在|就职于|任职于|供职于|受雇于){_CN}(?:上班|工作|任职|就职|打工|实习)"),
    _zh("workplace", "firm", rf"@{_ADV}(?:就职于|任职于|供职于|入职|跳槽到|跳槽去)了?{_CN}"),
    _zh("workplace", "house", rf"@{_ADV}(?:工作|单位)?(?:换到|转到|跳到)了?{_CN}(?:上班|工作|任职)"),
    _zh("workplace", "house", rf"@{_ADV}(?:把)?(?:工作|单位)(?:换到|换成|转到)了?{_CN}"),
    _zh("workplace", "house", rf"@{_ADV}(?:换了?(?:[个份家]|新)*(?:工作|公司)了?|跳槽了)[,，]\s*我?(?:现在|目前|如今)*(?:在|去了?|到了?|入职了?)了?{_CN}(?:上班|工作|任职|搬砖|干活)?"),
    _zh("workplace", "firm", rf"@{_ADV}从{_CN}(?:离职|辞职|跳槽)", -1),
    _zh("workplace", "house", rf"@{_ADV}(?:不在|离开了?|从)(?P<w>{_PLACE})(?:{_GONE_ZH}|离职了?|辞职了?)?[,，]\s*{_NEXT_ZH}{_CN}(?:上班|工作)?"),
    _zh("workplace", "firm", rf"@{_ADV}不在(?P<v>{_PLACE})(?:干|做|任职)了", -1),
    _zh("workplace", "house", r"@(?:现在|其实|早就|早|已经|都){1,3}不在(?P<v>[^\s,，。!！?？]{2,12}?)(?:待|呆)?了", -1),
    _zh("workplace", "house", rf"@{_ADV}(?:离开了?|辞掉了?|退出了?){_CN}(?:的工作)?了", -1),
    _zh("workplace", "thing", rf"@{_ADV}(?:(?:离职|辞职|裸辞|失业|退休)了|被(?:裁员?|辞退|开除|炒鱿鱼)了|没(?:有)?工作了)", -1, "原单位", norm=ANY),
    _en("workplace", "thing", rf"@ {_NOW}(?:(?:quit|left|lost) (?:my|his|her|their|the|@'s) (?:old )?(?:job|company|position)|resigned|retired|(?:am|is|was|got) (?:been )?(?:fired|laid off)|(?:am|is|became) (?:unemployed|jobless|out of work)|no longer works?|(?:am|is) no longer working)", -1, "the former one", norm=ANY),
    _en("workplace", "firm", rf"@ {_NOW}(?:quit|resigned from|(?:got |was |am |is )?(?:fired|laid off) (?:from|by|at)) (?:working (?:at|for) )?{_NO_FIRM_EN}{_ENG}", -1),
    _en("workplace", "firm", rf"@ {_NOW}{_NOT}?{_NOW}(?:works?|(?:am |is )?working) (?:{_NOW})?(?:at|for) {_ENG}"),
    _en("workplace", "firm", rf"@ {_NOW}(?:changed|switched) (?:jobs|companies),? {_NOW}(?:(?:am|is|i'm) )?{_NOW}(?:working )?(?:at|with|for) {_ENG}"),
    _en("workplace", "firm", rf"@ {_NOW}(?:joined|started (?:working |a job )?at|got a job at) {_ENG}"),
    _en("workplace", "firm", rf"@ {_NOW}(?:worked|been working) (?:at|for) {_ENG} (?:ever )?since"),
    _en("workplace", "firm", rf"@ {_NOW}(?:quit|left) (?:my job at|his job at|her job at) {_ENG}", -1),
    _zh("occupation", "job", rf"@{_ADV}(?:是|当|成为)了?{_A}?(?P<v>[^\s,，。的]{{0,8}}?(?:{_JOB_ZH}))"),
    _zh("occupation", "job", rf"@{_ADV}{_AT}(?:做|当|担任|任)了?{_A}?(?P<v>[^\s,，。的]{{0,8}}?(?:{_JOB_ZH}))"),
    _zh("workplace", "house", rf"@{_ADV}{_NO_STAGE}在{_CN}(?:做|当|担任|任)了?{_A}?[^\s,，。的]{{0,8}}?(?:{_JOB_ZH})"),
    _zh("occupation", "job", rf"@{_ADV}(?:做|从事){_SHORT}(?:工作|行业|这一?行)"),
    _zh("occupation", "job", rf"@{_OF}(?:职业|工作|本职)是{_A}?{_SHORT}"),
    _en("occupation", "job", rf"@ {_NOW}(?:am|is) {_NOW}(?:an?|the) (?P<v>(?:[a-z-]+ ){{0,3}}?(?:{_JOB_EN}))(?: (?:at|for|in) .{{1,40}})?"),
    _en("workplace", "firm", rf"@ {_NOW}(?:am|is) {_NOW}(?:an?|the) (?:[a-z-]+ ){{0,3}}?(?:{_JOB_EN}) (?:at|for) {_ENG}"),
    _en("occupation", "job", rf"@ {_NOW}(?:(?:am |is )?working|works?|started) as (?:an?|the) {_ENG}"),
    _en("occupation", "job", rf"@'s (?:job|occupation|profession) is (?:an? )?{_ENG}"),
    _zh("school", "school", rf"@{_ADV}(?:在|就读于|毕业于|考上|考进|读的是?|是)了?{_SCHOOL_ZH}(?:读书|上学|念书|读研|读博|读本科|读大[一二三四]|毕业|学生|的学生)?"),
    _zh("school", "school", rf"@{_ADV}在{_SCHOOL_ZH}(?:读|念|学|上)\S{{0,6}}"),
    _en("school", "school", rf"@ {_NOW}(?:(?:am |is )?studying|stud(?:y|ies|ied)|graduated|go(?:es)?|went) (?:[a-z ]{{1,25}} )?(?:at|from|to) (?P<v>(?:the )?[^,.;!?]{{0,40}}?(?:university|college|school|institute|mit|eth|ucla|nyu|harvard|stanford|oxford|cambridge|yale|princeton)(?: of [a-z ]{{2,30}}?)?)"),
    # birth, age, names
    _zh("birthday", "date", rf"@{_OF}生日(?:就)?(?:是|在)?(?:每年的?)?{_DATE_ZH}"),
    _zh("birthday", "date", rf"@(?:是|出生于|出生在|生于){_DATE_ZH}(?:出生|生)?"),
    _en("birthday", "date", rf"@(?:'s birthday is| was born) (?:on )?{_DATE_EN}"),
    _zh("age", "age", rf"@{_ADV}(?:满|刚满|都)?(?P<v>[0-9]{{1,3}}|[一二三四五六七八九]?十?[一二三四五六七八九十])(?:周)?岁"),
    _zh("age", "age", r"@(?:今年|现在|都|已经|刚|刚刚|也)*(?:满|刚满)?(?P<v>[1-9][0-9]|[二三四五六七八九]十[一二三四五六七八九]?|十[一二三四五六七八九])了"),
    _zh("age", "age", rf"@{_ADV}过(?:完)?了?(?P<v>[0-9]{{1,3}}|[一二三四五六七八九]?十?[一二三四五六七八九十])岁生日"),
    _en("age", "age", rf"@ {_NOW}(?:{_BE}|turned) {_NOW}(?P<v>[0-9]{{1,3}})(?: years? old)"),
    _en("age", "age", rf"@ {_NOW}turned (?P<v>[0-9]{{1,3}})"),
    _en("age", "age", r"@ am (?:already |now )?(?P<v>[1-9][0-9])"),
    _zh("name", "name", rf"@{_OF}(?:名字|大名|全名|真名|姓名|本名)(?:叫|是|为){_SHORT}"),
    _zh("name", "name", rf"@叫(?:做)?{_SHORT}"),
    _en("name", "name", rf"@'s (?:full |real )?name is {_ENG}"),
    _zh("nickname", "name", rf"@{_OF}(?:外号|昵称|小名|绰号|网名|英文名)(?:叫|是|为){_SHORT}"),
    _zh("nickname", "name", rf"(?:大家|你们?|以后|都|就|可以|请|也){{1,4}}叫@{_SHORT}(?:就好|就行|吧|就可以|好了)?"),
    _zh("nickname", "name", rf"叫@{_SHORT}(?:就好|就行|就可以|好了)"),
    _en("nickname", "name", rf"(?:you (?:can|may) |please |just |everyone |people |friends |my friends |they )*calls? @ {_ENG}(?: for short)?"),
    _en("nickname", "name", rf"@(?:'s nickname is| (?:goes|go) by) {_ENG}"),
    # people and animals
    _zh("spouse", "name", rf"@{_OF}(?:老婆|妻子|太太|媳妇|爱人|老公|丈夫)(?:的?名字)?{_CALLED}{_SHORT}"),
    _en("spouse", "name", rf"@'s (?:wife|husband|spouse)(?:'s name is| is (?:called|named)) {_ENG}"),
    _zh("spouse", "name", rf"@{_ADV}[和跟与]{_NO_MATE_ZH}{_SHORT}(?:领证|结婚)了?"),
    _en("spouse", "name", rf"@ {_NOW}(?:(?:am|is|got) {_NOW}married to|married) {_ENG}"),
    _zh("partner", "name", rf"@{_OF}(?:女朋?友|男朋?友|对象|未婚[夫妻])(?:的?名字)?{_CALLED}{_SHORT}"),
    _zh("partner", "name", rf"@{_ADV}[和跟与]{_NO_MATE_ZH}{_SHORT}(?:正?在)?(?:在一起了|谈恋爱|订婚了?|交往)"),
    _en("partner", "name", rf"@'s (?:girlfriend|boyfriend|partner|fianc[eé]e?)(?:'s name is| is (?:called|named)) {_ENG}"),
    _en("partner", "name", rf"@ {_NOW}(?:am|is|got) {_NOW}(?:engaged to|dating|going out with|in a relationship with) {_ENG}"),
    *(_zh(bond, "thing", rf"@{_ADV}(?:[和跟与]{_MATE_ZH})?(?:分手|离婚|离|分|掰)了", -1, "前任", norm=ANY) for bond in ("partner", "spouse")),
    *(_zh(bond, "name", rf"@{_ADV}[和跟与](?!{_MATE_ZH}){_NO_MATE_ZH}{_SHORT}(?:分手|离婚|离|分|掰)了", -1) for bond in ("partner", "spouse")),
    *(_en(bond, "thing", rf"@ {_NOW}(?:(?:broke|broken|split) up(?: with {_MATE_EN})?|(?:am |is |got )?{_NOW}(?:divorced|separated)(?: from {_MATE_EN})?)", -1, "the former one", norm=ANY) for bond in ("partner", "spouse")),
    *(_en(bond, "name", rf"@ {_NOW}(?:(?:broke|broken|split) up with|divorced|(?:am|is|got) (?:divorced|separated) from) {_ENG}", -1) for bond in ("partner", "spouse")),
    _zh("child", "name", rf"@{_OF}(?:儿子|女儿|孩子|宝宝|闺女)(?:的?名字)?{_CALLED}{_SHORT}"),
    _zh("child", "name", rf"@{_OF}(?:儿子|女儿|孩子|宝宝|闺女)(?:今年|都|已经|快|刚)*[0-9一二两三四五六七八九十]{{1,3}}(?:个月|岁半?)了?[,，]\s*{_CALLED}{_SHORT}"),
    _en("child", "name", rf"@'s (?:son|daughter|child|baby|kid)(?:'s name is| is (?:called|named)) {_ENG}"),
    _zh("pet", "name", rf"@{_ADV}(?:家里?)?新?(?:养|领养|收养|有)了?(?:[一两]?(?:只|条|个|匹))?(?P<t>{_PET_ZH})[,，\s]*(?:名字|它)?(?:{_CALLED}|是){_SHORT}"),
    _zh("pet", "thing", rf"@{_ADV}(?:家里?)?新?(?:养|领养|收养)了?(?:[一两三]?(?:只|条|个|匹))?(?P<v>{_PET_ZH})"),
    _zh("pet", "name", rf"@{_OF}(?:家的?)?(?P<t>{_PET_ZH})(?:的?名字)?{_CALLED}{_SHORT}"),
    _en("pet", "name", rf"@ {_NOW}{_KEEPS} an? (?P<t>{_PET_EN}),? (?:named|called|whose name is) {_ENG}"),
    _en("pet", "thing", rf"@ {_NOW}{_KEEPS} (?:an?|two|three) (?P<v>{_PET_EN}s?)"),
    _en("pet", "name", rf"@'s (?P<t>{_PET_EN})(?:'s name is| is (?:called|named)) {_ENG}"),
    # body and table
    _zh("allergy", "food", rf"@{_ADV}对{_CN}(?:{_NO}|严重|重度|有点|有些|会|有|很|都|也|是){{0,3}}过敏"),
    _zh("allergy", "food", rf"@{_ADV}(?:不|没有?|并不|并没有?|不再|再也不)(?:会|是)?对{_CN}过敏", -1),
    _zh("allergy", "food", rf"@{_ADV}(?:不是?|并不是?|没有?)对(?P<w>{_DISH})过敏[,，]?\s*(?:而是|是)对?{_CN}(?:过敏)?"),
    _zh("allergy", "food", rf"@{_ADV}对(?P<w>{_DISH})不过敏[,，]?\s*(?:但是?|而是|是)?对{_CN}过敏"),
    _zh("allergy", "food", rf"@{_ADV}{_SHORT}过敏"),
    _en("allergy", "food", rf"@ {_NOW}(?:am|is) not {_NOW}allergic to (?P<w>{_WORDS}),? but (?:(?:i )?(?:am|is) )?(?:allergic )?(?:to )?{_ENG}"),
    _en("allergy", "food", rf"@ {_NOW}(?:am|is) {_NOW}allergic to (?P<v>{_WORDS}),? (?:but )?not (?:to )?(?P<w>{_WORDS})"),
    _en("allergy", "food", rf"@ {_NOW}(?:am|is|become|became) (?P<no>not |n't |no longer )?{_NOW}(?:severely |very |badly |deathly |mildly |slightly |super )?allergic to {_ENG}"),
    _en("allergy", "food", rf"@ {_NOW}(?:have|has|got) an? (?:severe |bad |mild |serious )?(?P<v>[a-z ]{{2,25}}?) allergy"),
    _zh("diet", "thing", rf"@{_ADV}(?:吃素|是(?:个)?(?:严格的)?素食(?:主义)?者?|吃全素)", fixed="素食"),
    _zh("diet", "thing", rf"@{_NO}(?:吃素|是素食(?:主义)?者?)", -1, "素食"),
    _en("diet", "thing", rf"@ {_NOW}(?:am|is|became|become|went|go) (?P<no>not |n't |no longer )?{_NOW}(?:a |an )?(?:strict )?(?P<v>vegetarian|vegan|pescatarian)(?: any ?more)?"),
    _zh("diet", "thing", rf"@{_ADV}(?:又|重新|开始|恢复|能|可以|改){{1,3}}吃(?:起|回)?{_MEAT_ZH}", -1, "素食", norm=ANY),
    _zh("diet", "thing", rf"@{_ADV}开荤", -1, "素食", norm=ANY),
    _en("diet", "thing", rf"@ {_NOW}(?:eats?|(?:started|began|(?:am|is|went|been) back to)? ?(?:eating|to eat)|can eat|(?:am|is) eating) {_MEAT_EN}(?: again| now)?", -1, "vegetarian", norm=ANY),
    _zh("avoids", "food", rf"@{_ADV}(?:不能|从不|不|从来不|不可以|再也不|不再|不会)(?:吃|喝){_CN}"),
    _zh("avoids", "food", rf"@(?:现在|最近|目前|如今|已经|又|终于|居然|竟然|重新|开始)*(?:开始吃|能吃|可以吃|又吃|吃得了|也吃|喝得了|开始喝|能喝)(?!全?素){_CN}", -1),
    _en("avoids", "food", rf"@ {_NOW}(?:do not|does not|don't|doesn't|never|cannot|can't|no longer) (?:eats?|drinks?) {_ENG}"),
    _en("avoids", "food", rf"@ {_NOW}(?:started (?:eating|drinking)|can (?:eat|drink)) {_ENG}(?: again)?", -1),
    _en("avoids", "food", rf"@ {_NOW}(?:eats?|drinks?) {_ENG} again", -1),
    # taste
    _zh("favourite", "likes", rf"@{_ADV}最?(?:最喜欢|喜欢|最爱|爱)的(?P<t>[^\s,，。]{{1,8}}?)(?:是|就是|叫)(?:《)?(?P<v>[^\s,，。》]{{1,20}}?)》?"),
    _en("favourite", "likes", rf"@'s (?:all-time |absolute )?favou?rite (?P<t>[a-z ]{{2,30}}?) (?:is|are|would be) {_ENG}"),
    _zh("like", "likes", rf"@{_ADV}(?:喜欢|爱|热爱|爱上|迷上|喜欢上|爱好|热衷于)了?{_CN}"),
    _zh("like", "likes", rf"@{_OF}(?:爱好|兴趣爱好|兴趣)(?:是|包括){_CN}"),
    _zh("like", "likes", rf"@{_ADV}(?:不再|不|不太|不怎么|从不|一点也不|没那么|已经不|再也不|从来不)(?:喜欢|爱){_CN}", -1),
    _zh("like", "likes", rf"@{_ADV}(?:讨厌|受不了|厌恶|最怕|很怕|害怕){_CN}", -1),
    _en("like", "likes", rf"@ {_NOW}(?:likes?|loves?|enjoys?|adores?|(?:am|is) (?:really |so |very )?(?:into|fond of|passionate about|a (?:big |huge )?fan of)) {_ENG}"),
    _en("like", "likes", rf"@ {_NOW}{_NOT}{_NOW}(?:like|likes|love|loves|enjoy|enjoys) {_ENG}"),
    _en("like", "likes", rf"@ {_NOW}(?:hates?|dislikes?|detests?|can ?not stand|can't stand) {_ENG}", -1),
    _en("like", "likes", rf"@'s (?:hobby|hobbies) (?:is|are) {_ENG}"),
    # languages and addresses
    _zh("language", "likes", rf"@{_ADV}(?:会说|会讲|在学|正在学|能说|精通)(?:一点|一些|流利的)?{_TONGUE}"),
    _zh("language", "likes", rf"@{_OF}母语是{_TONGUE}"),
    _en("language", "likes", rf"@ {_NOW}(?:speaks?|(?:am |is )?learning)(?: fluent| some| a little| a bit of)? (?P<v>{_TONGUE_EN}(?:(?:、|,? and | & ){_TONGUE_EN})*)(?: fluently)?"),
    _zh("phone", "number", rf"@{_OF}(?:手机号?码?|电话号?码?|联系电话)(?:是|为|:|：)?\s*(?P<v>\+?[0-9][0-9 -]{{5,18}}[0-9])"),
    _en("phone", "number", r"@'s (?:phone|cell|mobile|cellphone)(?: number)? is (?P<v>\+?[0-9(][0-9 ()-]{5,20}[0-9])"),
    _zh("email", "mail", rf"@{_OF}(?:邮箱|电子邮箱|邮件地址|email)(?:地址)?(?:是|为|:|：)?\s*(?P<v>[\w.+-]+\x40[\w-]+\.[\w.-]+\w)"),
    _en("email", "mail", r"@'s e-?mail(?: address)? is (?P<v>[\w.+-]+\x40[\w-]+\.[\w.-]+\w)"),
    # what is to come
    _zh("plan", "deed", rf"@{_ADV}(?:打算|计划|准备|决定)(?:要|去)?(?P<v>[^\s,，。]{{2,40}}?)"),
    _zh("plan", "deed", rf"@{_ADV}(?:要|会|得|将)(?P<v>(?:去|来|回|参加|考|搬|飞|到|结婚|开会|出差|面试|毕业)[^\s,，。]{{0,40}}?)", dated=True),
    _en("plan", "deed", rf"@ {_NOW}(?:will|(?:am|is)) (?P<v>(?:mov(?:e|ing)|go(?:ing)?|fly(?:ing)?|visit(?:ing)?|start(?:ing)?|tak(?:e|ing)|travel(?:l?ing)?|get(?:ting)? married)\b[^.;!?]{{0,60}}?)", dated=True),
    _en("plan", "deed", rf"@ {_NOW}(?:am|is) {_NOW}(?:going|planning) to (?P<v>[^.;!?]{{4,80}}?)"),
    _en("plan", "deed", rf"@ {_NOW}(?:plans?|intends?|decided) to (?P<v>[^.;!?]{{4,80}}?)"),
)  # fmt: skip
"""The first pattern that matches a whole clause, and whose value looks as it has to, reads it."""
