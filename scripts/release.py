"""Make a release: the version is set, the changelog's Unreleased becomes it, wheel, sdist and image are built, the commit is tagged.

All of it happens in a clone beside; the checkout gets the commit, the tag and dist/ when nothing went wrong, and
nothing at all with --dry-run. Nothing is pushed or uploaded.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:(a|b|rc)(\d+))?")
VERSION_FILE = "src/amemorix/version.py"
STATED = re.compile(r'(?m)^__version__ = "(.+)"$')
UNRELEASED = re.compile(r"(?ms)^## Unreleased\n+(.*?)(?=^## |\Z)")
TESTS = {"all": ["scripts/test"], "quick": ["scripts/test", "-m", "quick"], "none": []}


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/release", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("version", help="such as 0.2.0 or 0.2.0rc1")
    parser.add_argument("--tests", choices=TESTS, default="all", help="what has to pass before")
    parser.add_argument("--dry-run", action="store_true", help="do all of it beside, and keep nothing")
    wish = parser.parse_args()
    root, tag = Path.cwd(), f"v{wish.version}"
    changes = refuse_unready(root, wish.version, tag)
    if TESTS[wish.tests]:
        subprocess.run(["scripts/check"], cwd=root, check=True)
        subprocess.run(TESTS[wish.tests], cwd=root, check=True)
    with tempfile.TemporaryDirectory(prefix="amemorix-release-") as scratch:
        clone = Path(scratch) / "clone"
        git(root, "clone", "--quiet", ".", str(clone))
        set_version(clone, wish.version)
        for name in ("user.name", "user.email"):
            git(clone, "config", name, git(root, "config", name))
        git(clone, "commit", "--quiet", "--all", "--message", f"Release {wish.version}")
        built = build(clone, wish.version)
        git(clone, "tag", "--annotate", tag, "--cleanup=verbatim", "--message", f"{wish.version}\n\n{changes}")
        print(git(clone, "show", "--stat", "--format=%h %s", "HEAD"))
        for file in built:
            print(f"{file.name}  {file.stat().st_size / 1e6:.1f} MB")
        image = build_image(clone, wish.version)
        if wish.dry_run:
            if image:
                subprocess.run(["docker", "image", "rm", image], check=True, stdout=subprocess.DEVNULL)
            print(f"{wish.version} could be released; nothing was kept.")
            return
        git(root, "fetch", "--quiet", str(clone), f"refs/tags/{tag}:refs/tags/{tag}")
        git(root, "merge", "--quiet", "--ff-only", tag)
        (root / "dist").mkdir(exist_ok=True)
        for file in built:
            shutil.copy(file, root / "dist")
    print(f"{wish.version} is committed, tagged {tag} and in dist/. To publish it:")
    print(f"  git push origin HEAD {tag}\n  twine upload dist/amemorix-{wish.version}*")
    print(
        f"  docker push {image}, tagged for a registry"
        if image
        else f"  docker build -t amemorix:{wish.version} . at {tag}"
    )


def refuse_unready(root: Path, version: str, tag: str) -> str:
    """What the changelog says of the release; the program ends where something stands against it."""
    stated = STATED.search((root / VERSION_FILE).read_text("utf-8"))
    changes = UNRELEASED.search((root / "CHANGELOG.md").read_text("utf-8"))
    if not VERSION.fullmatch(version):
        sys.exit(f"{version} is no version: give one such as 0.2.0 or 0.2.0rc1.")
    if not stated or order(version) <= order(stated[1]):
        sys.exit(f"{version} does not come after {stated[1] if stated else 'what is stated'}.")
    if dirty := git(root, "status", "--porcelain"):
        sys.exit(f"The tree is not clean:\n{dirty}")
    if git(root, "tag", "--list", tag):
        sys.exit(f"{tag} is there already.")
    if not changes or not changes[1].strip():
        sys.exit("CHANGELOG.md says nothing under Unreleased.")
    return changes[1].strip()


def order(version: str) -> tuple[int, int, int, str, int]:
    """Comes before that of every later version: 0.2.0a1 < 0.2.0rc1 < 0.2.0."""
    found = VERSION.fullmatch(version)
    if not found:
        sys.exit(f"{version} in {VERSION_FILE} is no version.")
    major, minor, patch, stage, number = found.groups()
    return int(major), int(minor), int(patch), stage or "~", int(number or 0)


def set_version(clone: Path, version: str) -> None:
    """Wherever it is stated: in the program, the changelog, and the files that are made from the models."""
    file, changelog = clone / VERSION_FILE, clone / "CHANGELOG.md"
    file.write_text(STATED.sub(f'__version__ = "{version}"', file.read_text("utf-8")), "utf-8")
    text = changelog.read_text("utf-8")
    changelog.write_text(text.replace("## Unreleased\n", f"## Unreleased\n\n## {version}\n", 1), "utf-8")
    env = {**os.environ, "PYTHONPATH": str(clone / "src")}
    subprocess.run([sys.executable, "-m", "amemorix.generated", "."], cwd=clone, env=env, check=True)


def build(clone: Path, version: str) -> list[Path]:
    """Wheel and sdist; they hold the version and the commit that they are built from."""
    subprocess.run([sys.executable, "-m", "hatchling", "build"], cwd=clone, check=True, stdout=subprocess.DEVNULL)
    wheel = clone / "dist" / f"amemorix-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as inside:
        commit = inside.read("amemorix/commit.txt").decode().strip()
    if commit != git(clone, "rev-parse", "--short=7", "HEAD"):
        sys.exit(f"The wheel says that it is built from {commit}.")
    return [wheel, clone / "dist" / f"amemorix-{version}.tar.gz"]


def build_image(clone: Path, version: str) -> str:
    """The image, where a docker engine answers; empty where none does, which is said."""
    if (
        shutil.which("docker") is None
        or subprocess.run(["docker", "info"], capture_output=True, check=False).returncode
    ):
        print("The image was NOT built: no docker engine answers here.")
        return ""
    image, commit = f"amemorix:{version}", git(clone, "rev-parse", "--short=7", "HEAD")
    subprocess.run(["docker", "build", "--build-arg", f"COMMIT={commit}", "--tag", image, "."], cwd=clone, check=True)
    print(f"image {image}")
    return image


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"git {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout.strip()


if __name__ == "__main__":
    main()
