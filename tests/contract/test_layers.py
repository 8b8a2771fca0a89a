"""Imports point down, SQL stays in its place, and importing does nothing."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import amemorix

PACKAGE = Path(amemorix.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
LEAVES = (
    "errors", "version", "clock", "lazy_regex", "locale", "sorted_arrays", "extras", "location", "foreground_priority",
    "runtime_status", "ops", "audit_context", "operation_types",
)  # fmt: skip
CORE = ("config", "language", "ids", "fields", "ports", "models", "store", "background", "indexes")
SUBJECTS = (
    "ingest", "spaces", "facts", "graph", "episodes", "profiles", "search", "lifecycle", "corrections", "importing",
    "copies", "forgetting", "tuning", "runtime",
)  # fmt: skip
TOP = ("host", "testing", "facades", "frontends", "integrations", "compat", "generated")
ORDER = (*LEAVES, *CORE, *SUBJECTS, *TOP)
"""Each part may import those before it. `amemorix_bench` stands beside, and the command line loads it when asked."""
PUBLIC_ROOT = "amemorix"
"""The names that `import amemorix` gives: only the top may go through them."""
STATEMENT = re.compile(r"\s*(select|insert (or \w+ )?into|update \w+ set|delete from|create (table|index|trigger|virtual)|"
                       r"with \w+ as \(|pragma)\b", re.I)  # fmt: skip


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def module_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def exists(module: str) -> bool:
    path = PACKAGE.parent.joinpath(*module.split("."))
    return path.is_dir() or path.with_suffix(".py").is_file()


def absolute(path: Path, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    module = module_of(path).split(".")
    package = module if path.name == "__init__.py" else module[:-1]
    base = package[: len(package) - node.level + 1]
    return ".".join([*base, *(node.module or "").split(".")]).rstrip(".")


def imports(path: Path, nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """(line, module) of the import statements among these nodes."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = absolute(path, node)
            inner = [f"{base}.{alias.name}" for alias in node.names]
            yield from ((node.lineno, module if exists(module) else base) for module in inner)


def named_in_strings(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """(line, module) of what is imported on use, such as "amemorix.models.local.embedder:create"."""
    for node in nodes:
        if isinstance(node, ast.Constant) and re.fullmatch(r"amemorix(\.\w+)+:\w+", str(node.value)):
            yield node.lineno, str(node.value).partition(":")[0]


def of_this_package(found: Iterable[tuple[int, str]]) -> list[tuple[int, str]]:
    return [(line, module) for line, module in found if module.split(".")[0] == PUBLIC_ROOT]


def part_of(module: str) -> str:
    return module.split(".")[1] if "." in module else PUBLIC_ROOT


def test_imports_point_down() -> None:
    up: list[str] = []
    for path in FILES:
        mine = part_of(module_of(path))
        if mine == PUBLIC_ROOT:
            continue
        allowed = {*ORDER[: ORDER.index(mine) + 1], *((PUBLIC_ROOT,) if mine in TOP else ())}
        nodes = list(loaded(tree(path)))
        found = of_this_package([*imports(path, nodes), *named_in_strings(nodes)])
        up += [f"{path}:{line} imports {module}" for line, module in found if part_of(module) not in allowed]
    assert not up, "\n".join(up)


def loaded(node: ast.AST) -> Iterator[ast.AST]:
    """Every node but those that only a type checker reads."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"):
            yield from loaded(child)


def test_every_part_has_its_place() -> None:
    assert {part_of(module_of(path)) for path in FILES} - {PUBLIC_ROOT} <= set(ORDER)


def test_no_folder_is_a_hall() -> None:
    folders = {path.parent for path in FILES}
    assert {str(folder): n for folder in folders if (n := len(list(folder.glob("*.py")))) > 28} == {}


def test_no_module_imports_itself_through_others() -> None:
    graph: dict[str, set[str]] = {}
    for path in FILES:
        at_load = tree(path).body
        graph[module_of(path)] = {module for _, module in of_this_package(imports(path, at_load))}
    reaches: dict[str, set[str]] = {module: set(found) for module, found in graph.items()}
    for middle in graph:
        for module, found in reaches.items():
            if middle in found and module != middle:
                found |= reaches[middle]
    assert [module for module, found in reaches.items() if module in found] == []


def test_sql_is_only_in_the_store() -> None:
    outside = [p for p in FILES if "store" not in p.parts]
    found = [
        f"{path}:{node.lineno} {node.value[:60]!r}"
        for path in outside
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and STATEMENT.match(node.value)
    ]
    assert not found, "\n".join(found)


def test_only_the_store_imports_a_database_driver() -> None:
    """Rooms and Exo's items may be kept in a database of somebody else's."""
    drivers = {"sqlite3", "sqlcipher3", "psycopg", "aiosqlite"}
    found = {
        str(path.relative_to(PACKAGE))
        for path in FILES
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Import | ast.ImportFrom) and not getattr(node, "level", 0)
        for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names])
        if name.split(".")[0] in drivers
    }
    assert {path for path in found if not path.startswith("store/")} <= {
        "facades/postgres.py", "facades/exo/postgres.py", "facades/rooms/adapters/postgres.py",
    }  # fmt: skip


def test_front_ends_do_not_know_the_kernel() -> None:
    """They loop over the table of operations and ask the host service."""
    named = [
        f"{path}:{node.lineno}"
        for path in (PACKAGE / "frontends").rglob("*.py")
        for node in ast.walk(tree(path))
        if (isinstance(node, ast.Attribute) and node.attr in ("kernel", "_kernel"))
        or (isinstance(node, ast.alias) and node.name == "SDKMemoryKernel")
        or (isinstance(node, ast.ImportFrom) and absolute(path, node).endswith("host.kernel"))
    ]
    assert not named, "\n".join(named)


def test_importing_writes_nothing_and_reads_no_setting(tmp_path: Path) -> None:
    watch = (
        "import sys, os\n"
        "wrote = []\n"
        "def hook(event, args):\n"
        "    if event == 'open' and isinstance(args[1], str) and set(args[1]) & set('wax+'): wrote.append(args[0])\n"
        "    if event in ('os.mkdir', 'os.rename', 'os.remove', 'socket.connect', 'sqlite3.connect'): wrote.append((event, args))\n"
        "sys.dont_write_bytecode = True\n"
        "sys.addaudithook(hook)\n"
        "import amemorix, amemorix.testing, threading\n"
        "print(wrote, threading.active_count())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", watch], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout.strip() == "[] 1"
    assert list(tmp_path.iterdir()) == []


def test_modules_do_nothing_at_import() -> None:
    """No call at module level opens a file or reads the environment."""
    forbidden = re.compile(r"^(open|os\.(environ|getenv)|Path\(.*\)\.(read|write)_\w+|print|input)\b")
    defined = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    calls = [
        f"{path}: {ast.unparse(call)}"
        for path in FILES
        for node in tree(path).body
        if not isinstance(node, defined)
        for call in ast.walk(node)
        if isinstance(call, ast.Call | ast.Subscript)
    ]
    assert [call for call in calls if forbidden.match(call.split(": ", 1)[1])] == []
