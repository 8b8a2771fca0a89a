"""Statements of oneself that name nobody, as people make them in a chat: `Moved to Berlin last week`, 搬到北京了."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...language.chat_markup import GAP
from ...language.chinese_words import is_firm, is_person, tagged_words
from ...language.clauses import KIN_EN, KIN_ZH
from ...language.normalise import simplified
from ...lazy_regex import lazy_regex

__all__ = [
    "ATTRIBUTES",
    "asks_of_deed",
    "ended_pet",
    "hints_at_end_of_pet",
    "hints_at_news",
    "is_alone",
    "is_fit",
    "is_own",
    "mentions_somebody",
    "opens_well",
]

ATTRIBUTES = frozenset(
    {"residence", "workplace", "occupation", "school", "pet", "diet", "avoids", "partner", "spouse", "child"}
)
"""What such a statement may tell."""
LONGEST = 120
"""A longer line is no such news."""

_FREE = r"(?:刚刚?|已经|终于|最近|正式|又|也|都|早就|真的|居然|竟然|现在|目前|如今)*"
_CHANGE_ZH = lazy_regex(
    rf"{_FREE}(?:搬到|搬去|搬来|搬回|搬家到|移居|定居|回[^\s,，]{{2,6}}定居|搬(?:家|走)?了[,，]|入职|跳槽|换了?(?:[个份]|新)*(?:工作|公司)了?[,，]|离职|辞职|裸辞|被裁|被辞|失业|退休"
    r"|从[^\s,，]{2,8}(?:离职|辞职|跳槽)|离开|新?(?:养|领养|收养)了|[和跟与][^\s,，]{1,6}(?:分手|离婚|领证|结婚|在一起|订婚)|分手|离婚|开始吃素|吃素|(?:能|可以|开始|重新|改)吃|能喝"
    r"|开荤|再也不[吃喝]|不再[吃喝]|不在[^\s,，]{2,8}了)"
)
_STATE_ZH = lazy_regex(
    rf"{_FREE}(?:住在?|定居在?|在[^\s,，]{{2,16}}(?:上班|工作|任职|就职|实习|读|念|上学|当|做)|就职于|任职于|不[吃喝]|吃素)"
)
_NOW_ZH = lazy_regex(r"现在|目前|如今|最近")
_DONE_ZH = lazy_regex("了")
_SPOUSE_ZH = lazy_regex(r"(?:老婆|妻子|太太|媳妇|爱人|老公|丈夫)(?:名字)?(?:叫|名叫)")
_MARRIED_ZH = lazy_regex(
    r"(?:^|[，,。！!\s]|我)(?:我)?(?:今天|昨天|上周|上个月|去年|终于|要|刚刚?|已经)*(?:结婚|领证|订婚)[了啦]"
)
_SOON = lazy_regex(r"^(?:快|马上|即将|要|准备|打算|想|希望|别|不要|快要|将|会)")
_JUST = r"(?:(?:just|finally|recently|officially|already|have|has|so) )*"
_CHANGE_EN = lazy_regex(
    rf"{_JUST}(?:(?:moved|relocated) (?:back )?(?:over )?to\b|moved, |settled (?:down )?in\b|started (?:working |a (?:new )?job )?at\b|got a (?:new )?job at\b|(?:changed|switched) (?:jobs|companies)\b"
    r"|(?:quit|left|lost) my (?:old )?job\b|got (?:fired|laid off)\b|adopted an?\b|got an? (?:new )?(?:[a-z]+ )?(?:cat|dog|kitten|puppy|corgi|rabbit|hamster)\b|broke up\b|got (?:divorced|engaged to|married to)\b"
    r"|went (?:vegan|vegetarian)\b|became (?:a )?veg|can eat\b|no longer (?:eat|drink|work|live))",
    re.I,
)
_STATE_EN = lazy_regex(
    rf"{_JUST}(?:(?:living|based) in\b|working (?:at|for)\b|live in\b|work (?:at|for)\b|studying (?:[a-z]+ )?at\b)",
    re.I,
)
_NOW_EN = lazy_regex(r"\b(?:now|currently|these days|at the moment|nowadays)\b", re.I)
_NO_TOWN_EN_WORDS = (
    "windows linux mac macos ubuntu arch debian fedora discord slack notion teams telegram signal whatsapp wechat github gitlab jira trello rust python typescript"
    " java kotlin go golang android ios iphone chrome firefox safari brave obsidian vim neovim emacs vscode cursor postgres postgresql mysql sqlite aws azure gcp docker"
    " kubernetes figma zoom spotify netflix steam done trash drafts archive spam inbox backlog production staging plan level tier phase round stage diamond gold platinum"
    " january february march april may june july august september october november december monday tuesday wednesday thursday friday saturday sunday"
    " chapter part season page bluesky mastodon twitter reddit instagram facebook matrix threads react vue svelte next nextjs bun deno node zig claude chatgpt"
)
_NO_TOWN_EN = frozenset(_NO_TOWN_EN_WORDS.split())
"""What people move to without living there."""

_NO_PLACE = frozenset("vudrpcym")
"""Kinds of words that stand in no name of a place."""
_NO_FIRM = frozenset("avmtrdpcuyx")
"""Kinds of words with which no name of a firm begins."""
_INDOORS = lazy_regex(r"[a-z0-9]|[家楼层室群页厅版床桌]$|公司|学校|单位|会议|频道|电影|游戏", re.I)
_TOWNS_EN_WORDS = (
    "berlin,munich,hamburg,frankfurt,cologne,stuttgart,leipzig,dresden,vienna,graz,zurich,geneva,basel,bern,paris,lyon,marseille,nice,toulouse,bordeaux,lille,london,manchester,birmingham,leeds"
    ",bristol,liverpool,edinburgh,glasgow,cardiff,belfast,dublin,cork,galway,oxford,cambridge,brighton,amsterdam,rotterdam,utrecht,eindhoven,brussels,antwerp,ghent,luxembourg,copenhagen,aarhus,oslo"
    ",bergen,trondheim,stockholm,gothenburg,malmo,helsinki,tampere,reykjavik,lisbon,porto,madrid,barcelona,valencia,seville,malaga,bilbao,rome,milan,turin,naples,florence,bologna,venice,athens"
    ",thessaloniki,istanbul,ankara,izmir,warsaw,krakow,wroclaw,gdansk,prague,brno,budapest,bratislava,ljubljana,zagreb,belgrade,sarajevo,sofia,bucharest,cluj,kyiv,lviv,odesa,minsk,moscow,petersburg"
    ",vilnius,riga,tallinn,tbilisi,yerevan,baku,cairo,casablanca,tunis,nairobi,lagos,accra,johannesburg,dubai,doha,riyadh,jeddah,tehran,beirut,amman,jerusalem,haifa,mumbai,delhi,bangalore,bengaluru"
    ",chennai,hyderabad,pune,kolkata,karachi,lahore,islamabad,dhaka,kathmandu,colombo,bangkok,phuket,hanoi,saigon,jakarta,bali,bandung,singapore,kuala lumpur,penang,manila,cebu,tokyo,osaka,kyoto"
    ",nagoya,fukuoka,sapporo,yokohama,kobe,seoul,busan,incheon,beijing,shanghai,shenzhen,guangzhou,hangzhou,chengdu,nanjing,suzhou,wuhan,xian,chongqing,tianjin,hong kong,macau,taipei,kaohsiung"
    ",sydney,melbourne,brisbane,perth,adelaide,canberra,hobart,auckland,wellington,christchurch,new york,nyc,brooklyn,queens,boston,philadelphia,washington,baltimore,atlanta,miami,orlando,tampa"
    ",chicago,detroit,cleveland,columbus,cincinnati,pittsburgh,minneapolis,milwaukee,st louis,kansas city,nashville,memphis,austin,dallas,houston,san antonio,denver,boulder,phoenix,tucson,las vegas"
    ",salt lake city,seattle,portland,san francisco,oakland,san jose,los angeles,san diego,sacramento,honolulu,raleigh,charlotte,richmond,toronto,montreal,vancouver,calgary,ottawa,edmonton,quebec"
    ",winnipeg,halifax,mexico city,guadalajara,havana,bogota,medellin,lima,quito,santiago,valparaiso,buenos aires,montevideo,rio,sao paulo,brasilia,germany,austria,switzerland,france,england,scotland"
    ",wales,ireland,netherlands,belgium,denmark,norway,sweden,finland,iceland,portugal,spain,italy,greece,turkey,poland,czechia,hungary,slovakia,slovenia,croatia,serbia,bulgaria,romania,ukraine"
    ",russia,lithuania,latvia,estonia,georgia,armenia,egypt,morocco,kenya,nigeria,ghana,israel,lebanon,india,pakistan,bangladesh,nepal,thailand,vietnam,indonesia,malaysia,philippines,japan,korea,china"
    ",taiwan,australia,zealand,canada,mexico,cuba,colombia,peru,chile,argentina,uruguay,brazil,usa,america,europe,asia,africa,california,texas,florida,oregon,colorado,arizona,nevada,utah,ohio,michigan"
    ",illinois,massachusetts,virginia,carolina,hawaii,alaska,bavaria,tuscany,catalonia,ontario,queensland"
)
_TOWNS_EN = frozenset(_TOWNS_EN_WORDS.split(","))
"""Where people move to: what else somebody moves to may be a service, a room or a day."""
_OTHER = lazy_regex(
    r"[你您他她它]|\bTA\b|大家(?!好)|有人|人家|别人|对方|群友|谁|我们|我俩|咱|俺们|[这那](?:人|个人|位|家伙)|某[个人位]|[这那](?:个|部|对|集|本|电|剧|男|女)|主角|[男女]主|电视剧|电影|小说|综艺|明星|(?<!\w)@|的(?:人|朋友|时候)"
    rf"|(?:{KIN_ZH})|\b(?:you|your|he|him|his|she|her|they|them|their|we|us|our|someone|somebody|everyone|people|who|whoever|this (?:guy|girl|person))\b|\b(?:{KIN_EN})\b",
    re.I,
)
_THIRD = lazy_regex(
    rf"[他她](?!们)|[他她]们|\bTA\b|有人|别人|对方|(?:{KIN_ZH})|\b(?:he|him|his|she|her|they|them|their|someone|somebody)\b|\b(?:{KIN_EN})\b",
    re.I,
)
_NICK = lazy_regex(
    r"(?:^|[\s,，。！!？?；;:：])(?:(?:听|据)?说)?[小老阿](?![时区板家师是实总子朋心说酒吃])[\u4e00-\u9fff]"
)
_QUOTES = lazy_regex(r"[\"“”「」『』《》]|[:：]|(?m:^\s*[>＞])")
_OPENS_ZH = lazy_regex(
    r"(?:(?:其实|对了|哦+|噢|嗯+|啊|哎呀?|唉|哈+|那个|顺便|因为|所以|不过|但是?|而且|另外|还有|然后|后来|现在|目前|最近|如今|今天|昨天|前天|今年|去年|上周末?|上个?月|上个?星期|这周|这个月|前几天|刚刚?|已经|终于)[，,\s]*)*"
    r"(?:$|我(?!们|俩|国|校|司|方|家|爸|妈|哥|姐|弟|妹|朋|同|室|对|老|女|男|儿|孩|的)|本人|搬|换|辞职|离职|跳槽|裸辞|毕业|结婚|订婚|领证|分手|离婚|脱单|报告|报喜|好消息|坏消息|近况|更新|大家好|累|开心|难过|呜|耶|太|真的?|好|不容易|下班|回来)"
)
_OPENS_EN_WORDS = (
    "i i'm i've my big good great bad some small quick update news finally so well oh yes no yeah and but hey hi hello guess just moved got new loving love excited happy feels still the"
    " it it's this that now last job life thanks thank wow omg lol sorry ok okay also anyway currently recently living working started quit changed switched adopted went became broke"
)
_OPENS_EN = frozenset(_OPENS_EN_WORDS.split())
_CAPITAL = lazy_regex(r"(?<![\w'])[A-Z][\w']*")
_SENTENCE_START = lazy_regex(r"(?:^|[.!?\n]\s*)$")
_DATES = lazy_regex(
    r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|January|February|March|April|May|June|July|August|September|October|November|December|Christmas|Easter"
)
_NEW_NAME = lazy_regex(
    r"(?<![\w'])(?!I\b)[A-Z][a-z]+(?:['’]s\b|\s(?:is|has|was|lives?|works?|moved|got|just|also|left|joined|quit)\b)"
)
_TOLD_TO = lazy_regex(r"[你您]|\b(?:you|your|u)\b", re.I)
_ASKS_OF_DEED = lazy_regex(
    r"(?:最近|现在|后来|是不是|又|还|真的?|[，,\s])*(?:搬家|换了?(?:[个份]|新)*工作|跳槽|离职|辞职|毕业|失业|被裁)[^他她它]*$"
    r"|(?:(?:so|hey),? )?(?:changed jobs|new job|graduated)\b",
    re.I,
)

_PET_ZH = r"(?:猫咪?|狗狗?|狗子|兔子?|仓鼠|鹦鹉|乌龟|柯基|柴犬|金毛|泰迪|布偶|英短|哈士奇|边牧|龙猫|宠物)"
_PET_EN = r"(?:cat|kitty|kitten|dog|doggo|puppy|pup|corgi|beagle|poodle|labrador|rabbit|bunny|hamster|parrot|turtle|tortoise|goldfish|fish|horse|pony|snake|lizard|gecko|ferret|bird|pet)"
_SWEET_EN = r"(?:(?:dear|sweet|poor|little|old|beloved|lovely|good|baby|beautiful|precious|first|younger|older) )"
_NAMED_THINGS_WORDS = "pixel galaxy echo alexa kindle switch surface mac apple nova mini tesla mate note siri surge spark dell nokia sony kia jeep 小米 华为 荣耀 苹果 三星 小爱 天猫 小度 红米 锤子 特斯拉 小鹏 理想 蔚来"
_NAMED_THINGS = frozenset(_NAMED_THINGS_WORDS.split())
"""Names under which people also own things."""
_GONE_ZH = lazy_regex(
    rf"(?:[呜唉哎,，\s]*)(?:我?们?家?的?(?:{_PET_ZH})?)?(?P<v>[^\s,，。的我你他她它们家]{{1,6}}?)(?:今天|昨天|前天|昨晚|今早|刚刚?|已经|还是|终于|去年|上周|上个?月|最近|永远地?)*"
    r"(?:去世|过世|离世|病逝|死|不在|去(?:了)?[喵汪狗猫](?:星球?)|回[喵汪]星|送人|送走|(?<=昨天|前天|昨晚|今早|去年|上周|个月|永远|远地)走)了[啊呀呜…~。.!！]*"
)
_GONE = lazy_regex(r"[世逝死在星球人走]了|\b(?:died|passed|bridge|put)\b")
_GONE_EN = lazy_regex(
    rf"(?:(?i:sadly|unfortunately|so|well),? )?(?:(?i:my|our) {_SWEET_EN}{{0,2}}(?:{_PET_EN} )?)?(?P<v>[A-Z][\w'-]*) (?:has |just |sadly |unfortunately )*"
    r"(?:died|passed away|passed on|crossed the rainbow bridge|(?:was|had to be) put (?:down|to sleep))(?: peacefully| of old age| in (?:his|her|its|their) sleep)?[.! ]*"
)


def hints_at_news(clause: str) -> bool:
    """Whether it is worth a closer look."""
    said = simplified(clause)
    return any(rule.search(said) for rule in (_CHANGE_ZH, _STATE_ZH, _SPOUSE_ZH, _CHANGE_EN, _STATE_EN))


def hints_at_end_of_pet(clause: str) -> bool:
    """Whether it is worth a closer look."""
    return _GONE.search(clause) is not None


def is_alone(line: str, start: int, stop: int, names: Sequence[str]) -> bool:
    """Whether the line, apart from the clause that stands there, tells of nobody but whoever says it."""
    if len(line) > LONGEST or _QUOTES.search(line) or GAP in line or "@" in line:
        return False
    before, clause, rest = line[:start], line[start:stop], line[stop:]
    others = f"{before}\n{rest}"
    if any(name in line for name in names) or _OTHER.search(others) or _NICK.search(others):
        return bool(_SPOUSE_ZH.match(clause.strip())) and _is_married(before, names)
    if any(is_person(word, flag) for word, flag in _tagged(others)):
        return False
    return opens_well(before) and not _names_in(others)


def _is_married(before: str, names: Sequence[str]) -> bool:
    return (
        _MARRIED_ZH.search(before) is not None
        and not _NICK.search(before)
        and not any(name in before for name in names)
        and opens_well(before)
    )


def opens_well(before: str) -> bool:
    """Whether nothing before the statement may be its subject."""
    chinese = (
        part
        for part in re.split(r"[，,。！!？?；;…~\n]+|(?<=[\u4e00-\u9fff])\s+", before)
        if re.search(r"[\u4e00-\u9fff]", part)
    )
    return all(_OPENS_ZH.match(part.strip()) or ended_pet(part.strip()) for part in chinese)


def _names_in(text: str) -> bool:
    """Whether a capital letter may begin somebody's name."""
    for found in _CAPITAL.finditer(text):
        if _DATES.match(found[0]) or found[0].split("'")[0] == "I":
            continue
        if not _SENTENCE_START.search(text[: found.start()].rstrip(" ")) or found[0].lower() not in _OPENS_EN:
            return True
    return False


def _tagged(text: str) -> Sequence[tuple[str, str]]:
    return tagged_words(text) if re.search(r"[\u4e00-\u9fff]", text) else ()


def is_own(clause: str, lead: str, line: str) -> bool:
    """Whether the clause, without what leads up to it, is such a statement; a state has to be said to be of now."""
    said = simplified(clause).strip()
    if said[:1] > "\u2e80":
        if _SOON.match(said):
            return False
        if _SPOUSE_ZH.match(said):
            return _MARRIED_ZH.search(line) is not None
        changed = _CHANGE_ZH.match(said) is not None and _DONE_ZH.search(said) is not None
        return changed or (_STATE_ZH.match(said) is not None and _NOW_ZH.search(f"{lead}{said}") is not None)
    if _CHANGE_EN.match(said):
        return True
    return _STATE_EN.match(said) is not None and _NOW_EN.search(f"{lead}{said}") is not None


def is_fit(attribute: str, value: str, clause: str) -> bool:
    """Whether what such a clause tells is plain enough to be believed: where one moves to has to be known as a place."""
    if attribute not in ATTRIBUTES:
        return False
    if attribute == "avoids" and value == "鸡":
        return False
    if attribute not in ("residence", "workplace"):
        return len(value) <= (40 if value.isascii() else 14)
    if value.isascii():
        words = value.lower().split()
        living = attribute == "workplace" or _STATE_EN.search(clause) is not None
        return (
            not re.search("[0-9]", value)
            and value[0].isupper()
            and (
                words[0] not in _NO_TOWN_EN
                if living
                else not _TOWNS_EN.isdisjoint((value.lower(), words[0], words[-1]))
            )
        )
    return _is_plain_zh(attribute, value, clause)


def _is_plain_zh(attribute: str, value: str, clause: str) -> bool:
    flags = [flag for _, flag in _tagged(value)]
    if attribute == "workplace":
        return is_firm(value) or (len(value) <= 14 and flags[0][:1] not in _NO_FIRM)
    if len(value) > 8 or _INDOORS.search(value) or any(flag[:1] in _NO_PLACE for flag in flags):
        return False
    return "住" in clause or flags[0] in ("ns", "nr", "nrt", "nz", "nt")


def mentions_somebody(line: str, names: Sequence[str], *, by_other: bool) -> bool:
    """Whether a line before may have brought somebody in; a question `by_other` that asks no `you` asks of somebody."""
    if any(name in line for name in names) or _THIRD.search(line) or _NICK.search(line) or _NEW_NAME.search(line):
        return True
    if by_other and re.search(r"[?？]|[吗呢]\W*$", line) and not (_TOLD_TO.search(line) or asks_of_deed(line)):
        return True
    return any(is_person(word, flag) for word, flag in _tagged(line))


def asks_of_deed(line: str) -> bool:
    """Whether the line, if it asks something, asks whoever hears it: 换工作了吗."""
    return _ASKS_OF_DEED.match(line) is not None


def ended_pet(clause: str) -> str:
    """The name of whom the clause says to be dead or given away; empty if it says nothing of the kind."""
    found = _GONE_ZH.fullmatch(clause) or _GONE_EN.fullmatch(clause)
    if found is None:
        return ""
    mine = re.search(r"(?:我们?的|\b(?:my|our) )$", clause[: found.start("v")], re.I)
    return "" if mine and found["v"].lower() in _NAMED_THINGS else found["v"]
