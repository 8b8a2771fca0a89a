"""Operations on the whole of a memory, two and more, one in the midst of another, ended by kill -9 at any file operation.

Purges, encryption on and off, rotations, backups, restores, imports, exports, changed settings and a moved data folder follow
each other; a process is killed at one of its file operations, and the next one begins with the memory as it lies there, or with
a command on it. After each life everything is compared with what it may be.

`AMEMORIX_PAIRS=500 ./scripts/test tests/crash/test_pairs_killed.py` runs more histories, `AMEMORIX_PAIRS_SEED=17` begins at that
seed. Odd seeds begin encrypted, even ones in the clear.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import os
import random
import re
import shutil
import signal
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from datetime import UTC
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest

from amemorix import AMemorixHostService
from amemorix.clock import SystemClock
from amemorix.errors import NotReady
from amemorix.forgetting import files as purge_files
from amemorix.forgetting import purge
from amemorix.host.environment import Surroundings
from amemorix.location import locate
from amemorix.store import operations as operation_rows
from amemorix.store import sqlite
from amemorix.store.compaction import open_copy
from amemorix.store.keys import KEYS_FILE, Keyring, is_plain
from amemorix.store.ports import Connection
from amemorix.testing import HashEmbedder, stale_indexes
from command_line import run, words
from copies_model import Account, Held, Kind, Operation, World, ids_in, line, of_chat
from encrypted_memory import RAW_KEY, SECRET
from lives import Deadline, Life, Tell
from test_histories import errors_logged

HISTORIES = int(os.environ.get("AMEMORIX_PAIRS", "16"))
FIRST_SEED = int(os.environ.get("AMEMORIX_PAIRS_SEED", "1"))
CHATS = ("c0", "c1", "c2")
SETTLE_SECONDS = 60.0
RUNTIME, DELETE, KEYS, IMPORT = "memory_runtime_admin", "memory_delete_admin", "memory_key_admin", "memory_import_admin"
ONLINE = ("write", "write", "import", "delete", "purge", "purge", "backup", "restore", "rotate", "settings", "export")
OFFLINE = ("enable", "disable", "restore", "settings", "move")
BESIDE = ("write", "import", "purge", "backup", "rotate", "settings", "export")
BESIDE_DELETE = ("write", "import", "backup", "rotate", "settings", "export")
BESIDE_RESTORE = ("backup", "rotate")
"""What is tried at the same time as another: what comes to the same whichever is first."""
SWITCHES = ("enable", "disable")
EXPORT = "all.jsonl"
FILLED = (8, 9)
"""Histories whose numbers end so begin with the import of an export into an empty memory."""
UNFINISHED, ENCRYPTED = "A purge is not finished", "encrypted, and this memory is not"
"""What a command may refuse a restore for."""
SETTINGS = """\
[embedding]
provider = 'host'
[retrieval]
candidates = 50
[episode]
model_enabled = false
[extraction]
chinese_names = false
[backup]
keep = 100
roots = ['{elsewhere}']
[storage]
data_dir = 'data/first'
[storage.encryption]
enabled = {encrypted}
key_env = 'KEY'
"""

Step = dict[str, Any]
"""`do`, and what it is done with; with `beside`, another that is done at the same time."""
Death = tuple[int, int, float]
"""The step before which the count begins, -1 for the opening; file operations from there; seconds after the last."""


def config_of(folder: Path) -> Path:
    return folder / "config" / "a_memorix.toml"


def data_of(folder: Path) -> Path:
    location = locate(config_of(folder))
    assert location is not None, config_of(folder).read_text()
    return location.folder


def setting(folder: Path, name: str) -> str:
    found = re.search(rf"^{name} = (.+)$", config_of(folder).read_text(), re.M)
    assert found, config_of(folder).read_text()
    return found[1]


# which histories


def steps_of(rng: random.Random) -> list[Step]:
    """What one process does; commands on a closed memory come before it is opened, or after."""
    steps: list[Step] = []
    for _ in range(rng.choice((2, 3, 3, 4))):
        name = rng.choice(OFFLINE if rng.random() < 0.35 else ONLINE)
        offline = name in OFFLINE and (name not in ONLINE or rng.random() < 0.5)
        step = step_of(name, rng) | {"offline": offline}
        if not offline and rng.random() < 0.4:
            others = BESIDE_RESTORE if name == "restore" else BESIDE_DELETE if name == "delete" else BESIDE
            other = step_of(rng.choice(others), rng) | {"offline": False}
            if other["do"] != name and other["chat"] != step["chat"]:
                step["beside"] = other
        steps.append(step)
    return steps


def step_of(name: str, rng: random.Random) -> Step:
    chat = rng.randrange(len(CHATS))
    lines = [line(chat, rng) for _ in range(rng.choice((1, 3, 9)))]
    return {
        "do": name, "chat": CHATS[chat], "lines": lines, "wait": rng.random() < 0.7, "rotate": rng.random() < 0.35,
        "backups": rng.random() < 0.5, "elsewhere": rng.random() < 0.3, "number": rng.randint(30, 90), "pick": rng.random(),
    }  # fmt: skip


def first_steps(rng: random.Random) -> list[Step]:
    """Lines in each chat, a backup, a deletion that waits to be purged, another backup, and an export."""
    steps = [
        step_of("write", rng) | {"chat": chat, "lines": [line(n, rng) for _ in range(5)]}
        for n, chat in enumerate(CHATS)
    ]
    steps += [
        step_of("backup", rng) | {"elsewhere": False},
        step_of("delete", rng),
        step_of("backup", rng) | {"elsewhere": True},
    ]
    return [step | {"offline": False} for step in [*steps, step_of("export", rng)]]


def death_in(steps: list[Step], rng: random.Random) -> Death:
    """Some time in the opening, or in one of the steps and what comes after it."""
    at = rng.randrange(-1, len(steps))
    seconds = 0.0 if rng.random() < 0.6 else rng.uniform(0.0, 0.02)
    return at, int(2 ** rng.uniform(0, 7.5)) - 1, seconds


# one life


async def live(tell: Tell, folder: Path, account: Account, steps: list[Step], death: Death | None, hasty: bool) -> None:
    """Open the memory, look at everything, and do the steps; with `hasty`, do them without having looked."""
    purge.STEP, purge.AGAIN_SECONDS, purge_files.STEP, sqlite.COPY_PAGES = 4, 0.2, 4, 16
    os.environ["KEY"] = RAW_KEY
    logging.getLogger().addHandler(logging.NullHandler())  # a command would log to where it says things
    with errors_logged() as errors:
        life = asyncio.create_task(PairLife(tell, folder, account, death).live(steps, hasty))
        await asyncio.wait([life], timeout=180)
        assert life.done(), "hung"
        await life
        assert not errors, "\n".join(errors)


def take(account: Account, message: tuple[Any, ...]) -> Account:
    """Keep account of what a process told."""
    match message:
        case ("begin", operation):
            account.begin(operation)
        case ("end", number, backup):
            account.end(number, backup)
        case ("accept", number):
            account.accept(number)
        case ("cut short", number):
            account.cut_short(number)
        case ("refuse", number, told):
            account.refuse(number, told)
        case ("looked", looked):
            return looked
        case _:
            raise AssertionError(message)
    return account


class PairLife:
    """Does steps, and tells of each before it is begun and after it is acknowledged."""

    def __init__(self, tell: Tell, folder: Path, account: Account, death: Death | None) -> None:
        self._mouth = tell
        self._folder = folder
        self._account = account
        self._death = death
        self._host: AMemorixHostService | None = None
        self._deadline = Deadline(folder) if death else None

    async def live(self, steps: list[Step], hasty: bool) -> None:
        finish_what_people_do(self._folder)
        await asyncio.to_thread(self._restore_elsewhere)
        if not hasty:
            self._arm(-1)
            await self._open()
            await self._look()
        for number, step in enumerate(steps):
            self._arm(number)
            both = [step, step["beside"]] if "beside" in step else [step]
            await (self._close() if step["offline"] else self._open())
            async with asyncio.TaskGroup() as group:
                for one in both:
                    group.create_task(self._do(one))
        await self._close()

    def _arm(self, step: int) -> None:
        if self._deadline and self._death and self._death[0] == step:
            self._deadline.set(*self._death[1:])

    async def _open(self) -> AMemorixHostService:
        if self._host is None:
            self._host = host_of(self._folder)
            await self._host.start()
        return self._host

    async def _close(self) -> None:
        if self._host is not None:
            await self._host.stop()
            self._host = None

    def _restore_elsewhere(self) -> None:
        """A backup taken before can be restored as everything lies there, in a copy of it."""
        account = self._account
        which = min(account.backups, default="")
        if not which:
            return
        copy = self._folder.with_name(f"{self._folder.name}-copy")
        copied(self._folder, copy)
        config = config_of(copy)
        (database,) = (file for file in copy.glob(f"**/{which}/memory.db"))
        if not is_plain(database) and setting(copy, "enabled") == "false":
            done = run("key", "enable", "--config", str(config))
            assert done.exit_code == 0, (words(done), account.log)
        done = run("restore", which, "--yes", "--config", str(config))
        if UNFINISHED in words(done):
            assert any(world.going for world in account.worlds), account.log
            asyncio.run(purged(copy))
            done = run("restore", which, "--yes", "--config", str(config))
        assert done.exit_code == 0, (words(done), account.log)
        operation = Operation(account.numbers + 1, "restore", "restore elsewhere", backup=which)
        found, expected = (
            held_by(data_of(copy) / "memory.db"),
            [world.after(operation, account.backups) for world in account.worlds],
        )
        assert any(world.may_hold(found) for world in expected), (which, found, expected, account.log)
        shutil.rmtree(copy)

    # doing

    async def _do(self, step: Step) -> None:
        """One step, unless there is nothing that it could be done with."""
        name, account, backup, told = step["do"], self._account, "", step["do"]
        encrypted = setting(self._folder, "enabled") == "true"
        if name == "restore" and account.backups:
            known = sorted(account.backups)
            backup = known[int(step["pick"] * len(known))]
        may_be_done = {
            "restore": bool(backup),
            "rotate": encrypted,
            "delete": all(of_chat(world.held.live, step["chat"]) for world in account.worlds),
            "purge": all(world.held.deleted for world in account.worlds),
            "disable": (data_of(self._folder) / KEYS_FILE).exists(),
            "fill": all(replace(world, begun=frozenset()) == World() for world in account.worlds),
        }
        if not may_be_done.get(name, True):
            return
        if name == "purge" and step["rotate"] and encrypted:
            told += " and rotate"
        if name in SWITCHES and step["backups"]:
            told += " --backups"
        operation = Operation(
            account.numbers + 1, name if name in get_args(Kind) else "other", f"{told}{' offline' * step['offline']}",
            frozenset(step["lines"]), step["chat"], backup, step.get("filling", Held()), name == "enable" if name in SWITCHES else None,
            step["number"] if name == "settings" else 0,
        )  # fmt: skip
        self._tell("begin", operation)
        if step["offline"]:
            await self._command(operation, step)
        else:
            await self._called(operation, step, encrypted)

    def _tell(self, *message: Any) -> None:
        self._account = take(self._account, message)
        self._mouth(message)

    async def _called(self, operation: Operation, step: Step, encrypted: bool) -> None:
        """A call of a memory that is open."""
        host, name = await self._open(), step["do"]
        if name == "settings":
            await host.update_config({"retrieval.candidates": step["number"]})
            self._tell("end", operation.number, "")
            return
        calls: dict[str, tuple[str, dict[str, Any]]] = {
            "write": ("ingest_messages", {"chat_id": step["chat"], "messages": [message(one) for one in step["lines"]]}),
            "import": (IMPORT, {"action": "create_paste", "name": "talk.jsonl", "chat_id": step["chat"],
                                "content": "\n".join(json.dumps(message(one)) for one in step["lines"])}),
            "delete": (DELETE, {"action": "execute", "mode": "chat", "selector": step["chat"]}),
            "purge": (DELETE, {"action": "purge", "grace_hours": 0, "rotate": step["rotate"] and encrypted, "wait": step["wait"]}),
            "backup": (RUNTIME, {"action": "backup", "path": str(self._folder / "elsewhere") if step["elsewhere"] else ""}),
            "restore": (RUNTIME, {"action": "restore_backup", "backup": operation.backup}),
            "fill": (RUNTIME, {"action": "import_export", "path": str(self._folder / "elsewhere" / EXPORT)}),
            "rotate": (KEYS, {"action": "rotate"}),
            "export": (RUNTIME, {"action": "export", **({"plain": True} if encrypted else {})}),
        }  # fmt: skip
        answer = await host.invoke(*calls[name])
        if not answer["success"]:
            permitted = answer["error_code"] == "conflict"
            assert permitted, (operation.name, answer, self._account.log)
            self._tell("refuse", operation.number, answer["error"])
            return
        if name == "import":
            await self._imported(host)
            task = (await host.invoke(IMPORT, {"action": "get", "task_id": answer["task"]["task_id"]}))["task"]
            if task["status"] != "completed":
                going = any(of_chat(world.going | world.held.deleted, step["chat"]) for world in self._account.worlds)
                assert task["status"] == "cancelled" and going, (task, self._account.log)
                self._tell("cut short", operation.number)
                return
        if name == "purge" and not step["wait"]:
            self._tell("accept", operation.number)
        else:
            self._tell("end", operation.number, answer["backup"]["id"] if name == "backup" else "")

    async def _imported(self, host: AMemorixHostService) -> None:
        """Wait until no import is under way; none may fail, but one whose chat was purged."""
        for _ in range(6000):
            tasks = (await host.invoke(IMPORT, {"action": "list"}))["items"]
            if all(task["status"] not in ("queued", "preparing", "running", "cancel_requested") for task in tasks):
                return
            await asyncio.sleep(0.01)
        raise AssertionError(f"an import does not end: {tasks}")

    async def _command(self, operation: Operation, step: Step) -> None:
        """A command on a memory that is closed."""
        name, config = step["do"], str(config_of(self._folder))
        if name == "move":
            before, after = data_of(self._folder), f"data/moved-{operation.number}"
            done = await asyncio.to_thread(run, "config", "set", "storage.data_dir", after, "--config", config)
            before.rename(self._folder / after)
        else:
            given = {
                "enable": ("key", "enable"), "disable": ("key", "disable"), "restore": ("restore", operation.backup, "--yes"),
                "fill": ("import-export", str(self._folder / "elsewhere" / EXPORT)),
                "settings": ("config", "set", "retrieval.candidates", str(step["number"])),
            }[name]  # fmt: skip
            along = ["--backups"] if name in SWITCHES and step["backups"] else []
            done = await asyncio.to_thread(run, *given, *along, "--config", config)
        if done.exit_code:
            told = words(done) or repr(done.exception)
            purge_goes_on = UNFINISHED in told and any(world.going for world in self._account.worlds)
            assert purge_goes_on or ENCRYPTED in told, (operation.name, told, self._account.log)
            self._tell("refuse", operation.number, told)
        else:
            self._tell("end", operation.number, "")

    # looking

    async def _look(self) -> None:
        """Wait until nothing goes on any more, and compare everything with what it may be."""
        host, account = await self._open(), self._account
        await host.settle(SETTLE_SECONDS)
        await self._imported(host)
        await purge_ended(host)
        await host.settle(SETTLE_SECONDS)
        rows = host.kernel.store.read_here(lambda db: list(db.execute(ROWS)))  # type: ignore[attr-defined]
        status = await host.invoke(KEYS, {"action": "status"})
        account.look(held_in(rows), status["encrypted"], host.config.retrieval.candidates)
        answer = await host.invoke(RUNTIME, {"action": "refresh_self_check", "deep": True})
        assert answer["report"]["ok"], [one for one in answer["report"]["findings"] if not one["ok"]]
        assert await stale_indexes(host) == []
        if status["encrypted"]:
            problems = (await host.invoke(KEYS, {"action": "verify"}))["problems"]
            assert problems == [], (problems, account.log)
        await self._look_at_backups(host, status["encrypted"])
        await self._search(host, account.worlds[0])
        names = {path.name for path in data_of(self._folder).glob("memory.*")}
        assert names <= {"memory.db", "memory.db-wal", "memory.db-shm", KEYS_FILE, f"{KEYS_FILE}.1"}, names
        account.looked()
        self._tell("looked", account)

    async def _look_at_backups(self, host: AMemorixHostService, encrypted: bool) -> None:
        account = self._account
        listed = (await host.invoke(RUNTIME, {"action": "list_backups"}))["backups"]
        lost = ({*account.backups} | account.made) - {one["id"] for one in listed}
        assert not lost, (f"backups are gone: {lost}", account.log)
        for one in listed:
            database = Path(one["path"]) / "memory.db"
            account.look_at_backup(
                one["id"], await asyncio.to_thread(held_by, database), encrypted=not is_plain(database)
            )
            if encrypted or is_plain(database):
                told = await host.invoke(RUNTIME, {"action": "verify_backup", "backup": one["id"]})
                assert told["problems"] == [], (told, account.log)

    async def _search(self, host: AMemorixHostService, world: World) -> None:
        """A line that is there is found, and one that is gone is not."""
        for lines, there in ((world.held.live, True), (world.erased | world.held.deleted, False)):
            for one in sorted(lines)[:1]:
                answer = await host.invoke("search_memory", {"query": one, "limit": 50})
                assert any(one in hit["content"] for hit in answer["hits"]) is there, (one, there)


def host_of(folder: Path) -> AMemorixHostService:
    around = Surroundings({"KEY": RAW_KEY}, SystemClock(), UTC, HashEmbedder(16))
    return AMemorixHostService(config_of(folder), surroundings=around, watch=False)


async def purged(folder: Path) -> None:
    """Open the memory, and close it when no purge goes on."""
    async with host_of(folder) as host:
        await purge_ended(host)


async def purge_ended(host: AMemorixHostService) -> None:
    """Wait until no purge goes on, nor the rotation of the key after one."""

    def going(db: Connection) -> bool:
        keys = host.kernel.store.keys
        return bool(operation_rows.purging(db) or (keys and operation_rows.wants_rotation(db, keys.current)))

    for _ in range(3000):
        with suppress(NotReady):
            store = host.kernel.store
            if not (await store.read(going) or store.exchanging):
                return
        await asyncio.sleep(0.02)
    raise AssertionError("a purge does not end")


ROWS = "select content, deleted_at is not null from paragraphs where superseded_at is null"


def message(one: str) -> dict[str, Any]:
    return {
        "external_id": one,
        "speaker": "Ada",
        "text": f"The number of the umbrella is {one}.",
        "time": 1_700_000_000,
    }


def held_in(rows: list[tuple[str, int]]) -> Held:
    shown = [[content.encode() for content, gone in rows if bool(gone) is deleted] for deleted in (False, True)]
    for contents in shown:
        assert len(contents) == len(set(contents)), "a line is there twice"
    return Held(ids_in(b"\n".join(shown[0])), ids_in(b"\n".join(shown[1])))


def held_by(database: Path) -> Held:
    """What a database holds that nobody has open, read with the keys beside it."""
    keys = None if is_plain(database) else Keyring.read(database.with_name(KEYS_FILE), SECRET)
    with open_copy(database, keys, unchanged=True) as db:
        return held_in(list(db.execute(ROWS)))


def finish_what_people_do(folder: Path) -> None:
    """What the person at the keyboard does after a crash, before anything else."""
    data = data_of(folder)
    if not data.exists():
        for left in (folder / "data").glob("*"):
            left.rename(data)  # `move` was cut short: the settings name the new place already


# all lives of one history


def lived(
    folder: Path, account: Account, steps: list[Step], death: Death | None, hasty: bool = False
) -> tuple[Account, list[str]]:
    """One process, to its end or its death: (what was acknowledged, what was begun, in words)."""
    life, begun = Life(live, folder, account, steps, death, hasty), list[str]()
    try:
        while True:
            message = life.heard()
            account = take(account, message)
            begun.append(
                message[1].name
                if message[0] == "begin"
                else " ".join(map(str, message[: 1 if message[0] == "looked" else 3]))
            )
    except (EOFError, OSError):
        life.rest()
    finally:
        print(*begun, "killed" if life.exitcode else "ended", sep=", ")
    assert life.exitcode in (0, -signal.SIGKILL if death else 0)
    return account, begun


def files_of(folder: Path) -> dict[str, bytes]:
    """Checksums of the keys and of all that is in backups."""
    keys = {path.name: path for path in folder.glob(f"data/*/{KEYS_FILE}")}
    copies = (path for pattern in ("data/*/backups", "elsewhere") for path in folder.glob(f"{pattern}/*Z-*/*"))
    found = keys | {f"{path.parent.name}/{path.name}": path for path in copies}
    return {name: hashlib.sha256(path.read_bytes()).digest() for name, path in found.items()}


def compare_files(before: dict[str, bytes], after: dict[str, bytes], begun: list[str]) -> None:
    """Keys and backups that no operation had to touch are byte for byte what they were."""
    names = " ".join(begun)
    changed = {name for name, seal in before.items() if after.get(name) != seal}
    keys = {name for name in changed if name.endswith(KEYS_FILE)}
    assert KEYS_FILE in after or KEYS_FILE not in before, "the keys are gone"
    assert "rotate" in names or KEYS_FILE not in keys, ("keys", keys, names)
    if "--backups" not in names:
        assert keys <= {KEYS_FILE}, ("keys in backups", keys, names)
        assert "purge" in names or changed <= keys, ("backups", changed, names)


@cache
def first_life(template: Path, encrypted: bool) -> Account:
    """Make the memory that every history begins with, for a copy of it."""
    config_of(template).parent.mkdir(parents=True)
    (template / "elsewhere").mkdir()
    config_of(template).write_text(SETTINGS.format(elsewhere=template / "elsewhere", encrypted=str(encrypted).lower()))
    account, _ = lived(
        template, Account({encrypted}, {50}, was_plain=not encrypted), first_steps(random.Random(encrypted)), None
    )
    account, _ = lived(template, account, [], None)
    return account


def copied(template: Path, folder: Path) -> None:
    """Copy a memory, whose settings name the copy then."""
    shutil.copytree(template, folder, ignore=shutil.ignore_patterns(".reserve"))
    config = config_of(folder)
    config.write_text(config.read_text().replace(f"{template}/", f"{folder}/"))


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + HISTORIES))
def test_operations_on_the_whole_and_kills_at_any_file_operation(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    rng, folder, template = (
        random.Random(seed),
        tmp_path / "memory",
        tmp_path_factory.getbasetemp() / f"first-{seed % 2}",
    )
    account, begun, first = deepcopy(first_life(template, bool(seed % 2))), list[str](), list[Step]()
    copied(template, folder)
    if seed % 10 in FILLED:
        (export,) = data_of(folder).glob("exports/*")
        export.rename(folder / "elsewhere" / EXPORT)
        for left in (data_of(folder), *folder.glob("elsewhere/*Z-*")):
            shutil.rmtree(left)
        first = [step_of("fill", rng) | {"filling": account.worlds[0].held, "offline": rng.random() < 0.5}]
        account = Account(account.encrypted, account.candidates, was_plain=account.was_plain)
    before = files_of(folder)
    for _ in range(rng.choice((1, 2, 2, 3))):
        steps = [*first, *steps_of(rng)]
        account, more = lived(folder, account, steps, death_in(steps, rng), hasty=rng.random() < 0.4)
        begun += more
        after = files_of(folder)
        compare_files(before, after, begun)
        before = after
    account, _ = lived(folder, account, [], None)
    (world,) = account.worlds
    gone = world.erased.difference(*account.unreached.values())
    back = {
        str(path): met
        for path in folder.rglob("*")
        if path.is_file() and path.name != EXPORT and (met := ids_in(path.read_bytes()) & gone)
    }
    assert not back, back
