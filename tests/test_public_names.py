"""What is public is listed, exists, is described, and is all that others use."""

from __future__ import annotations

import ast
import inspect
import pkgutil
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import amemorix

PACKAGE = Path(amemorix.__file__).parent
NAMES = sorted(
    info.name for info in pkgutil.walk_packages([str(PACKAGE)], "amemorix.") if not info.name.endswith("__main__")
)
LISTED = ["AMemorixHostService", "MemoryFault", "SDKMemoryKernel", "__version__"]


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


def has_code(module: ModuleType) -> bool:
    return bool(Path(module.__file__ or "").read_text("utf-8").strip())


def test_the_package_gives_these_names() -> None:
    assert sorted(amemorix.__all__) == LISTED


@pytest.mark.parametrize("name", NAMES)
def test_what_is_listed_exists_and_is_sorted(name: str) -> None:
    module = import_module(name)
    if not has_code(module):
        return
    listed = getattr(module, "__all__", None)
    if listed is None:
        assert not {one for one in defined(module) if not one.startswith("_")}, "a module with names needs __all__"
        return
    assert len(listed) == len(set(listed))
    assert [one for one in listed if not hasattr(module, one)] == []


@pytest.mark.parametrize("name", NAMES)
def test_only_what_is_listed_is_used_elsewhere(name: str) -> None:
    """A module of this package takes from another only what that one lists."""
    module = import_module(name)
    if not has_code(module):
        return
    package = name if hasattr(module, "__path__") else name.rpartition(".")[0]
    wrong: list[str] = []
    for node in ast.walk(tree(module)):
        if not isinstance(node, ast.ImportFrom):
            continue
        base = package.rsplit(".", node.level - 1)[0] if node.level > 1 else package
        target = f"{base}.{node.module}" if node.module else base
        target = target if node.level else (node.module or "")
        if not target.startswith("amemorix"):
            continue
        other = import_module(target)
        listed = set(getattr(other, "__all__", ()))
        submodules = {info.name for info in pkgutil.iter_modules(getattr(other, "__path__", []))}
        wrong += [f"{target}.{alias.name}" for alias in node.names if alias.name not in listed | submodules]
    assert wrong == []


@pytest.mark.parametrize("name", NAMES)
def test_every_public_class_and_function_is_described(name: str) -> None:
    module = import_module(name)
    if not has_code(module):
        return
    assert module.__doc__, "a module says in a sentence what it is"
    for one in getattr(module, "__all__", ()):
        value = getattr(module, one)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert (value.__doc__ or "").strip(), one


def test_the_version_is_the_projects() -> None:
    text = (PACKAGE.parent.parent / "pyproject.toml").read_text("utf-8")
    assert f'version = "{amemorix.__version__}"' in text
