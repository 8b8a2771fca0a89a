"""What lies on the disk of an encrypted memory that holds a file of every kind: random bytes, and nothing of its plain twin."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyrage

from amemorix import AMemorixHostService
from amemorix.language.normalise import term_hashes, tokens
from amemorix.store import copies as copy_rows
from amemorix.store.compaction import one_transaction, open_copy
from amemorix.store.keys import KEYS_FILE, Keyring
from disk_look import (
    READABLE,
    files_below,
    hashes_met,
    met,
    not_random,
    pieces,
    repeated_blocks,
    without_plain_bytes,
)
from encrypted_memory import SECRET, encrypted_memory
from entrance import admin_of, data_of, said, told
from import_entrance import imported

runtime, delete, spaces = (
    admin_of("memory_runtime_admin"),
    admin_of("memory_delete_admin"),
    admin_of("memory_vector_admin"),
)
IDENTITY = pyrage.x25519.Identity.generate()
RNG = random.Random(7)
WORDS = ["".join(RNG.choice("bdfgklmnprstvz") + RNG.choice("aeiou") for _ in range(4)) for _ in range(300)]
TEXTS = [" ".join(RNG.sample(WORDS, 9)) for _ in range(120)]
HANZI = ["麒麟貔貅饕餮穷奇", "混沌梼杌獬豸狻猊", "睚眦狴犴赑屃螭吻"]
NAMES = ["Zebedee", "Quixote", "Rocinante", "Wolkenkratzer", "梼杌先生"]
OURS = re.compile("|".join(map(re.escape, (*WORDS, *HANZI, *NAMES))), re.I)
"""What only the story says: values of the database that hold nothing of it are words of the program."""
KINDS = {
    "memory.db", "memory.db-wal", "memory.before-migration", "memory.toml", "waiting.txt", "columns.npy", "codes.npy",
    "export.age", "memory.db-journal",
}  # fmt: skip
"""Some file of each kind."""


async def story(host: AMemorixHostService) -> None:
    """Something for every table and kind of file that there is a call for."""
    for number, text in enumerate(TEXTS):
        await said(host, f"qq:{WORDS[number % 5]}", (f"{NAMES[number % 3]} {WORDS[number % 9]}", text, 1.7e9 + number))
    for number, text in enumerate(HANZI):
        await said(host, f"群:{HANZI[0]}", (NAMES[4], text, 1.7e9 + number), source=f"talk-{WORDS[9]}")
    ends = {"subject": NAMES[1], "predicate": f"rides {WORDS[11]}", "object": NAMES[2]}
    await told(
        host, f"I live in {WORDS[12].title()} and have a {WORDS[13]}.", external_id=f"ext-{WORDS[14]}", relations=[ends],
        tags=[WORDS[15]], metadata={WORDS[16]: TEXTS[3]}, person_ids=[NAMES[0]], source=f"notes {WORDS[17]}",
    )  # fmt: skip
    await spaces(host, "create_space", space=WORDS[18])
    vector = [RNG.gauss(0, 1) for _ in range(64)]
    await spaces(
        host, "add", space=WORDS[18], items=[{"id": WORDS[19], "vector": vector, "attributes": {"said": WORDS[20]}}]
    )
    await host.settle(600)
    await runtime(host, "save")
    first = (await runtime(host, "backup"))["backup"]["id"]
    gone = await delete(host, "execute", mode="chat", selector=f"qq:{WORDS[0]}", reason=f"since {WORDS[21]}")
    await delete(host, "restore", operation_id=gone["operation_id"])
    await delete(host, "execute", mode="chat", selector=f"qq:{WORDS[1]}")
    await delete(host, "execute", mode="chat", selector=f"qq:{WORDS[2]}", purge=True)
    done = host.staging()[0].put("done.txt", "\n\n".join(TEXTS[:20]).encode())
    assert (await imported(host, "create_upload", files=[{"staged": done.id}], chat_id=f"qq:{WORDS[4]}"))[
        "status"
    ] == "completed"
    host.staging()[0].put("waiting.txt", " ".join(TEXTS).encode())
    await host.settle(600)
    await runtime(host, "backup")
    await runtime(host, "restore_backup", backup=first)
    await said(host, f"qq:{WORDS[3]}", (NAMES[0], TEXTS[5], 1.7e9 + 5000))
    await host.settle(600)
    await runtime(host, "save")


def snapshot_of(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in files_below(folder)}


def needles_of(host: AMemorixHostService) -> set[bytes]:
    """Every text, token, name and id that the rows hold, and pieces of every vector, term list and other blob."""
    texts, blobs = {*WORDS, *TEXTS, *HANZI, *NAMES}, set[bytes]()

    def leaves(value: Any) -> Iterator[str]:
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            yield from (leaf for pair in value.items() for one in pair for leaf in leaves(one))
        elif isinstance(value, list):
            yield from (leaf for one in value for leaf in leaves(one))

    def read(db: Any) -> None:
        for table, columns in copy_rows.tables(db).items():
            for value in (value for row in copy_rows.rows(db, table, columns) for value in row):
                if isinstance(value, bytes) and len(value) >= 16:
                    blobs.add(value)
                elif isinstance(value, str) and OURS.search(value):
                    texts.add(value)
                    texts.update(token for token in tokens(value) if OURS.search(token))
                    if value[:1] in "[{":
                        texts.update(leaf for leaf in leaves(json.loads(value)) if OURS.search(leaf))

    host.kernel.store.read_here(read)
    return set(pieces(texts, blobs))


async def test_every_file_is_random_bytes_and_holds_nothing_of_the_plain_twin(tmp_path: Path) -> None:
    rng = random.Random(3)
    async with encrypted_memory(tmp_path / "plain", **{"storage.encryption.enabled": False}) as host:
        await story(host)
        await runtime(host, "export")
        needles = needles_of(host)
        plain = snapshot_of(data_of(host))
    arrays = [raw for path, raw in plain.items() if path.suffix == ".npy"]
    needles |= set(pieces((), (raw[at : at + 16] for raw in arrays for at in range(128, len(raw), 1 + len(raw) // 20))))
    async with encrypted_memory(tmp_path / "sealed") as host:
        await story(host)
        folder = data_of(host)
        await runtime(host, "export", path="export.age", recipients=[str(IDENTITY.to_public())])
        host.kernel.store.read_here(
            lambda db: copy_rows.copy(db, folder / "memory.before-migration", lambda *_: None, host.kernel.store.keys)
        )
        sealed = snapshot_of(folder)
    stopped = snapshot_of(folder)
    with in_the_midst_of_a_change(folder) as journal:
        sealed[journal] = journal.read_bytes()
    assert len(needles) > 1000
    assert {path.name for path in sealed} >= KINDS

    for path, raw in (*sealed.items(), *stopped.items()):
        assert met(raw, needles) == set(), path
        if path.name not in READABLE:
            assert not_random(without_plain_bytes(path.name, raw), rng) == "", path
    hidden = {path: without_plain_bytes(path.name, raw) for path, raw in sealed.items() if path.name not in READABLE}
    assert repeated_blocks(hidden) == set()
    hashes = term_hashes({token for text in (*TEXTS, *HANZI) for token in tokens(text)})
    found, by_chance = hashes_met(hidden.values(), hashes.tolist())
    assert found < by_chance + 7 * max(1.0, by_chance) ** 0.5 + 7, "as the Poisson distribution has it once in 10^9"

    # all of it would be noticed
    data = [(path, raw) for path, raw in plain.items() if path.name not in READABLE and len(raw) > 200]
    assert [path.name for path, raw in data if not not_random(without_plain_bytes(path.name, raw), rng)] == []
    everything = set().union(*(met(raw, needles) for _, raw in data))
    assert len(everything) > 1000, "all but those in the encoding that nothing is kept in"
    assert {path.name for path, raw in data if met(raw, needles)} >= {"memory.db", "waiting.txt", "codes.npy"}
    found, by_chance = hashes_met((raw for _, raw in data), hashes.tolist())
    assert found > 10 * by_chance + 1000
    assert len(repeated_blocks(dict(data))) > 50


@contextmanager
def in_the_midst_of_a_change(folder: Path) -> Iterator[Path]:
    """The rollback journal of a backup, while a purge or a restore rewrites it."""
    database = next(folder.glob("backups/*/memory.db"))
    with open_copy(database, Keyring.read(folder / KEYS_FILE, SECRET)) as db, one_transaction(db):
        db.execute("pragma cache_size = 10")  # so that pages are written before the end
        db.execute("update paragraphs set content = content || '!'")
        yield database.with_name("memory.db-journal")
