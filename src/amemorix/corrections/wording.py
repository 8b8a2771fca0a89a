"""What becomes of a line: its wrong words replaced where the result reads well, or the clause that says them left out."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from ..language.normalise import fold, is_mostly_cjk, tokens
from ..lazy_regex import lazy_regex
from .sentence import SPELLING, Sentence, data, fillers, kin

__all__ = [
    "VALUES", "Word", "clauses_of", "holds", "in_list", "other_value",
    "reworded", "spelt_otherwise", "values_differ", "without", "words_of",
]  # fmt: skip

_NUMERAL = "零一二两三四五六七八九十百千万半"
_MEASURE = "个只条名位家台辆本张套头匹次岁年天周点块元万斤公里楼号日月级分米"
_TEENS = "(?:thir|four|fif|six|seven|eigh|nine)teen"
_VALUE = lazy_regex(
    r"(?P<mail>[\w.+-]+@[\w-]+\.[\w.]+)|(?P<phone>\+?\d[\d -]{5,}\d)|(?P<clock>\d{1,2}:\d\d(?:\s?[ap]m)?|\d{1,2}\s?[ap]\.?m\b)"
    rf"|(?P<weekday>(?:上|下|这|本)?(?:周|星期|礼拜)[一二三四五六日天末](?![次个回顿])|(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b)"
    r"|(?P<year>大?[去前今明后]年|(?:19|20)\d\d(?!\d))|(?P<day>大?[昨前今明后][天晚]|\b(?:yesterday|today|tomorrow|tonight)\b)"
    rf"|(?P<month>(?:\d+|[{_NUMERAL}]+)月|\b(?:january|february|march|april|june|july|august|september|october|november|december)\b)"
    rf"|(?P<length>(?:\d|[一二])米[\d零一二三四五六七八九]+|\d\.\d+ ?(?:m|米)\b|\d{{2,3}} ?(?:cm|公分|厘米))|(?P<ordinal>\d+(?:st|nd|rd|th)\b|\b(?:third|fourth|fifth|sixth|seventh|eighth|ninth|tenth)\b|(?:\d+|[{_NUMERAL}]+)[号日])|(?P<grade>[高初大研][一二三四](?![一-龥]?[个只])|[{_NUMERAL}]年级)"
    rf"|(?P<number>\d+(?:[.,]\d+)*|[一二两三四五六七八九][十百千万][{_NUMERAL}]*|[{_NUMERAL}]+(?=[{_MEASURE}])|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|{_TEENS}|twenty|thirty|forty|fifty)\b(?! of\b))",
    re.I,
)
_PLAIN = lazy_regex(
    r"(?P<latin>[^\W\d_\u3040-\u30ff\u3400-\u9fff]+(?:['-][^\W\d_\u3040-\u30ff\u3400-\u9fff]+)*)|(?P<han>[\u3400-\u9fff]+)",
    re.I,
)
_PRONOUNS = lazy_regex("([我你他她]们?)")
_NUMBERS = dict(zip("一二两三四五六七八九十", "12234567890", strict=True)) | {"十": "10"} | {
    word: str(i + 1) for i, word in enumerate(["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"])
}  # fmt: skip
_PART = lazy_regex(r"[^，,。；;！!？?\n]+[，,。；;！!？?\n]*|[^.;!?\n]+[.;!?\n]*")
_PART_EN = lazy_regex(r"(?:[^,.;!?\n]|(?<=\d)[.,](?=\d))+[,.;!?\n]*\s*")
_JOINT = lazy_regex(
    r"(?<=[^\s，,]{3})(?=(?:而且|并且|同时|但是|不过(?!敏))[^\s，,]{2})|(?<=[^\s，,]{3})(?=、(?:我|住|在|对|今年|养了))"
)
_JOINT_EN = lazy_regex(
    r"(?<=\w)(?= (?:and|but|while) (?:(?:i|he|she|we|they)(?:'\w+)?|(?:my|his|her) \w+|lives?|works?|likes?|loves?|have|has|owns?) \w)",
    re.I,
)
_JOINING = lazy_regex(r"(?:and|but|while)\s+|而且|并且|同时|但是|不过(?!敏)|、|也(?=[^许])", re.I)
_COPULAS = frozenset({"be", "is", "am", "are", "was", "it", "that", "this", "a", "an", "the", "是"})
_IS = lazy_regex(
    r"(?:我的?|my )?(?P<subject>[\u3400-\u9fff]{0,4}?|[a-z]+)(?:是| is )(?P<what>[\u3400-\u9fff]{2,6}?|[\w-]+)的?\s*[，,。.!！~]*\s*$",
    re.I,
)
_PRONOUN = lazy_regex(r"我们?|[你他她它]们?|i|we|he|she|they|you|and|but|,|")
_OWN_SUBJECT = lazy_regex(
    r"我|(?:[Ii]|[Ww]e|[Mm]y|[Oo]ur)\b|(?!(?:It|He|She|They|This|That|So|His|Her)\b)[A-Z][a-z]+\b"
)
_OWN_TIME = lazy_regex(
    r"(?:今[天晚早]|明[天晚早]|后天|下个?(?:周|月|星期|礼拜)|周末|这?周[一二三四五六日])(?!才|就|都)[^，,]{2}"
)
"""When somebody does something else."""
_LISTED_AFTER = lazy_regex(
    r"(?:\s*[、/]\s*|和|以及|\s+(?:and|or|&)\s+)(?=\w)(?!(?:i|he|she|we|they|my)\b|[我你他她])", re.I
)
_LISTED_BEFORE = lazy_regex(r"(?<=\w)(?<![我你他她])(?:\s*[、/]\s*|和|以及|,?\s+(?:and|or|&)\s+)$", re.I)


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a text: where it stands, the form by which words are compared, and of what type its value is."""

    start: int
    end: int
    form: str
    type: str = ""
    filler: bool = False
    unit: str = ""
    """What a number counts, where that stands behind it."""


def words_of(text: str) -> list[Word]:
    """The words of a text in their order."""
    found: list[Word] = []
    kinship, end = list(kin(text).values()), 0
    for value in _VALUE.finditer(text):
        found += _plain_words(text, end, value.start(), kinship)
        end, type_ = value.end(), value.lastgroup or ""
        form = fold(value[0]).replace(" ", "").rstrip("s" if type_ == "weekday" else "")
        if type_ in ("month", "ordinal") and len(form) == 2:
            form = _NUMBERS.get(form[0], form[0]) + form[1]
        form = form.replace("号", "日")
        unit = ""
        if type_ == "number":
            form, after = _NUMBERS.get(form, form), re.match(rf"[{_MEASURE}]|\s[a-z]+", text[end:])
            word = after[0].strip() if after else ""
            unit = next(iter(kin(word)), "" if word in fillers() else (tokens(_plain(word)) or [""])[0])
        found.append(Word(value.start(), end, form, type_, unit=unit))
    return found + _plain_words(text, end, len(text), kinship)


def _plain_words(text: str, start: int, stop: int, kinship: Sequence[tuple[int, int]]) -> list[Word]:
    from rjieba import cut

    found: list[Word] = []
    for match in _PLAIN.finditer(text, start, stop):
        at = match.start()
        pieces = [one for run in _PRONOUNS.split(match[0]) if run for one in cut(run)]
        for said in pieces if match.lastgroup == "han" else (match[0],):
            end = at + len(said)
            is_kin = any(a < end and at < b for a, b in kinship)
            word = fold(said)
            if match.lastgroup == "han":
                filler = word in fillers() or all(one in data()["fillers"]["zh"] for one in word)
                found.append(Word(at, end, word, "kin" if is_kin else "", filler and not is_kin))
            else:
                bare = re.sub(r"'(?:s|m|re|ve|ll|d|t)$", "", word)
                filler = not fillers().isdisjoint((bare, word))
                type_ = "kin" if is_kin else "name" if said[:1].isupper() and at else ""
                found.append(
                    Word(at, at + len(bare), (tokens(_plain(bare)) or [bare])[0], type_, filler and not is_kin)
                )
            at = end
    return found


VALUES = frozenset(
    {"mail", "phone", "clock", "length", "weekday", "year", "day", "month", "ordinal", "grade", "number"}
)


def _plain(word: str) -> str:
    """Without the ending of a third person or a plural: lives and live."""
    return word[:-1] if len(word) > 3 and word.endswith("s") and word[-2] not in "su" else word


def values_differ(line: Sequence[Word], said: Sequence[Word]) -> float:
    """How surely both give a value of one type, and not the same: 0, 1, or 1.5 where both say what they count."""
    here = {word.form for word in said}
    others = [one for one in line if one.type in VALUES and one.form not in here]
    return max((_measure_alike(one, other) for one in others for other in said if one.type == other.type), default=0.0)


def _measure_alike(one: Word, other: Word) -> float:
    if one.type != "number":
        return 1.0
    sizes = [
        next(
            (5 - i for i, unit in enumerate("万千百") if unit in word.form),
            len(word.form) if word.form.isdigit() else 2,
        )
        for word in (one, other)
    ]
    if abs(sizes[0] - sizes[1]) > 1 or (one.unit and other.unit and one.unit != other.unit):
        return 0.0
    return 1.5 if one.unit and other.unit else 1.0


def other_value(clause: str, text: str) -> tuple[str, str] | None:
    """The value of the clause in whose place the text gives another one of its type, and that."""
    for type_ in VALUES:
        ours, theirs = ([word for word in words_of(one) if word.type == type_] for one in (clause, text))
        if len(ours) == len(theirs) == 1 and values_differ(ours, theirs):
            return clause[ours[0].start : ours[0].end], text[theirs[0].start : theirs[0].end]
    return None


def spelt_otherwise(clause: str, text: str) -> tuple[str, str] | None:
    """A name of the clause that the text spells otherwise, and how: (Jon, John), (Katherine, Katherine with a C)."""
    if not (spelling := SPELLING.search(text)):
        return None
    if spelling[0] == text and not text.lower().startswith("it"):
        names = [clause[word.start : word.end] for word in words_of(clause) if word.type == "name"]
        return (names[0], f"{names[0]} {text}") if len(names) == 1 else None
    ours, theirs = (
        [one[w.start : w.end] for w in words_of(one) if not w.filler and w.end - w.start > 2] for one in (clause, text)
    )
    pairs = [
        (close[0], word) for word in theirs if word not in ours and (close := get_close_matches(word, ours, 1, 0.6))
    ]
    return pairs[-1] if pairs else None


def reworded(clause: str, sentence: Sentence, names: frozenset[str]) -> tuple[str, str, str] | None:
    """(what is wrong, what is right, the clause that says it); None where the words cannot be exchanged safely.

    The wrong words are those of the clause that the sentence denies, the right ones what it says besides. They are
    exchanged if each is one stretch, nothing else is new, and both are of one type or stand in the same place of a
    sentence. `names` are folded names of whom it is about.
    """
    if sentence.exchange:
        old, new = sentence.exchange
        places = _places(clause, old)
        if len(places) != 1 or holds(clause, new):
            return None
        return old, new, clause[: places[0][0]] + new + clause[places[0][1] :]
    line = words_of(clause)
    said = [(part, words_of(_blanked(part, names))) for part in sentence.said]
    denied = [(part, words_of(_blanked(part, names))) for part in sentence.denied]
    so = {word.form for _, words in said for word in words}
    not_so = {word.form for _, words in denied for word in words if not word.filler} - so - names
    if not any(word.type == "kin" for _, words in said for word in words):  # whose it is, and not what is wrong of it
        not_so -= {word.form for _, words in denied for word in words if word.type == "kin"}
    known = {word.form for _, words in denied for word in words} | {word.form for word in line}
    fresh = [
        (part, words, [i for i, word in enumerate(words) if not word.filler and word.form not in known and word.form not in names])
        for part, words in said
    ]  # fmt: skip
    fresh = [one for one in fresh if one[2]]
    if len(fresh) == 1 and not denied and (alike := _of_one_sort(clause, fresh[0][0])):
        return alike
    if len(fresh) != 1:
        return None
    part, words, places = fresh[0]
    right = words[places[0] : places[-1] + 1]
    if len(right) != len(places) and not all(word.filler or word.form not in known for word in right):
        return None
    at = [i for i, word in enumerate(line) if word.form in not_so]
    type_ = right[0].type if len(right) == 1 else ""
    same_type = [
        i for i, word in enumerate(line) if type_ in VALUES | {"kin"} and word.type == type_ and word.form not in so
    ]
    if len(right) > 1 and VALUES.issuperset(word.type for word in right):
        at = [i for i in at if line[i].type in {word.type for word in right}]
    elif type_ in VALUES:
        at = [i for i in at if i in same_type] or ([] if not_so & {word.form for word in line} else same_type)
        if len(at) != 1:
            return None
    elif not at and not sentence.denied:
        at = _in_frame(line, words, places)
    if not at or at[-1] - at[0] + 1 != len(at):
        return None
    wrong = line[at[0] : at[-1] + 1]
    typed = all(word.type for word in right) and [word.type for word in wrong] == [word.type for word in right]
    if not typed and (
        VALUES & {word.type for word in (*wrong, *right)} or "kin" in {word.type for word in (*wrong, *right)}
    ):
        return None
    if not (typed and type_ != "name") and sentence.denied and not _in_one_place(line, at, words, places, denied):
        return None
    if _noun_follows(clause, wrong[-1].end):  # 上海 of 上海浦东
        return None
    old, new = clause[wrong[0].start : wrong[-1].end], part[right[0].start : right[-1].end]
    if len(old) > 40 or len(new) > 40 or holds(clause, new):
        return None
    return old, new, clause[: wrong[0].start] + new + clause[wrong[-1].end :]


def _of_one_sort(clause: str, said: str) -> tuple[str, str, str] | None:
    """What somebody or something is, where both say it of the same, or name the same sort: 湖北人 and 湖南人."""
    ours, theirs = (_IS.match(one) for one in (clause, said))
    if not (ours and theirs) or fold(ours["what"]) == fold(theirs["what"]):
        return None
    subjects = [fold(one["subject"]).strip() for one in (ours, theirs)]
    sorts = [one["what"][-1] for one in (ours, theirs)]
    if not (subjects[0] and subjects[0] == subjects[1]) and not (sorts[0] == sorts[1] and sorts[0] in "人座族"):
        return None
    return ours["what"], theirs["what"], clause[: ours.start("what")] + theirs["what"] + clause[ours.end("what") :]


def _noun_follows(clause: str, end: int) -> bool:
    from rjieba import tag

    rest = re.match(r"[\u3400-\u9fff]+", clause[end:])
    return rest is not None and clause[end - 1] > "\u3400" and tag(rest[0])[0][1].startswith(("ns", "nt", "nz"))


def _blanked(part: str, names: Collection[str]) -> str:
    """The part with spaces in the place of the names."""
    for name in names:
        for start, stop in _places(part, name):
            part = part[:start] + " " * (stop - start) + part[stop:]
    return part


def _in_frame(line: Sequence[Word], words: Sequence[Word], places: Sequence[int]) -> list[int]:
    """Places of the words of the line that stand where the right ones stand in the sentence: after the same word, at the end."""
    before = words[places[0] - 1].form if places[0] else ""
    after = [word.form for word in words[places[-1] + 1 :] if not word.filler]
    starts = [i + 1 for i, word in enumerate(line) if word.form == before]
    if len(starts) != 1 or before in _COPULAS or _PRONOUN.fullmatch(before):
        return []
    end = starts[0]
    shared = {word.form for word in words}
    while end < len(line) and line[end].form not in shared and end - starts[0] < 3:
        end += 1
    ends_alike = end == len(line) if not after else end < len(line) and line[end].form == after[0]
    return [*range(starts[0], end)] if ends_alike and 0 < end - starts[0] <= 2 else []


def _in_one_place(
    line: Sequence[Word], at: Sequence[int], words: Sequence[Word], places: Sequence[int], denied: Sequence[tuple[str, list[Word]]]
) -> bool:  # fmt: skip
    """Whether the right words follow the same word as the wrong ones, in the line or in what is denied, or stand in their contrast."""
    before = words[places[0] - 1].form if places[0] else ""
    if _PRONOUN.fullmatch(before):  # a verb: what the line says besides may not hold of the other
        return False
    if at[0] and _is_word(line[at[0] - 1].form, before):
        return True
    wrong = line[at[0]].form
    for _, there in denied:
        place = next((i for i, word in enumerate(there) if word.form == wrong), None)
        if place is None:
            continue
        if place and _is_word(there[place - 1].form, before):
            return True
        whole = all(word.filler or word.type == "kin" or word.form in {line[i].form for i in at} for word in there)
        rest = [word for word in words[places[-1] + 1 :] if not word.filler]
        if whole and not rest and before in _COPULAS | {"叫"}:  # it is Rex, not Max
            return True
    return False


def _is_word(form: str, word: str) -> bool:
    """Whether they are the same; in Chinese the word may have been taken for the end of one: 弟在."""
    return form == word or (word > "\u3400" and form.endswith(word))


def clauses_of(text: str) -> list[str]:
    """The clauses of a text; together they are the text."""
    pattern, joint = (_PART, _JOINT) if is_mostly_cjk(text) else (_PART_EN, _JOINT_EN)
    parts = [half for part in pattern.findall(text) for half in joint.split(part) if half]
    return parts if "".join(parts) == text else [text]


def without(clauses: Sequence[str], places: Collection[int], words: str) -> str:
    """The line without what these clauses say: without `words` alone where they are one thing of a list, else without
    the clauses; nothing where what is left would not stand by itself."""
    kept: list[str] = []
    left_out = ""
    for i, clause in enumerate(clauses):
        if i in places:
            rest = _struck(clause, words) if words else ""
            kept += [rest] if rest else []
            left_out = "" if rest else clause.lstrip()
        elif not left_out:
            kept.append(clause)
        else:  # what stands by itself, or is told of the same subject
            begun = clause.lstrip()
            joined = _JOINING.match(begun)
            bare = begun[joined.end() :] if joined else begun
            whole = re.search(r"[.。!！?？;；\n]\s*$", clauses[i - 1]) is not None
            subject = _OWN_SUBJECT.match(left_out)
            if not (_OWN_SUBJECT.match(bare) or whole):
                if subject and subject[0] == "我" and not kin(left_out[:6]) and _OWN_TIME.match(bare):
                    pass
                elif subject and joined and i - 1 in places:
                    bare = subject[0] + ("" if is_mostly_cjk(subject[0]) else " ") + bare
                else:
                    continue
            kept.append(bare)
            left_out = ""
    return "".join(kept).strip().rstrip("，,；;、").strip()


def in_list(clause: str, words: str) -> bool:
    """Whether the words are one thing of a list in the clause."""
    return _struck(clause, words) != ""


def _struck(clause: str, words: str) -> str:
    found = _places(clause, words)
    if len(found) != 1:
        return ""
    start, stop = found[0]
    after, before = _LISTED_AFTER.match(clause, stop), _LISTED_BEFORE.search(clause[:start])
    if before:
        return clause[: before.start()] + clause[stop:]
    return clause[:start] + clause[after.end() :] if after else ""


def holds(text: str, words: str) -> bool:
    """Whether the text says these words; Latin ones only as whole words."""
    return _places(text, words) != []


def _places(text: str, words: str) -> list[tuple[int, int]]:
    """Where the words stand in the text, folded; only where folding keeps every character in its place."""
    if not words.strip():
        return []
    whole = r"(?<!\w){}(?!\w)" if words.isascii() else "{}"
    folded = fold(text)
    if len(folded) != len(text):
        folded = text.lower() if len(text.lower()) == len(text) else text
    return [
        found.span() for found in re.finditer(whole.format(r"\s+".join(map(re.escape, fold(words).split()))), folded)
    ]
