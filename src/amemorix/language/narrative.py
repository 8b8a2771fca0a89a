"""Texts that tell what happened: stories, diaries, dialogues."""

from __future__ import annotations

import re
from itertools import pairwise

from ..lazy_regex import lazy_regex
from .chunking import split
from .relations.rules import read_passage
from .strategy import Extraction, KnowledgeType, Passage

__all__ = ["SCENE", "NarrativeStrategy"]

SCENE = lazy_regex(
    r"^[ \t]*(?:#{1,6}[ \t].*|第[零一二三四五六七八九十百千0-9]{1,6}[章节回幕场卷].*|(?:chapter|scene|act|part)[ \t]+[\w.]+.*"
    r"|(?:\*[ \t]*){3,}|={3,}|-{3,})[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
"""A line that begins another scene."""


class NarrativeStrategy:
    """Scenes by their headings, and within a scene pieces that end where a sentence does."""

    knowledge: KnowledgeType = "narrative"

    def chunks(self, text: str, target: int) -> list[str]:
        """No piece holds the end of one scene and the beginning of another."""
        starts = sorted({0, *(match.start() for match in SCENE.finditer(text)), len(text)})
        scenes = [text[a:b].strip() for a, b in pairwise(starts)]
        return [piece for scene in scenes if scene for piece in split(scene, target=target)]

    def extract(self, passage: Passage) -> Extraction:
        """What the sentences say."""
        return read_passage(passage)
