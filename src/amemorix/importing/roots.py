"""The folders that files may be imported from: nothing outside of them is ever opened."""

from __future__ import annotations

import contextlib
import errno
import fnmatch
import json
import os
import stat
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath

from ..errors import InvalidRequest, NotFound
from ..lazy_regex import lazy_regex
from ..store.keys import Keyring
from ..store.sealed_files import is_sealed, opened_chunks

__all__ = ["ALIASES", "IMPORTS", "STAGING", "Opened", "Places"]

IMPORTS = "imports"
"""The folder of the data directory that holds what is imported."""
STAGING = "staging"
"""Files that were handed over; they are the program's own, and go when they have been read."""
ALIASES = {"raw": "source/raw", "lpmm": "source/lpmm", "maibot": "source/maibot", "converted": "converted"}
"""Names of folders below `imports/`."""
_TOLD_BYTE = lazy_regex(rb"\\x([89a-f][0-9a-f])")
_BY_DESCRIPTOR = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
_FLAGS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


@dataclass(frozen=True, slots=True)
class Opened:
    """A file or folder that is held open; `path` leads to just this one, whatever has become of its name.

    `beside` leads to it by its name in its folder, which is held open too: for a file that has others beside it.
    """

    path: Path
    beside: Path
    descriptor: int
    is_folder: bool
    size: int


class Places:
    """Resolves (root, path) pairs, where a root is an alias or one of the configured folders.

    A path is followed from its root one name at a time, and no symbolic link on the way: what is opened lies below the
    root even if names are exchanged meanwhile. Bytes of a name that are no UTF-8, as in old Chinese archives, are told
    as `\\xff`.
    """

    def __init__(self, data_dir: Path, roots: Iterable[str], keys: Keyring | None = None) -> None:
        self._keys = keys
        home = data_dir / IMPORTS
        self.staging = home / STAGING
        self._folders = {STAGING: self.staging, **{name: home / below for name, below in ALIASES.items()}}
        self._roots = {str(path): path for path in (Path(root).expanduser().absolute() for root in roots)}

    def aliases(self) -> dict[str, Path]:
        """Name -> folder, made where it is missing."""
        found = {name: self._folders[name] for name in ALIASES}
        for folder in found.values():
            folder.mkdir(parents=True, exist_ok=True)
        return found

    @property
    def roots(self) -> list[str]:
        """The configured folders."""
        return list(self._roots)

    def split(self, path: str) -> tuple[str, str]:
        """(root, path below it) of an absolute path. Raises InvalidRequest if it lies below no configured folder."""
        try:
            given = Path(path).expanduser()
        except RuntimeError as exc:
            raise InvalidRequest(f"path: {path!r} is no path: {exc}", field="path") from exc
        for name, root in self._roots.items():
            if given.is_absolute() and given.is_relative_to(root):
                below = given.relative_to(root).as_posix()
                return name, "" if below == "." else "/".join(_parts(below))
        folder = str(given if os.path.isdir(given) else given.parent)  # of a name that is too long, too
        raise InvalidRequest(
            f"path: {path} lies below none of the folders in `imports.roots`. "
            f"`amemorix config set imports.roots '{json.dumps([*self.roots, folder], ensure_ascii=False)}'` allows it.",
            field="path", allowed=self.roots,
        )  # fmt: skip

    def shown(self, root: str, path: str) -> Path:
        """Where it would be; nothing is opened. Raises InvalidRequest."""
        return self._folder(root).joinpath(*_parts(path))

    @contextlib.contextmanager
    def opened(self, root: str, path: str) -> Generator[Opened]:
        """Hold a file or folder open. Raises InvalidRequest for a link or a special file, NotFound if nothing is there."""
        folder = self._folder(root)
        parts = _spelt(folder, _parts(path))
        with contextlib.ExitStack() as stack:
            above = _open(folder, parts[:-1])
            stack.callback(os.close, above)
            held = _open(folder, parts, above)
            stack.callback(os.close, held)
            about = os.fstat(held)
            if not (stat.S_ISREG(about.st_mode) or stat.S_ISDIR(about.st_mode)):
                raise InvalidRequest(
                    f"relative_path: {_name(parts)} is neither a file nor a folder.", field="relative_path"
                )
            is_folder = stat.S_ISDIR(about.st_mode)
            size = sum(s for _, s in _files(held)) if is_folder else about.st_size
            place = folder.joinpath(*parts)
            if self._keys and root == STAGING and not is_folder and is_sealed(place):
                try:
                    held = _in_memory(place, self._keys)
                except ValueError as exc:
                    raise InvalidRequest(f"file: {exc}.", field="file") from exc
                stack.callback(os.close, held)
                clear = Path(f"/proc/self/fd/{held}")
                yield Opened(clear, clear, held, False, os.fstat(held).st_size)
                return
            beside = _path_of(above, place.parent) / parts[-1] if parts else _path_of(held, place)
            yield Opened(_path_of(held, place), beside, held, is_folder, size)

    def matching(self, root: str, path: str, pattern: str, recursive: bool) -> Iterator[str]:
        """Paths of the files below a folder whose path or name fits a pattern such as `*.md`, in order; links are left out."""
        with self.opened(root, path) as opened:
            if not opened.is_folder:
                yield path
                return
            for found in sorted(_told(name) for name, _ in _files(opened.descriptor, recursive=recursive)):
                if fnmatch.fnmatch(found, pattern) or fnmatch.fnmatch(PurePosixPath(found).name, pattern):
                    yield f"{path}/{found}" if path else found

    def _folder(self, root: str) -> Path:
        known = {**self._folders, **self._roots}
        if root not in known:
            raise InvalidRequest(
                f"alias: there is no folder {root!r}. Known: {', '.join([*ALIASES, *self._roots])}.",
                field="alias", allowed=[*ALIASES, *self._roots],
            )  # fmt: skip
        return known[root]


def _parts(path: str) -> tuple[str, ...]:
    """The names on the way. Raises InvalidRequest for one that leads up or away."""
    wrong = path.startswith(("/", "~")) or PureWindowsPath(path).drive or "\0" in path
    parts = PurePosixPath(path.replace("\\", "/") if os.name == "nt" else path).parts
    if wrong or ".." in parts or ".." in PureWindowsPath(path).parts:
        raise InvalidRequest(
            "relative_path: it must lead down from its folder: no `..`, and no `/` or drive before it.",
            field="relative_path",
        )
    return parts


def _name(parts: tuple[str, ...]) -> str:
    return _told("/".join(parts)) or "The folder"


def _told(path: str) -> str:
    """A path that can be written down."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _spelt(folder: Path, parts: tuple[str, ...]) -> tuple[str, ...]:
    """The names as the disk has them: a told byte stands for itself, unless a name is really spelt so."""
    for number, part in enumerate(parts):
        meant = os.fsdecode(_TOLD_BYTE.sub(lambda found: bytes([int(found[1], 16)]), os.fsencode(part)))
        if meant != part and not os.path.lexists(folder.joinpath(*parts[: number + 1])):
            parts = (*parts[:number], meant, *parts[number + 1 :])
    return parts


def _open(folder: Path, parts: tuple[str, ...], above: int | None = None) -> int:
    """A descriptor of the last of the names; `above` is one of the folder it is in. Raises InvalidRequest, NotFound."""
    try:
        if not _BY_DESCRIPTOR:  # names cannot be followed one at a time: the resolved path has to lie below the folder
            path = folder.joinpath(*parts).resolve(strict=True)
            if not path.is_relative_to(folder.resolve()):
                raise OSError(errno.ELOOP, "a link leads out of the folder")
            return os.open(path, _FLAGS)
        if above is not None and parts:
            return os.open(parts[-1], _FLAGS, dir_fd=above)
        here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        for part in parts:
            try:
                below = os.open(part, _FLAGS, dir_fd=here)
            finally:
                os.close(here)
            here = below
        return here
    except OSError as exc:
        raise _refusal(exc, parts) from exc


def _refusal(exc: OSError, parts: tuple[str, ...]) -> InvalidRequest | NotFound:
    if exc.errno in (errno.ENOENT, errno.ENOTDIR):
        return NotFound(f"relative_path: there is no {_name(parts)}.", field="relative_path")
    if exc.errno in (errno.ELOOP, errno.EMLINK):
        return InvalidRequest(f"relative_path: {_name(parts)} goes through a symbolic link.", field="relative_path")
    return InvalidRequest(f"relative_path: {_name(parts)} cannot be opened: {exc.strerror}.", field="relative_path")


def _path_of(descriptor: int, path: Path) -> Path:
    """A path that leads to what is held open; by its name where the system knows no such path."""
    held = Path(f"/proc/self/fd/{descriptor}")
    return held if held.exists() else path


def _in_memory(place: Path, keys: Keyring) -> int:
    """A descriptor of what a sealed file holds, in a file that is in memory alone. Raises InvalidRequest."""
    if not hasattr(os, "memfd_create"):
        raise InvalidRequest(
            "file: on this system files that were handed over cannot be read by an encrypted memory without being written in "
            "the clear; put the file below a folder of `imports.roots`.",
            field="file",
        )
    held = os.memfd_create("amemorix-import")
    try:
        with open(held, "wb", closefd=False) as clear:
            for chunk in opened_chunks(place, keys):
                clear.write(chunk)
    except BaseException as exc:
        os.close(held)
        if isinstance(exc, ValueError):
            raise InvalidRequest(f"file: it cannot be read: {exc}.", field="file") from exc
        raise
    return held


def _files(descriptor: int, *, recursive: bool = True) -> Iterator[tuple[str, int]]:
    """(path, size) of the regular files below a folder; links are not followed and not named."""
    for folder, folders, names, here in os.fwalk(".", dir_fd=descriptor, follow_symlinks=False):
        for name in names:
            about = os.stat(name, dir_fd=here, follow_symlinks=False)
            if stat.S_ISREG(about.st_mode):
                yield PurePosixPath(folder, name).as_posix(), about.st_size
        folders.sort()
        if not recursive:
            return
