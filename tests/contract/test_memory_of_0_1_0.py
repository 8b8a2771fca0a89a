"""A data folder that 0.1.0 wrote opens, and answers two hundred questions with the same hits."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

from amemorix.clock import FrozenClock
from amemorix.testing import memory_host
from entrance import found

DATA = Path(__file__).parents[1] / "data"
ASKED_AT = 1_767_225_600.0


async def test_a_memory_of_0_1_0_answers_as_it_did(tmp_path: Path) -> None:
    """The demo's conversations, asked without a model: each question in every chat and in one."""
    database = tmp_path / "data" / "a-memorix" / "memory.db"
    database.parent.mkdir(parents=True)
    database.write_bytes(lzma.decompress((DATA / "memory_0_1_0.db.xz").read_bytes()))
    asked = json.loads((DATA / "hits_0_1_0.json").read_text("utf-8"))
    assert len({query for query, _, _ in asked}) > 190

    async with memory_host(tmp_path, clock=FrozenClock(ASKED_AT)) as host:
        for query, chat, expected in asked:
            answer = await found(host, query, limit=10, **({"chat_id": chat} if chat else {}))
            assert [hit["id"] for hit in answer["hits"]] == expected, query
