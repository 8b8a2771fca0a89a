"""`amemorix deploy`: the files that run a daemon elsewhere, filled in for this installation."""

from __future__ import annotations

import getpass
import json
import os
import re
import shutil
import sys
from importlib.metadata import PackageNotFoundError, distribution
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import unquote, urlsplit

import typer

from ...config import Config, load
from ...location import data_folder, project_folder
from ...models.cache import cache_dir
from ...version import __version__
from .terminal import DEFAULT_CONFIG, ConfigPath, remark

Kind = Literal["compose", "systemd", "docker"]
FILES: dict[Kind, str] = {"compose": "compose.yaml", "systemd": "deploy/amemorix.service", "docker": "Dockerfile"}
"""Where each lies in a clone."""
NEXT: dict[Kind, str] = {
    "compose": "Save it as compose.yaml beside the Dockerfile of `amemorix deploy docker`; then AMEMORIX_TOKEN=… docker compose up --detach --build.",
    "systemd": "Save it as /etc/systemd/system/amemorix.service; then systemctl enable --now amemorix.",
    "docker": "Save it as Dockerfile, beside the wheel if it copies one; then `docker build --tag amemorix .` makes it.",
}
_SOURCES = re.compile(r"(?m)^COPY scripts/constraints\.txt .*\n(?:.*\n)*?(?=ARG MODEL=)")
"""What a Dockerfile does with the sources of a clone."""


def deploy(
    kind: Annotated[Kind, typer.Argument(help="For Docker Compose, for systemd, or the image itself.")],
    config: ConfigPath = DEFAULT_CONFIG,
) -> None:
    """Print a compose.yaml, a systemd unit or a Dockerfile for this installation; on standard error, what to do with it."""
    shipped, name = files("amemorix").joinpath("deploy", Path(FILES[kind]).name), FILES[kind]
    text = (shipped if shipped.is_file() else Path(__file__).parents[4] / name).read_text("utf-8")
    settings = load(config) if config.exists() else Config()
    if kind == "systemd":
        text = _unit(text, config, settings)
    elif kind == "docker":
        text = _dockerfile(text)
    else:
        port, model = settings.http.port or 7400, settings.embedding.model_name
        text = text.replace('"127.0.0.1:7400:7400"', f'"127.0.0.1:{port}:7400"')
        if settings.embedding.provider not in ("auto", "local"):
            model = ""
        elif not model:
            model = "multilingual-e5-small"
        text = text.replace("${MODEL-multilingual-e5-small}", f"${{MODEL-{model}}}")
    typer.echo(text.rstrip("\n"))
    remark(NEXT[kind])


def _unit(text: str, config: Path, settings: Config) -> str:
    """The unit with this program, its models and its configuration; with a memory of one's own, as its owner."""
    command = shutil.which("amemorix", path=str(Path(sys.executable).parent)) or shutil.which("amemorix") or sys.argv[0]
    command = str(Path(command).absolute())
    own = config.exists()
    at_home = any(
        Path(one).is_relative_to(top) for one in (command, cache_dir(os.environ)) for top in ("/home", "/root")
    )
    text = re.sub(
        r"\A(?:#.*\n)+",
        "# Keys of remote models and AMEMORIX_TOKEN=…, a line each, go into /etc/amemorix.env (mode 600).\n",
        text,
    )
    values = {"ExecStart": f"{_word(command)} serve"}
    if own or at_home:
        values |= {"DynamicUser": f"no\nUser={getpass.getuser()}", "ProtectHome": "no" if own else "read-only"}
    if own:
        path = config.absolute()
        project, data = project_folder(path), data_folder(path, settings.storage.data_dir)
        places = dict.fromkeys([project, path.parent, data])
        text = text.replace("StateDirectory=amemorix\nStateDirectoryMode=0700\n", "")
        text = text.replace(
            "Environment=AMEMORIX_CONFIG=/var/lib/amemorix/a_memorix.toml",
            f"Environment={_word(f'AMEMORIX_CONFIG={path}')}",
        )
        values |= {
            "WorkingDirectory": str(project).replace("%", "%%"),
            "ProtectSystem": f"strict\nReadWritePaths={' '.join(_word(str(one)) for one in places)}",
        }
    text = text.replace(
        "Environment=AMEMORIX_CACHE=/opt/amemorix/cache",
        f"Environment={_word(f'AMEMORIX_CACHE={cache_dir(os.environ)}')}",
    )
    for key, value in values.items():
        text = re.sub(rf"(?m)^{key}=.*$", lambda _, line=f"{key}={value}": line, text)
    return text


def _word(text: str) -> str:
    """As one word of a unit file."""
    text = text.replace("%", "%%")
    return (
        text
        if re.fullmatch(r"[\w@%+=:,./-]+", text)
        else f'"{text.replace(chr(92), chr(92) * 2).replace(chr(34), chr(92) + chr(34))}"'
    )


def _dockerfile(text: str) -> str:
    """The image of a clone, or one that installs what this program was installed from."""
    try:
        origin = json.loads(distribution("amemorix").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        origin = {}
    if origin.get("dir_info") is not None:
        return text
    if vcs := origin.get("vcs_info"):
        source = f"{vcs['vcs']}+{origin['url']}@{vcs['commit_id']}"
        text = text.replace("-slim AS build", " AS build")  # the whole image has git
        before, wanted = "", f"amemorix[$extras] @ {source}"
    elif url := origin.get("url", ""):
        name = Path(unquote(urlsplit(url).path)).name
        before, wanted = f"COPY {name} ./\n", f"./{name}[$extras]"
    else:
        before, wanted = "", f"amemorix[$extras]=={__version__}"
    text = _SOURCES.sub(lambda _: before, text)
    return text.replace('--constraint scripts/constraints.txt ".[$extras]"', f'"{wanted}"')
