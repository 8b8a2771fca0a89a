import pytest

from amemorix.search.spelling import Spelling

TEXTS = ["My sister's garden is in Hamburg.", "We went hiking, and it rained.", "Ünser Hund heißt Bruno 🐶"]


@pytest.mark.parametrize(
    ("query", "meant"),
    [
        ("who has a gaden", {"gaden": "garden"}),
        ("the graden", {"graden": "garden"}),
        ("where is hambrug", {"hambrug": "hamburg"}),
        ("hik with bruno", {}),
        ("my sister's hamburg", {}),
        ("brnuo", {"brnuo": "bruno"}),
        ("xyzzy", {}),
    ],
)
def test_a_slip_is_mended_by_a_whole_word_of_the_chat(query: str, meant: dict[str, str]) -> None:
    assert Spelling(TEXTS, ["Anna"]).corrections(query) == meant


def test_of_equally_near_words_the_one_said_first_counts() -> None:
    assert Spelling(["the mountain fountain", "a fountain"], []).corrections("ountain") == {"ountain": "mountain"}


def test_another_form_of_a_word_is_held_and_a_part_in_its_middle_is_not() -> None:
    assert Spelling(["gardens everywhere"], []).corrections("garden") == {}
    assert Spelling(["I like hiking"], []).corrections("what does Tom liked") == {}
    assert Spelling(["an acount"], []).corrections("count") == {"count": "acount"}


def test_an_empty_chat_mends_nothing() -> None:
    assert Spelling([], []).corrections("helo wrold 你好") == {}
