"""The columns of paragraphs, against a dictionary that goes through the same."""

import random
from pathlib import Path

import numpy as np
import pytest

from amemorix.indexes import columns
from amemorix.indexes.columns import ColumnRow, ParagraphColumns

NOW = 1_000.0


def row(id_: int, rng: random.Random) -> ColumnRow:
    start, expires = rng.choice((None, 5.0, 900.0)), rng.choice((None, NOW - 1, NOW, NOW + 1))
    return ColumnRow(id_, rng.randrange(3), rng.randrange(4), rng.randrange(32), start, float(id_), expires)


def seen(index: ParagraphColumns, scopes: tuple[int, ...] | None) -> list[tuple[int, int, int, float]]:
    visible = index.visible(np.arange(60), scopes, NOW)
    assert visible.strength.tolist() == [1.0] * len(visible.ids)
    columns = (visible.ids, visible.speaker, visible.flags, visible.anchor_at)
    return list(zip(*(column.tolist() for column in columns), strict=True))


@pytest.mark.parametrize("seed", range(5))
def test_any_history_leaves_what_the_rows_say(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "_MOST_RECENT", 8)
    rng, index, rows = random.Random(seed), ParagraphColumns(), dict[int, ColumnRow]()
    for step in range(80):
        changed = {id_: row(id_, rng) for id_ in rng.sample(range(50), rng.randrange(6))}
        removed = [id_ for id_ in rng.sample(range(50), rng.randrange(3)) if id_ not in changed]
        index.apply(list(changed.values()), removed)
        rows |= changed
        rows = {id_: kept for id_, kept in rows.items() if id_ not in removed}
        if step % 7 == 0:
            index.compact()
        if step % 20 == 10:
            folder = tmp_path / str(step)
            folder.mkdir()
            index.save(folder)
            index = ParagraphColumns()
            index.load(folder)

        assert index.dump() == {id_: kept[1:] for id_, kept in rows.items()}
        assert len(index) == len(rows)
        for scopes in (None, (0,), (2, 1), ()):
            assert seen(index, scopes) == [
                (id_, kept.speaker, kept.flags, kept.recorded_at)
                for id_, kept in sorted(rows.items())
                if (scopes is None or kept.scope in scopes) and (kept.expires_at is None or kept.expires_at > NOW)
            ]
        ids, flags = index.flags(np.array([7, 3, 7]))
        assert dict(zip(ids.tolist(), flags.tolist(), strict=True)) == {i: rows[i].flags for i in (3, 7) if i in rows}


def test_a_file_that_is_no_table_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "columns.npy", np.arange(3))
    with pytest.raises(ValueError, match="no table of paragraphs"):
        ParagraphColumns().load(tmp_path)
