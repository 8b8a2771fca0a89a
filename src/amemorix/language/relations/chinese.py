"""What Chinese sentences name and say, by their patterns and by parts of speech."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ...lazy_regex import lazy_regex
from ..clauses import NOBODY, Whose, after, clauses, whose
from ..normalise import normalise_name
from ..passages import Passage, Triple
from ..stopwords import ABSTRACT
from .chinese_phrases import (
    HAN,
    MEASURE,
    PRONOUN,
    first_phrase,
    given_name,
    is_particular,
    is_place,
    leading_name,
    mentions,
    names,
    place_name,
    place_phrase,
    tagged_words,
    thing,
    whole_phrase,
)

__all__ = ["mentions", "names", "relations"]


_SENTENCE = lazy_regex(r"[^。！!？?；;\n]+[。！!？?；;]*")
_CLAUSE = lazy_regex(r"[^，,、：:…~～\s]+(?:(?<=[A-Za-z0-9]) (?=[A-Za-z0-9])[^，,：:…~～\s]+)*")
_ASKS = lazy_regex(r"[吗么嘛]$|什么|[谁哪啥咋]|怎么|多少|几[个只条点岁天月年号]|是不是|有没有|要不要|能不能|呢$")
_NOT = lazy_regex(r"不|没|别|未|无|勿|莫|甭|非")
_UNSURE = lazy_regex(
    r"如果|要是|假如|万一|除非|想要?|希望|打算|可能|也许|好像|似乎|应该|估计|听说|据说|准备|计划|差点|以为|梦见|假装|要不|让我|说是|像是|才怪|以前|曾经|当年|小时候"
)
_LEAD = (
    r"(?:(?:现在|目前|最近|今天|昨天|前天|昨晚|今早|刚刚|刚才|其实|不过|但是|但|而且|所以|因为|对了|然后|后来|另外|还有|今年|去年|上周末|上周|这周"
    r"|上个月|这个月|周末|国庆|五一|平时|一直|原来|毕竟|反正|说起来|话说|听着|哈哈+|唉|哎|嗯|啊|那|[0-9一二三四五六七八九十]+[号月年])的?)*"
)
_ADVERB = r"(?:也|都|就|还|又|一直|已经|刚刚|刚|现在|目前|最近|终于|真的|特别|最|很|超级|超|可|正|从小|平时|每天|天天|早就|之前|今年|去年|昨天|今天)*"
_SUBJECT = r"(?P<s>我们|咱们|我|咱|俺|本人|.{0,10}?)"
_OBJECT = r"(?P<o>.+)$"


@dataclass(frozen=True, slots=True)
class _Rule:
    predicate: str
    pattern: re.Pattern[str]
    confidence: float


def _verb(predicate: str, verb: str, confidence: float) -> _Rule:
    return _Rule(predicate, lazy_regex(rf"^{_LEAD}{_SUBJECT}{_ADVERB}(?:{verb}){_OBJECT}"), confidence)


def _at(predicate: str, doing: str, confidence: float) -> _Rule:
    pattern = rf"^{_LEAD}{_SUBJECT}{_ADVERB}在(?P<o>.{{2,14}}?)(?:里|那边|这边)?{_ADVERB}(?:{doing})"
    return _Rule(predicate, lazy_regex(pattern), confidence)


_RULES = (
    _verb("住在", "住在|定居在|租在|住的是", 0.85),
    _verb("学", "在学|主修|读的是|学的是|学(?=[^了会校过得习])", 0.65),
    _verb("搬到", "搬到了?|搬去了?|搬进了?|搬回了?|从.{2,6}?搬到了?", 0.8),
    _verb("来自", "来自|老家在|老家是", 0.85),
    _verb("出生于", "出生在|出生于|生于", 0.85),
    _verb("毕业于", "毕业于", 0.85),
    _verb("就职于", "就职于|任职于|供职于", 0.85),
    _verb("喜欢", "喜欢上了|喜欢|爱吃|爱喝|爱看|爱玩|偏爱|偏好|钟爱|热爱|迷上了", 0.75),
    _verb("讨厌", "讨厌|不喜欢|不爱吃|不爱喝|不爱|痛恨|受不了|最烦|不吃|不喝", 0.75),
    _verb("负责", "负责|看管|掌管|主管|照管|保管|管理", 0.8),
    _verb("养", f"养了|养的是|养着|领养了|收养了|捡了|捡到了?|养(?={MEASURE})|有{MEASURE}(?=[^，。]{{0,6}}[猫狗犬兔鸟鱼])", 0.75),
    _verb("买", "买了|入手了", 0.6),
    _verb("去", "去了|去过|到过|去|飞|回", 0.55),
    _verb("考上", "考上了?|考进了?|保研到了?|录取到了?", 0.75),
    _verb("加入", "加入了?|入职了?", 0.7),
    _at("工作于", "工作|上班|实习|任职|打工|做事|当差|写代码|端盘子|做兼职", 0.85),
    _Rule("在", lazy_regex(rf"^{_LEAD}{_SUBJECT}{_ADVERB}人?在(?P<o>[^，。在]{{2,6}})$"), 0.55),
    _at("就读于", "上学|读书|念书|读研|读博|读大学|念大学|上大学|留学|读本科|读硕士", 0.85),
)  # fmt: skip
_DENYING = frozenset(("讨厌",))
_IS = lazy_regex(rf"^{_LEAD}{_SUBJECT}(?:就|也|现在|原来|以前)?是(?:一?[个名位只条家种座部款])?(?P<o>[^是]{{2,16}})$")
_CALLED = lazy_regex(
    r"^(?P<s>.{1,12}?)(?:的?名字)?(?:取名叫?|起名叫?|名叫|就叫|叫做|叫)(?P<o>[^，。\s]{1,10}?)[了吧啊哈呀]?$"
)
_KEPT_CALLED = lazy_regex(
    r"[养捡买领收有]了?(?:养了?)?[一两]?[只条匹个](?:[^，。\s]{1,8}的)?(?P<k>[^，。\s的]{1,6}?)(?:名?叫做?|取名叫?)(?P<o>[^，。\s]{1,8})"
)
_PUT = lazy_regex(
    rf"^{_LEAD}(?:(?:我|你|他|她)?把|将)?(?P<s>.{{1,10}}?){_ADVERB}(?:存放在|放在|藏在|收在|搁在|摆在|挂在|寄存在|停在|锁在|忘在|落在){_OBJECT}"
)
_BOTH = lazy_regex(
    rf"^{_LEAD}{_SUBJECT}{_ADVERB}[和跟与同](?P<o>.{{1,8}}?){_ADVERB}(?P<p>结婚|领证|订婚|求婚|分手|离婚|在一起|谈恋爱|分(?=了)|是(?P<r>[^，。是]{{2,6}}))了?$"
)
_ALLERGIC = lazy_regex(rf"^{_LEAD}{_SUBJECT}{_ADVERB}是?(?:对(?P<o>.{{1,8}}?)|(?P<n>[\u4e00-\u9fff]{{1,4}}))过敏$")
_ROLE = lazy_regex(r"^(?P<w>.+?)(?:的|家的|家)(?P<r>[^的]{1,6})$")
_KIN = "女儿|儿子|闺女|老婆|老公|妻子|丈夫|女朋友|男朋友|女友|男友|未婚妻|未婚夫|爸爸|妈妈|哥哥|姐姐|弟弟|妹妹|奶奶|爷爷|外婆|外公|表姐|表哥|表弟|表妹|导师|老板|室友|同事|同学|朋友|邻居"
SHORT = 4
"""Characters of the two ends of a plain statement such as `豆沙是三花`."""
_KIN_NAMED = lazy_regex(rf"^(?P<w>我|咱)们?家?的?(?P<r>{_KIN}|猫|狗|车)(?P<o>.+)$")
_KIN_IN = lazy_regex(rf"^{_LEAD}我们?家?的?(?P<r>{_KIN})(?:一家|他们|人)?{_ADVERB}在(?P<o>[^，。]{{2,8}})")
_MINE = lazy_regex(rf"^(?P<w>我)们?(?P<r>{_KIN}|猫|狗|车)$")
_KIN_HEAD = lazy_regex(rf"^(?:我|咱)们?(?:的|家的?)?(?:{_KIN}|猫|狗|车)")
_NAMING = lazy_regex(r"^(?:给[它他她])?(?:取名叫?|起名叫?|名字叫|名叫|叫)(?P<o>[^，。\s]{1,8}?)[了吧啊哈呀]?$")
_IT = "它"
_TAKES_IT = lazy_regex("我.{0,3}(?:收养|领养|养|捡)了?它")
_ASIDE = lazy_regex(r"(?P<n>[\u4e00-\u9fff]{2,3})[（(]我(?:家|那|的)*[只条个](?P<k>[\u4e00-\u9fff]{1,5})[）)]")
"""`可乐（我那只柯基）`."""
_FIRST = frozenset(("我", "我们", "咱", "咱们", "俺", "本人"))


def relations(text: str, passage: Passage) -> Iterator[Triple]:
    """What the statements say; nothing from a question, from what is wished or supposed, or from what is denied."""
    for match in _ASIDE.finditer(text):
        name, kind = given_name(match["n"]), whole_phrase(match["k"])
        if name and kind and passage.speaker:
            yield Triple(passage.speaker, "养", name, 0.7)
            yield Triple(name, "是", kind, 0.7)
    for sentence in _SENTENCE.findall(text):
        if sentence.rstrip()[-1:] in "?？":
            continue
        of, topic, keeper, kept = NOBODY, "", "", ""
        for clause, is_stated in _pieces(sentence.rstrip("。！!；; ")):
            of, topic = _topic(clause, of, topic, passage)
            keeper, of = topic or keeper, after(clause, of)
            if not is_stated:
                continue
            found = list(_stated(clause, passage, topic))
            yield from found or _named_after(clause, keeper or (passage.speaker if kept == _IT else ""), kept)
            kept = next((r.object for r in found if r.predicate == "养"), kept or _taken_in(clause))


def _pieces(sentence: str) -> Iterator[tuple[str, bool]]:
    """The short stretches of the sentence, and whether they state something."""
    for whole in clauses(sentence):
        for said in _CLAUSE.findall(whole.text):
            piece = said.rstrip("哈啊呀啦哦吧嘞哟🙏😭")
            if 3 <= len(piece) <= 40 and HAN.search(piece) and not _ASKS.search(piece):
                yield piece, whole.mood == "plain"


def _topic(clause: str, before: Whose, topic: str, passage: Passage) -> tuple[Whose, str]:
    """Whom a clause tells of, and by which name a part without a subject is kept."""
    head = re.sub(rf"^{_LEAD}", "", clause)
    norm = normalise_name(head)
    names = [name for name in passage.known if norm.startswith(name)]
    of = whose(norm if names else head, names, before)
    if of.owner in ("speaker", "us") and not of.carried:
        return of, passage.speaker
    if of.owner == "named" and not of.carried:
        return of, passage.known[of.name].name
    _, flag = next(iter(tagged_words(head)), ("", ""))
    return of, topic if of.owner not in ("they", "other") and flag[:1] not in ("n", "r") else ""


def _taken_in(clause: str) -> str:
    """Whether somebody takes in something that is only pointed at; it may get its name in the next clause."""
    return _IT if _TAKES_IT.search(clause) else ""


def _named_after(clause: str, topic: str, kept: str) -> Iterator[Triple]:
    """What was taken in one clause before is given its name in this one."""
    match = _NAMING.match(clause)
    if match and kept and (name := given_name(match["o"])):
        if kept != _IT:
            yield Triple(name, "是", kept, 0.7)
        if topic:
            yield Triple(topic, "养", name, 0.7)


def _stated(clause: str, passage: Passage, topic: str) -> Iterator[Triple]:
    for rule in _RULES:
        match = rule.pattern.match(clause)
        if match is None or match["o"][:1] in "这那" or _doubtful(clause, match, denies=rule.predicate in _DENYING):
            continue
        subject = _subject(match["s"], passage) if match["s"] else topic
        object_ = place_name(match["o"]) if rule.predicate in ("去", "在") else first_phrase(match["o"])
        if rule.predicate == "在" and not match["s"]:
            continue
        if subject and object_:
            yield Triple(subject, rule.predicate, object_, rule.confidence if match["s"] else rule.confidence - 0.15)
    if not _doubtful(clause, None):
        yield from _identities(clause, passage)
        yield from _bonds(clause, passage)


def _identities(clause: str, passage: Passage) -> Iterator[Triple]:
    """What somebody or something is, and what it is called."""
    match = _KEPT_CALLED.search(clause)
    if match:
        kind, name = first_phrase(match["k"]), given_name(match["o"])
        if kind and name:
            yield Triple(kind if kind in passage.known else name, "是", kind, 0.75)
            owner = _subject(_before(clause, match), passage)
            if owner:
                yield Triple(owner, _keeping(clause[match.start()], kind), name, 0.75)
            return
    match = _CALLED.match(clause)
    if match and (name := given_name(match["o"])):
        kind = whole_phrase(re.sub(rf"^{_LEAD}", "", match["s"]))
        if (
            kind
            and not _KIN_HEAD.match(match["s"])
            and normalise_name(kind) not in passage.known
            and not is_particular(kind)
        ):
            yield Triple(name, "是", kind, 0.7)
        else:
            yield from _owned(match["s"], "叫", name, passage)
    match = _IS.match(clause)
    if match and (object_ := whole_phrase(match["o"])) and not object_.endswith("过敏"):
        short = len(object_) <= SHORT and len(match["s"]) <= SHORT and whole_phrase(match["s"]) not in ABSTRACT
        yield from _owned(match["s"], "是", object_, passage, plain=short)


def _keeping(verb: str, kind: str) -> str:
    """Nobody keeps a person: `我有个同事叫小李`."""
    return kind if re.fullmatch(_KIN, kind) else "买" if verb == "买" else "养"


def _before(clause: str, match: re.Match[str]) -> str:
    """Who keeps: the first person at the beginning of the clause, or all that stands before the verb."""
    head = re.sub(rf"^{_LEAD}", "", clause[: match.start()])
    return next(
        (word for word in sorted(_FIRST, key=len, reverse=True) if head.startswith(word)),
        re.sub(rf"{_ADVERB}$", "", head),
    )


def _owned(said: str, predicate: str, object_: str, passage: Passage, *, plain: bool = False) -> Iterator[Triple]:
    """`X的Y是Z` is (X, Y, Z); `我女儿叫Z` too. Only what is `plain` may be said of a common word."""
    said = re.sub(rf"^{_LEAD}", "", said)
    role = _MINE.match(said) or _ROLE.match(said)
    if role:
        whose, what = _subject(role["w"], passage), whole_phrase(role["r"])
        if whose and (what or role["r"] in ("猫", "狗", "车")):
            yield Triple(whose, what or role["r"], object_, 0.8)
        return
    subject = _subject(said, passage)
    if subject and (
        subject in (passage.speaker, *(m.name for m in passage.known.values())) or is_particular(said) or plain
    ):
        yield Triple(subject, predicate, object_, 0.75)


def _bonds(clause: str, passage: Passage) -> Iterator[Triple]:
    """Who is what to whom, where things are kept, what somebody cannot take."""
    match = _BOTH.match(clause)
    if match:
        subject, other = _subject(match["s"], passage), _subject(match["o"], passage)
        ended = "分手" if match["p"] == "分" else match["p"]
        predicate = whole_phrase(match["r"]) if match["r"] else ended
        if subject and other and predicate:
            yield Triple(subject, predicate, other, 0.8)
    match = _PUT.match(clause)
    if match:
        kept, place = thing(match["s"]), place_phrase(match["o"])
        if kept and place:
            yield Triple(kept, "放在", place, 0.8)
    match = _ALLERGIC.match(clause)
    if match:
        subject, object_ = _subject(match["s"], passage), thing(match["o"] or match["n"])
        if subject and object_:
            yield Triple(subject, "过敏", object_, 0.85)
    match = _KIN_IN.match(clause)
    if match and passage.speaker and is_place(match["o"]):
        yield Triple(passage.speaker, f"{match['r']}在", first_phrase(match["o"]), 0.7)
    match = _KIN_NAMED.match(clause)
    if match and passage.speaker and (known := leading_name(match["o"])):
        yield Triple(passage.speaker, match["r"], known, 0.7)


def _doubtful(clause: str, match: re.Match[str] | None, *, denies: bool = False) -> bool:
    before = clause if match is None else clause[: match.start("o")]
    if (
        _UNSURE.search(before)
        or "不再" in before
        or "再也不" in clause
        or re.search(r"不是(?:不|讨厌)|没有?(?:讨厌|不)|不讨厌", before)
    ):
        return True
    return not denies and bool(_NOT.search(before))


def _subject(said: str, passage: Passage) -> str:
    """The speaker for the first person, else a name or a noun phrase; empty for a pronoun or anything else."""
    said = re.sub(rf"^{_LEAD}", "", said).strip()
    if said in _FIRST:
        return passage.speaker
    if known := passage.known.get(normalise_name(said)):
        return known.name
    if PRONOUN.search(said) or said[:1] in "我咱个位" or re.fullmatch(_KIN, said):
        return ""
    return whole_phrase(said)
