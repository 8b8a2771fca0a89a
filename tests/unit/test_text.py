from concurrent.futures import ThreadPoolExecutor
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from amemorix.language.normalise import (
    clean_text,
    content_hash,
    fold,
    is_mostly_cjk,
    normalise_name,
    pack_terms,
    query_terms,
    tokens,
    unpack_terms,
)

any_text = st.text(st.characters(codec=None, exclude_categories=()), max_size=40)


@pytest.mark.parametrize(
    ("raw", "folded"),
    [
        ("Hello", "hello"),
        ("Ｈｅｌｌｏ　１２３", "hello 123"),
        ("Café Ångström", "cafe angstrom"),
        ("e\u0301", "e"),
        ("straße", "strasse"),
        ("漢語開發", "汉语开发"),
        ("ｶﾞｷﾞ", "ガギ"),
        ("O’Brien", "o'brien"),
        ("٣٤", "34"),
        ("\ud83d\ude00", "😀"),
        ("a\ud800b", "a\ufffdb"),
    ],
)
def test_fold(raw: str, folded: str) -> None:
    assert fold(raw) == folded


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("The painting of Caroline's friends", ["paint", "carolin", "friend"]),
        ("I don't think we've met O’Brien", ["think", "meet", "obrien"]),
        ("She went to buy what he had bought", ["go", "buy", "buy"]),
        ("My mom's favorite children", ["mother", "favourit", "child"]),
        ("Room 7 on 2023-05-08 plan B", ["room", "7", "2023", "05", "08", "plan"]),
        ("北京大学", ["北", "京", "大", "学", "北京", "京大", "大学"]),
        ("買T恤", ["买", "恤"]),
        ("我用Python写代码", ["我", "用", "我用", "python", "写", "代", "码", "写代", "代码"]),
        ("カレー 김치", ["カ", "レ", "ー", "カレ", "レー", "김", "치", "김치"]),
        ("👍🏽 ok ❤️ 🇨🇳", ["👍", "ok", "❤", "🇨🇳"]),
        ("мой друг हिन्दी", ["мои", "друг", "हिन्दी"]),
        ("snake_case", ["snake", "case"]),
        ("how many of those?", []),
        ("", []),
        ("... !!", []),
    ],
)
def test_tokens(raw: str, expected: list[str]) -> None:
    assert tokens(raw) == expected


def test_very_long_words_are_cut_into_pieces() -> None:
    assert [len(term) for term in tokens("x" * 150)] == [64, 64, 22]
    assert [len(term) for term in tokens("ж" * 150)] == [64, 64, 22]


def test_query_terms_are_distinct_and_empty_for_stop_words() -> None:
    assert query_terms("paint, painting, dog") == ["paint", "dog"]
    assert query_terms("what did she do") == []


def test_one_and_two_character_queries_meet_the_document() -> None:
    document = set(tokens("我喜歡喝咖啡"))
    assert set(query_terms("茶")).isdisjoint(document)
    assert set(query_terms("喝")) <= document
    assert set(query_terms("咖啡")) <= document


def test_blobs_hold_distinct_hashes_with_counts() -> None:
    hashes, counts = unpack_terms(pack_terms(["a", "b", "a"] + ["c"] * 300))
    expected = sorted([(crc32(b"a"), 2), (crc32(b"b"), 1), (crc32(b"c"), 255)])
    assert list(zip(hashes.tolist(), counts.tolist(), strict=True)) == expected
    assert hashes.dtype == np.uint32
    assert len(pack_terms(["a", "b"])) == 10
    assert pack_terms([]) == b""
    assert pack_terms(["a", "b"]) == pack_terms(["b", "a"])


def test_content_hash_ignores_space_and_composition_only() -> None:
    assert content_hash(" a\n\tb ") == content_hash("a b")
    assert content_hash("caf\u00e9") == content_hash("cafe\u0301")
    assert content_hash("A b") != content_hash("a b")
    assert len(content_hash("")) == 64


def test_clean_text() -> None:
    assert clean_text(" \x00 a\r\nb\rc\ud800 \n") == "a\nb\nc\ufffd"


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("你好 world", True),
        ("hello 你 there", False),
        ("2023", False),
        ("", False),
        ("ありがとう!", True),
        ("Hi", False),
    ],
)
def test_is_mostly_cjk(raw: str, expected: bool) -> None:
    assert is_mostly_cjk(raw) is expected


def test_names_match_across_spellings() -> None:
    assert normalise_name("  José\tGARCÍA ") == normalise_name("Jose Garcia") == "jose garcia"
    assert normalise_name("張偉") == normalise_name("张伟")


@given(any_text)
def test_any_text_gives_encodable_terms(raw: str) -> None:
    for piece in (fold(raw), clean_text(raw), *tokens(raw)):
        piece.encode()
    content_hash(raw)
    unpack_terms(pack_terms(tokens(raw)))
    assert all(query_terms(raw))


@given(any_text)
def test_case_and_width_do_not_change_the_terms_of_ascii(raw: str) -> None:
    plain = "".join(c for c in raw if c.isascii() and c.isprintable() and c != "'")
    wide = "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in plain)
    assert tokens(wide) == tokens(plain.upper()) == tokens(plain)


def test_threads_agree() -> None:
    texts = [f"painting {word}s running {n}" for n, word in enumerate(["dog", "猫咪", "café"] * 200)]
    expected = [tokens(one) for one in texts]
    with ThreadPoolExecutor(8) as pool:
        assert [*pool.map(tokens, texts)] == expected
