"""What relations say that is over: the facts that the same paragraphs tell decide, whenever it is asked."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from ..ports import Connection
from ..queries import array, optional_array

_LIKED = (("like", 1),)
_DISLIKED = (("like", -1), ("avoids", 1), ("allergy", 1))
_BOND = (("spouse", 1), ("partner", 1))
_TOLD: dict[str, tuple[tuple[str, int], ...]] = {
    "住在 搬到 在 lives_in moved_to": (("residence", 1),),
    "来自 出生于 is_from born_in": (("hometown", 1),),
    "工作于 就职于 加入 works_at joined": (("workplace", 1),),
    "就读于 考上 毕业于 studies_at graduated_from": (("school", 1),),
    "是 is works_as": (("occupation", 1), ("diet", 1)),
    "喜欢 likes prefers": _LIKED,
    "讨厌 dislikes": _DISLIKED,
    "过敏 allergic_to": (("allergy", 1),),
    "养 有 has": (("pet", 1),),
    "结婚 领证 订婚 求婚 在一起 谈恋爱 married_to engaged_to": _BOND,
    "老婆 老公 妻子 丈夫 女朋友 男朋友 女友 男友 未婚妻 未婚夫 wife husband girlfriend boyfriend partner fiance fiancee": _BOND,
}  # fmt: skip
_MEANINGS = json.dumps(
    [[said.replace("_", " "), *fact] for words, facts in _TOLD.items() for said in words.split() for fact in facts],
    ensure_ascii=False,
)
"""[predicate, attribute, polarity]: the facts that a text tells by which such a relation was read."""


def of(db: Connection, relations: Iterable[int], scopes: Sequence[int] | None, now: float) -> dict[int, float]:
    """Relation -> when it was over at the time `now`, by what may be seen; those that still hold are not there."""
    values = {
        "ids": array(relations), "meanings": _MEANINGS, "scopes": optional_array(scopes), "now": now
    }  # fmt: skip
    return dict(db.run("relations_ended", **values).fetchall())
