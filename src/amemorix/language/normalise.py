"""How text is cleaned, folded, named, hashed, cut into terms, and flagged for what it holds."""

from __future__ import annotations

import hashlib
import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from zlib import crc32

import numpy as np
import Stemmer
from numpy.typing import NDArray

from ..lazy_regex import lazy_regex
from .times import asks_something, has_time_words

__all__ = [
    "ANALYSER_VERSION", "CJK", "NAME", "NUMBER", "QUESTION", "STOP_WORDS", "TIME", "clean_text", "content_hash", "fold",
    "is_mostly_cjk", "normalise_name", "pack_terms", "query_terms", "read_flags", "simplified", "term_hashes", "tokens",
    "unpack_terms", "unstorable",
]  # fmt: skip

ANALYSER_VERSION = "2"
"""Changes whenever the same text would give other terms; part of the fingerprint of everything built from terms."""

_FUNCTION_WORDS = """
a about above after again against all also am an and another any are as at be because been before being below
between both but by can cannot could did do does doing done down during each either else ever every few for from
further get gets getting got had has have having he her here hers herself him himself his how i if in into is it its
itself just kind kinds let lot lots many me more most much must my myself neither no nor not now of off on once only
or other others our ours ourselves out over own quite rather same shall she should since so some such sort sorts
tell than that the their theirs them themselves then there these they this those though through to too type types
under until up upon us very via was we were what whatever when whenever where whether which while who whoever whom
whose why will with within without would yet you your yours yourself yourselves
ain't aren't can't couldn't didn't doesn't don't hadn't hasn't haven't isn't mustn't shan't shouldn't wasn't weren't
won't wouldn't aint arent cant couldnt didnt doesnt dont hadnt hasnt havent isnt mustnt shouldnt wasnt werent wont
wouldnt im ive youre youve theyre theyve weve
"""
STOP_WORDS = frozenset(_FUNCTION_WORDS.split())
"""English function words and question words: they carry no topic, and they are in no term blob."""
_FORMS = """
arise arose arisen, awake awoke awoken, bear bore borne, beat beaten, become became, begin began begun, bend bent,
bind bound, bite bit bitten, bleed bled, blow blew blown, break broke broken, breed bred, bring brought, build built,
burn burnt, buy bought, catch caught, choose chose chosen, cling clung, come came, creep crept, deal dealt, dig dug,
draw drew drawn, dream dreamt, drink drank drunk, drive drove driven, eat ate eaten, fall fell fallen, feed fed,
feel felt, fight fought, find found, flee fled, fly flew flown, forbid forbade forbidden, forget forgot forgotten,
forgive forgave forgiven, freeze froze frozen, give gave given, go went gone, grow grew grown, hang hung, hear heard,
hide hid hidden, hold held, keep kept, kneel knelt, know knew known, lay laid, lead led, leap leapt, learn learnt,
leave left, lend lent, light lit, lose lost, make made, mean meant, meet met, mistake mistook mistaken, pay paid,
prove proven, ride rode ridden, ring rang rung, rise rose risen, run ran, say said, see saw seen, seek sought,
sell sold, send sent, sew sewn, shake shook shaken, shine shone, shoot shot, show shown, shrink shrank shrunk,
sing sang sung, sink sank sunk, sit sat, sleep slept, slide slid, speak spoke spoken, spell spelt, spend spent,
spill spilt, spin spun, stand stood, steal stole stolen, stick stuck, sting stung, strike struck, strive strove,
swear swore sworn, sweep swept, swell swollen, swim swam swum, swing swung, take took taken, teach taught,
tear tore torn, tell told, think thought, throw threw thrown, understand understood, undertake undertook,
wake woke woken, wear wore worn, weave wove woven, weep wept, win won, wind wound, withdraw withdrew withdrawn,
write wrote written,
child children, man men, woman women, foot feet, tooth teeth, mouse mice, goose geese, person people, wife wives,
life lives, knife knives, leaf leaves, half halves, shelf shelves, wolf wolves, loaf loaves, thief thieves,
good better best, bad worse worst, mother mum mom mommy mummy, father dad daddy, grandmother grandma granny,
grandfather grandpa granddad, photo pic photograph, bike bicycle, phone telephone, fridge refrigerator,
favourite favorite fave, colour color, theatre theater, centre center, neighbour neighbor, grey gray, jewellery jewelry,
mould mold, programme program, traveller traveler, pyjamas pajamas, organise organize, realise realize,
apologise apologize, recognise recognize, practise practice, licence license, cosy cozy, doughnut donut, aeroplane airplane
"""
"""Irregular verbs and nouns, spellings of either side of the Atlantic, and short forms that everybody uses."""

_BASE_FORMS: dict[str, str] = {form: family.split()[0] for family in _FORMS.split(",") for form in family.split()[1:]}
"""Form -> the word it is a form of, where no stemmer brings them together."""

_HAN = r"\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
_KANA = r"\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u31a0-\u31bf\u31f0-\u31ff"
_HANGUL = r"\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3"
_CJK = _HAN + _KANA + _HANGUL
_THAI_LAO_BURMESE_KHMER = r"\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u1000-\u103f\u1050-\u109f\u1780-\u17d3"
_UNSPACED = _CJK + _THAI_LAO_BURMESE_KHMER
_INDIC_WITH_MARKS = r"\u0900-\u0963\u0966-\u0dff"
_LETTER = rf"(?:[^\W_{_UNSPACED}]|[{_INDIC_WITH_MARKS}])"
_WORD = rf"{_LETTER}{{1,64}}(?:'{_LETTER}{{1,64}})*"
_FLAG = r"[\U0001f1e6-\U0001f1ff]{2}"
_SYMBOL = (
    r"[\u20a0-\u20cf\u2190-\u23ff\u25a0-\u27bf\u2900-\u2bff"
    r"\U0001f000-\U0001f0ff\U0001f300-\U0001f3fa\U0001f400-\U0001faff]"
)

_ASCII_WORDS = re.compile(r"[0-9a-z]{1,64}(?:'[a-z]{1,64})*").findall
_PIECES = re.compile(rf"[{_UNSPACED}]+|{_WORD}|{_FLAG}|{_SYMBOL}").findall
_starts_unspaced = re.compile(f"[{_UNSPACED}]").match
_cjk_characters = re.compile(f"[{_CJK}]").findall
_other_words = re.compile(rf"[^\W_{_CJK}]+").findall
_has_surrogate = re.compile(r"[\ud800-\udfff]").search
unstorable = re.compile(r"[\0\ud800-\udfff]").search
"""Finds what is in no name, and in no text as it was told: NUL, or half of a surrogate pair."""
_SHORT_FORM = lazy_regex(r"'(?:s|d|m|re|ve|ll)$")
_APOSTROPHES = "\u2018\u2019\u02bc\u2032"
_MAX_COUNT = 255
_BYTES_PER_TERM = 5

QUESTION, TIME, NUMBER, NAME, CJK = 1, 2, 4, 8, 16
"""The text ends as a question; speaks of time; gives a number; holds a proper name or a title; is Chinese, Japanese or
Korean."""

_GIVES_NUMBER = lazy_regex(
    r"[0-9]|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|twice|once|first|second|third|couple"
    r"|few|several|hundred|thousand|million)\b|[零一二三四五六七八九十百千万两俩仨][个只条本张次岁斤块元万千百十公口位名套双把台部间年月天号楼]",
    re.IGNORECASE,
)
_HOLDS_NAME = lazy_regex(
    r"(?<=[a-z0-9,;:'’\"] )[A-Z][a-z]+|\"[^\"\n]{2,60}\"|“[^”\n]{2,60}”|《[^》\n]+》|「[^」\n]{2,30}」|[\u4e00-\u9fff] ?[A-Z][A-Za-z]+"
)


def clean_text(raw: str) -> str:
    """The text as it is stored: LF line ends, no NUL, no lone surrogates, no blank space around it."""
    text = raw.replace("\x00", "").replace("\r\n", "\n").replace("\r", "\n")
    return _without_surrogates(text).strip()


def content_hash(text: str) -> str:
    """64 hex digits (SHA-256) that are the same for texts that differ only in blank space or Unicode composition."""
    canonical = " ".join(unicodedata.normalize("NFC", _without_surrogates(text)).split())
    return hashlib.sha256(canonical.encode()).hexdigest()


def fold(text: str) -> str:
    """The text without differences that a searcher does not mean.

    Case, width and other compatibility forms (NFKC), accents, digits of other scripts, curly apostrophes, and
    traditional against simplified Chinese. Always encodable.
    """
    if text.isascii():
        return text.lower()
    text = unicodedata.normalize("NFKC", _without_surrogates(text)).casefold()
    return text if text.isascii() else text.translate(_fold_table())


def simplified(text: str) -> str:
    """The text in simplified Chinese, character by character: every place stays where it is."""
    return text if text.isascii() else text.translate(_simplified_characters())


def normalise_name(name: str) -> str:
    """The form under which two spellings of a person's or an entity's name are the same."""
    return " ".join(fold(name).split())


def is_mostly_cjk(text: str) -> bool:
    """True if Chinese, Japanese and Korean characters outnumber the words of other scripts."""
    return not text.isascii() and len(_cjk_characters(text)) > len(_other_words(text))


def tokens(text: str) -> list[str]:
    """The terms of a text in reading order, repeated as often as they occur.

    Words are brought to their base form and stemmed (English) after stop-words, possessive endings and single Latin
    letters are dropped. Runs of a
    script without spaces give every character and every pair of neighbours. An emoji or symbol is a term of its own.
    """
    folded = fold(text)
    if folded.isascii():
        return _stemmers().english.stemWords([*_content_words(_ASCII_WORDS(folded))])
    terms: list[str] = []
    stem = _stemmers().english.stemWord
    for piece in _PIECES(folded):
        if piece[0] < "\x80":
            terms.extend(map(stem, _content_words((piece,))))
        elif _starts_unspaced(piece):
            terms.extend(piece)
            terms.extend(a + b for a, b in pairwise(piece))
        else:
            terms.append(piece)
    return terms


def query_terms(text: str) -> list[str]:
    """The distinct terms of a query in reading order.

    Empty for a query of nothing but stop-words: no document has them as terms, so only another lane can answer it.
    """
    return list(dict.fromkeys(tokens(text)))


def term_hashes(terms: Iterable[str]) -> NDArray[np.uint32]:
    """CRC-32 of each term's UTF-8 bytes, in the order given."""
    return np.fromiter((crc32(term.encode()) for term in terms), np.uint32)


def pack_terms(terms: Iterable[str]) -> bytes:
    """A term blob: the distinct hashes ascending (little-endian uint32), then their counts (uint8, at most 255)."""
    counts: dict[int, int] = {}
    for term, count in Counter(terms).items():
        key = crc32(term.encode())
        counts[key] = counts.get(key, 0) + count
    hashes = sorted(counts)
    return np.array(hashes, "<u4").tobytes() + bytes([min(counts[key], _MAX_COUNT) for key in hashes])


def unpack_terms(blob: bytes) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
    """The hashes and counts of a term blob. Raises ValueError if its length is not a multiple of 5."""
    size, rest = divmod(len(blob), _BYTES_PER_TERM)
    if rest:
        raise ValueError(f"a term blob has {_BYTES_PER_TERM} bytes a term, this one has {len(blob)} bytes")
    hashes = np.frombuffer(blob, "<u4", size).astype(np.uint32, copy=False)
    return hashes, np.frombuffer(blob, np.uint8, size, offset=4 * size)


def read_flags(text: str) -> int:
    """The flags of a text."""
    return (
        QUESTION * asks_something(text)
        | TIME * has_time_words(text)
        | NUMBER * bool(_GIVES_NUMBER.search(text))
        | NAME * bool(_HOLDS_NAME.search(text))
        | CJK * is_mostly_cjk(text)
    )


def _without_surrogates(text: str) -> str:
    """Pairs of surrogates become the character they mean, lone ones U+FFFD."""
    if text.isascii() or not _has_surrogate(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _content_words(words: Sequence[str]) -> Iterator[str]:
    for word in words:
        if word in STOP_WORDS:
            continue
        if "'" in word:
            word = _SHORT_FORM.sub("", word).replace("'", "")
            if word in STOP_WORDS:
                continue
        if len(word) > 1 or word.isdigit():
            yield _BASE_FORMS.get(word, word)


class _Stemmers(threading.local):
    """One stemmer a thread: its cache of recent words is not safe to share."""

    def __init__(self) -> None:
        self.english = Stemmer.Stemmer("english", 20_000)


@cache
def _stemmers() -> _Stemmers:
    return _Stemmers()


class _FoldTable(dict[int, str]):
    """What `str.translate` puts for each character, worked out when it is first seen."""

    def __init__(self) -> None:
        super().__init__(_simplified_characters())
        self.update((ord(mark), "'") for mark in _APOSTROPHES)

    def __missing__(self, code: int) -> str:
        char = chr(code)
        if _starts_unspaced(char):
            folded = char
        elif unicodedata.category(char) == "Nd":
            folded = str(unicodedata.digit(char))
        else:
            bare = "".join(c for c in unicodedata.normalize("NFD", char) if not "\u0300" <= c <= "\u036f")
            folded = unicodedata.normalize("NFC", bare)
        self[code] = folded
        return folded


@cache
def _fold_table() -> _FoldTable:
    return _FoldTable()


@cache
def _simplified_characters() -> dict[int, str]:
    """Every traditional character with its simplified form, asked of OpenCC in one call."""
    from opencc import OpenCC

    blocks = ((0x3400, 0x4DC0), (0x4E00, 0xA000), (0x20000, 0x323B0))
    characters = [chr(code) for first, end in blocks for code in range(first, end)]
    converted = OpenCC("t2s").convert("\n".join(characters)).split("\n")
    table = {ord(old): new for old, new in zip(characters, converted, strict=True) if old != new and len(new) == 1}
    return {code: table.get(ord(new), new) for code, new in table.items()}
