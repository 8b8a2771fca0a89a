"""What is public is listed, exists, is described, and is all that others use."""

from __future__ import annotations

import ast
import inspect
import pkgutil
from functools import cache
from importlib import import_module, metadata
from pathlib import Path
from types import ModuleType

import amemorix

PACKAGE = Path(amemorix.__file__).parent
NAMES = sorted(
    info.name for info in pkgutil.walk_packages([str(PACKAGE)], "amemorix.") if not info.name.endswith("__main__")
)
LISTED = [
    "AMemorixHostService", "AggregateQueryService", "AsyncClient", "AsyncMemory", "Client", "DualPathRetriever", "EpisodeService", "GraphStore", "ImportTaskManager",
    "KernelSearchRequest", "Memory", "MemoryFault", "MetadataStore", "PersonProfileService", "RelationWriteService", "SDKMemoryKernel",
    "SparseBM25Index", "VectorStore", "__version__",
]  # fmt: skip


def tree(module: ModuleType) -> ast.Module:
    return ast.parse(Path(module.__file__ or "").read_text("utf-8"))


def defined(module: ModuleType) -> set[str]:
    """Names bound at the top of a module by a class, a function or an assignment."""
    names: set[str] = set()
    for node in tree(module).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return names


@cache
def modules() -> list[ModuleType]:
    """Every module that is not empty."""
    found = [import_module(name) for name in NAMES]
    return [module for module in found if Path(module.__file__ or "").read_text("utf-8").strip()]


def test_the_package_gives_these_names() -> None:
    assert sorted(amemorix.__all__) == LISTED


def test_what_is_listed_exists() -> None:
    wrong: list[str] = []
    for module in modules():
        listed = getattr(module, "__all__", None)
        if listed is None:
            continue  # a module of functions, used by its own name
        wrong += [f"{module.__name__}.{one} is not there" for one in listed if not hasattr(module, one)]
        wrong += [f"{module.__name__} lists a name twice"] * (len(listed) != len(set(listed)))
    assert wrong == []


def test_only_what_is_listed_is_used_elsewhere() -> None:
    """A module of this package takes from another only what that one lists."""
    assert [one for module in modules() for one in taken_unlisted(module)] == []


def taken_unlisted(module: ModuleType) -> list[str]:
    name = module.__name__
    package = name if hasattr(module, "__path__") else name.rpartition(".")[0]
    wrong: list[str] = []
    for node in ast.walk(tree(module)):
        if not isinstance(node, ast.ImportFrom):
            continue
        base = package.rsplit(".", node.level - 1)[0] if node.level > 1 else package
        target = f"{base}.{node.module}" if node.module else base
        target = target if node.level else (node.module or "")
        stub = PACKAGE.parent.joinpath(*target.split(".")).with_suffix(".pyi")
        if not target.startswith("amemorix") or stub.is_file():
            continue
        other = import_module(target)
        listed = set(getattr(other, "__all__", ()))
        submodules = {info.name for info in pkgutil.iter_modules(getattr(other, "__path__", []))}
        wrong += [f"{name}: {target}.{alias.name}" for alias in node.names if alias.name not in listed | submodules]
    return wrong


def test_every_module_says_what_it_is() -> None:
    assert [module.__name__ for module in modules() if not module.__doc__] == []


def test_what_the_package_gives_is_described() -> None:
    assert [name for name in LISTED if name[0] != "_" and not inspect.getdoc(getattr(amemorix, name))] == []


def test_the_version_is_the_projects() -> None:
    assert metadata.version("amemorix") == amemorix.__version__
