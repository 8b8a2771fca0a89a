"""LAC: Chinese persons, places, organisations and works, read character by character (Jiao, Sun and Sun 2018)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...language.names import Mention
from ...lazy_regex import lazy_regex
from ..cache import cache_dir
from .catalog import LAC, LocalModel
from .install import GRAPH, installed
from .runtime import open_session

__all__ = ["ChineseNames", "convert", "create_if_installed"]

TABLE = "lac.npz"
_KINDS = {"PER": "person", "LOC": "place", "ORG": "organisation", "nw": "work"}
_PIECE = lazy_regex(r"[^。！？!?；;\n]{1,200}[。！？!?；;]*")
"""What is read at a time: of what stands in another sentence little is seen."""
_HAN = lazy_regex(r"[\u3400-\u9fff]")
LEAST_SURE = 0.6
"""Below, more than a third of what it takes for names in chats is none."""
_NEVER = -100.0
"""The score of a word that goes on before it has begun."""


def convert(weights: Path, graph: Path, model: LocalModel) -> None:
    """Write the published graph without its table of vectors, of which single characters alone are looked up, and beside
    it that part of the table, the tags, and how likely one follows another."""
    import onnx
    from onnx import numpy_helper

    folder, whole = graph.parent, onnx.load(weights)
    net = whole.graph

    def columns(name: str) -> list[list[str]]:
        lines = (folder / name).read_text("utf-8").split("\n")
        return [line.split("\t") for line in lines if "\t" in line]

    ids = {word: int(id_) for id_, word in columns("word.dic")}
    single = [word for word in ids if len(word) == 1]
    plain = [pair for pair in columns("q2b.dic") if len(pair[0]) == len(pair[1]) == 1]
    tags = {int(id_): tag for id_, tag in columns("tag.dic")}  # the last name of a tag counts: PER is nr
    follows = np.load(folder / "lac_crf_transitions.npy")[: len(tags), : len(tags)]
    lookup = next(node for node in net.node if node.op_type == "Gather")
    table = next(one for one in net.initializer if one.name == lookup.input[0])
    vectors = numpy_helper.to_array(table)
    np.savez(
        folder / TABLE,
        characters=np.array(single),
        vectors=vectors[[*(ids[word] for word in single), ids["OOV"]]].astype(np.float16),
        variants=np.array(["".join(side) for side in zip(*plain, strict=True)]),
        tags=np.array([tags[id_] for id_ in range(len(tags))]),
        follows=follows.astype(np.float32),
    )
    for file in model.kept:
        (folder / file.name).unlink()
    net.node.remove(lookup)
    net.initializer.remove(table)
    given = onnx.helper.make_tensor_value_info(
        lookup.output[0], onnx.TensorProto.FLOAT, ["texts", "length", vectors.shape[1]]
    )
    del net.input[:]
    net.input.append(given)
    onnx.save(whole, graph)


class ChineseNames:
    """Reads names with the model in `folder`."""

    def __init__(self, folder: Path) -> None:
        with np.load(folder / TABLE) as table:
            characters, variants = table["characters"].tolist(), table["variants"].tolist()
            self._vectors: NDArray[np.float16] = table["vectors"]
            self._follows: NDArray[np.float32] = table["follows"]
            self._tags: list[str] = table["tags"].tolist()
        self._begins = np.array([_NEVER if tag.endswith("-I") else 0.0 for tag in self._tags], np.float32)
        for first, before in enumerate(self._tags):
            for then, tag in enumerate(self._tags):
                if tag.endswith("-I") and before[:-2] != tag[:-2]:
                    self._follows[first, then] = _NEVER
        self._plain = str.maketrans(*variants)
        self._ids: Mapping[str, int] = {character: id_ for id_, character in enumerate(characters)}
        self._session = open_session(str(folder / GRAPH))
        self._input = self._session.get_inputs()[0].name

    def __call__(self, text: str) -> Iterator[Mention]:
        """The names in a text, in reading order."""
        for piece in _PIECE.findall(text):
            if _HAN.search(piece):
                yield from _names(piece, *self._read(piece))

    def _read(self, text: str) -> tuple[list[str], list[float]]:
        """The likeliest row of tags (Viterbi 1967), one for each character, and how sure each is by itself."""
        ids = [self._id(character) for character in text.translate(self._plain)]
        outputs = self._session.run(None, {self._input: self._vectors[[ids]].astype(np.float32)})
        told = np.asarray(outputs[0], np.float32)[0, :, : len(self._tags)]
        best = told[0] + self._begins
        back: list[NDArray[np.intp]] = []
        for scores in told[1:]:
            ways = best[:, None] + self._follows
            back.append(ways.argmax(0))
            best = ways.max(0) + scores
        path = [int(best.argmax())]
        for step in reversed(back):
            path.append(int(step[path[-1]]))
        path.reverse()
        shares = np.exp(told - told.max(1, keepdims=True))
        sure = shares[np.arange(len(path)), path] / shares.sum(1)
        return [self._tags[tag] for tag in path], sure.tolist()

    def _id(self, character: str) -> int:
        """A smiley is read as a comma: as an unknown character it would be taken for a part of the name before it."""
        known = self._ids.get(character)
        if known is None:
            known = len(self._ids) if character.isalnum() else self._ids[","]
        return known


def _names(text: str, tags: Sequence[str], sure: Sequence[float]) -> Iterator[Mention]:
    """The stretches that are tagged as names, each of whose characters is likely enough to be a part of it."""
    marks = " ".join(tags)
    for word in re.finditer(r"(\S+)-B(?: \1-I)*", marks):
        begin = marks.count(" ", 0, word.start())
        end = begin + word.group().count(" ") + 1
        if (kind := _KINDS.get(word[1])) and min(sure[begin:end]) >= LEAST_SURE:
            yield Mention(text[begin:end].strip(), kind)


def create_if_installed(environ: Mapping[str, str]) -> ChineseNames | None:
    """Reads with the installed model; None if it is not installed."""
    folder = installed(LAC, cache_dir(environ))
    return None if folder is None else ChineseNames(folder)
