"""What every facade and every backend of one does, over a small port: subclass `FacadeSuite` and give it a fixture `port`.

    class TestMine(FacadeSuite):
        @pytest.fixture
        async def port(self, tmp_path) -> AsyncIterator[Port]:
            yield MyPort(...)

What a backend cannot do is named in `lacks` of its port, and those cases are left out.
"""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import Collection, Mapping, Sequence
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, Protocol, Self

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amemorix import AMemorixHostService, Client
from amemorix.testing import FrozenClock, HashEmbedder, memory_host
from doors import served
from encrypted_memory import ENCRYPTED, RAW_KEY

__all__ = ["FacadeSuite", "HostedPort", "Lack", "Port", "Text", "Way"]

Lack = Literal[
    "ids",  # it makes ids itself, so the same id cannot be put again or into another space
    "twins",  # the same text is kept once
    "metadata",
    "expiry",
    "words",  # nothing is found by words alone
    "meaning",  # nothing is found by meaning
    "similarity",  # hits do not say how similar they are
    "restart",  # what it holds is gone when it is closed
    "long",  # a text of a million characters does not fit
    "loops",  # it is bound to the event loop in which it was made
    "model",  # search is by one model's vectors alone: it also brings what has none of the query's words
]
"""What a backend may lack."""


@dataclass(frozen=True)
class Text:
    """A stored text, or a hit."""

    id: str
    text: str
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    similarity: float | None = None


class Port(Protocol):
    """What the suite asks of a facade. A space is what it keeps apart: a namespace, a room, an agent."""

    lacks: Collection[Lack]
    refuses: type[Exception] | tuple[type[Exception], ...]
    """Raised for a text that cannot be stored."""
    now: datetime
    """By the clock that expiry goes by."""

    async def put(
        self,
        id: str,
        text: str,
        *,
        space: str = "a",
        metadata: Mapping[str, Any] | None = None,
        expires_at: datetime | None = None,
    ) -> str:
        """Store it under this id, in place of what has it; gives the id that it got."""
        ...  # fmt: skip

    async def get(self, id: str, *, space: str = "a") -> Text | None: ...

    async def search(self, query: str, *, space: str = "a", limit: int = 10) -> Sequence[Text]:
        """Best first."""
        ...

    async def list(self, *, space: str = "a") -> Sequence[Text]:
        """All of them, the oldest first."""
        ...

    async def update(
        self, id: str, text: str, *, space: str = "a", metadata: Mapping[str, Any] | None = None
    ) -> object: ...

    async def delete(self, id: str, *, space: str = "a") -> object:
        """No error if it is not there."""
        ...

    async def clear(self, *, space: str = "a") -> object: ...

    async def settle(self) -> None:
        """Wait until what was stored is found by meaning."""
        ...

    async def advance(self, seconds: float) -> None:
        """Let time pass."""
        ...

    async def reopened(self) -> Port:
        """The same after a restart."""
        ...


Way = Literal["words", "vectors", "HTTP", "encrypted"]
"""How a facade stands over a memory; but for `vectors` it goes by words."""


class HostedPort:
    """What ports over a memory share: it is kept below a folder, and opened anew for a restart."""

    lacks: Collection[Lack] = ()

    def __init__(self, folder: Path, way: Way, *, clock: FrozenClock | None = None) -> None:
        self._folder, self._way = folder, way
        self.clock = clock or FrozenClock()
        self.lacks = {*self.lacks, "model" if way == "vectors" else "meaning"}
        if way != "HTTP":
            self.lacks |= {"loops"}
        self.host: AMemorixHostService
        self.memory: Any
        """What is handed to the facade."""

    async def __aenter__(self) -> Self:
        settings: dict[str, Any] = {"embed": HashEmbedder()} if self._way == "vectors" else {}
        if self._way == "encrypted":
            pytest.importorskip("sqlcipher3")
            settings |= {"environ": {"KEY": RAW_KEY}, **ENCRYPTED}
        async with AsyncExitStack() as stack:
            self.host = await stack.enter_async_context(memory_host(self._folder, clock=self.clock, **settings))
            await self.begin(stack)
            self._open = stack.pop_all()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._open.aclose()

    async def begin(self, stack: AsyncExitStack) -> None:
        """Make what asks the memory, which is open."""
        self.memory = self.host
        if self._way == "HTTP":
            self.memory = stack.enter_context(closing(Client(await stack.enter_async_context(served(self.host)))))

    @property
    def now(self) -> datetime:
        return datetime.fromtimestamp(self.clock.now(), UTC)

    async def settle(self) -> None:
        await self.host.settle()

    async def advance(self, seconds: float) -> None:
        self.clock.advance(seconds)

    async def reopened(self) -> Self:
        await self._open.aclose()
        return await self.__aenter__()


TEXTS = [
    "The ferry to the island leaves at nine.", "  leading and trailing white space  ", "\n\nblank lines before and after\n\n",
    "Windows\r\nline ends\r\n", "tab\tbetween\twords\t", "First line.\n\nParagraph after a blank line", "one\n\n\n\nfour breaks",
    "渡轮九点开往小岛。", "　全角空格在前后　", "雨伞在门口。\n\n值班表在墙上。", "👩‍👩‍👧‍👦 went sailing 🏳️‍🌈", "שלום עולם، مرحبا بالعالم",
    "combining: e\u0301 and composed: é", "zero\u200bwidth\u2060 joiners\ufeff inside", "soft\u00adhyphen, no\u00a0break",
    "line\u2028separator and\u2029paragraph", "form\ffeed and vertical\vtab", '{"json": ["looks", "like", 1.5, null]}', "<b>markup</b> &amp; entities",
    "'quotes' \"double\" `back` \\slash\\", "%s %(name)s {braces} $1 :colon", "-- comment; drop table memories;", "ends in spaces and a break  \n",
    "CAPITALS and small", "1,234.56 € at 08:15", "# heading\n\n- point\n- point\n\n```python\nprint('x')\n```\n", "a" * 500, "word " * 400,
    "\n".join(f"Line {n} of many." for n in range(120)), "\n\n".join(f"Paragraph {n} speaks of topic {n}.  " for n in range(40)),
]  # fmt: skip
TEXTS += [f"Note {n}: the {animal} sleeps in room {n}." for n, animal in enumerate(["otter", "heron", "badger"] * 10)]
"""Sixty, which come back byte for byte."""
METADATA = {
    "text": " as it is ", "empty": "", "number": 12, "negative": -0.25, "large": 2**53, "yes": True, "no": False, "none": None,
    "list": [1, "two", None, [3]], "object": {"nested": {"deep": ["值"]}}, "ключ": "é", "empty list": [], "empty object": {},
}  # fmt: skip
FACTS = {
    "ferry": "The ferry to the island leaves at nine in the morning.",
    "cake": "Grandmother bakes an almond cake on Sundays.",
    "bike": "The red bicycle needs a new chain.",
    "exam": "The chemistry exam is on the third of May.",
    "cat": "The neighbour's cat is called Minka.",
}
WORDS = ("zorim", "melul", "takado", "pivek", "wuhan", "雨伞")


History = builtins.list[tuple[str, int, int, str]]
"""Calls as (what, which text, which word, space)."""
HISTORIES = st.lists(
    st.tuples(
        st.sampled_from(["put", "put", "put", "update", "delete", "search", "get", "clear"]),
        st.integers(0, 4), st.integers(0, len(WORDS) - 1), st.sampled_from("ab"),
    ),
    min_size=1, max_size=14,
)  # fmt: skip


def ids(found: Sequence[Text]) -> builtins.list[str]:
    return [one.id for one in found]


def unless(port: Port, *needed: Lack) -> None:
    if lacking := [one for one in needed if one in port.lacks]:
        pytest.skip(f"it lacks {', '.join(lacking)}")


class FacadeSuite:
    """The cases; `many` is how many texts the larger ones store."""

    many = 40

    async def test_texts_come_back_byte_for_byte(self, port: Port) -> None:
        got = [await port.put(f"t{n}", text) for n, text in enumerate(TEXTS)]
        assert [one.text for one in [await port.get(id) for id in got] if one] == TEXTS
        assert sorted(one.text for one in await port.list()) == sorted(TEXTS)
        assert len(await port.list()) == 60

    async def test_a_long_text_comes_back_whole(self, port: Port) -> None:
        unless(port, "long")
        text = ("All work and no play.\r\n\r\n" * 40_000)[:999_999] + "。"
        held = await port.get(await port.put("long", text))
        assert held is not None
        assert held.text == text

    async def test_a_text_that_nothing_can_hold_is_refused(self, port: Port) -> None:
        for text in ("", "nul\0inside", "half \ud83d a pair"):
            with pytest.raises(port.refuses):
                await port.put("bad", text)
        assert await port.list() == []

    async def test_metadata_of_every_type_comes_back(self, port: Port) -> None:
        unless(port, "metadata")
        id = await port.put("m", "with metadata", metadata=METADATA)
        held = await port.get(id)
        assert held is not None
        assert held.metadata == METADATA
        assert (await port.list())[0].metadata == METADATA

    async def test_what_is_not_there_is_none(self, port: Port) -> None:
        assert await port.get("nobody") is None
        assert list(await port.search("nobody at all")) == []
        assert list(await port.list(space="never used")) == []

    async def test_the_same_id_is_replaced(self, port: Port) -> None:
        unless(port, "ids")
        await port.put("x", "the first wording")
        await port.put("y", "another")
        assert await port.put("x", "the second wording") == "x"
        assert [(one.id, one.text) for one in await port.list()] == [("x", "the second wording"), ("y", "another")]

    async def test_the_same_text_may_be_stored_twice(self, port: Port) -> None:
        unless(port, "twins")
        texts = ["the twins look alike", "the twins look alike", "the  twins\nlook alike "]
        got = [await port.put(f"twin{n}", text) for n, text in enumerate(texts)]
        assert len(set(got)) == 3
        assert [(one.id, one.text) for one in await port.list()] == list(zip(got, texts, strict=True))
        if "words" not in port.lacks:
            assert set(ids(await port.search("twins alike"))) == set(got)
        await port.delete(got[0])
        assert ids(await port.list()) == got[1:]
        if "words" not in port.lacks:
            assert set(ids(await port.search("twins alike"))) == set(got[1:])

    async def test_any_text_may_be_an_id(self, port: Port) -> None:
        unless(port, "ids")
        names = ["a b", "a:b", "a/b?c#d%20", "..", "*", "ä", "值", "A", "'; --", "x" * 512, "{a}", "0", "\\"]
        for name in names:
            await port.put(name, f"text of {name}")
        assert sorted(ids(await port.list())) == sorted(names)
        for name in names:
            held = await port.get(name)
            assert held is not None
            assert (held.id, held.text) == (name, f"text of {name}")
        for name in names:
            await port.delete(name)
        assert list(await port.list()) == []

    async def test_many_are_listed_oldest_first(self, port: Port) -> None:
        got = [await port.put(f"{n:04}" + "x" * 508, f"text number {n}") for n in range(self.many)]
        assert ids(await port.list()) == got

    async def test_two_spaces_see_nothing_of_each_other(self, port: Port) -> None:
        spaces = ["a", "b", "a:b", "A", "*", "a*"]
        got = {space: await port.put("same", f"the kettle of {space}", space=space) for space in spaces}
        await port.settle()
        for space in spaces:
            assert [one.text for one in await port.list(space=space)] == [f"the kettle of {space}"]
            assert [one.text for one in await port.search("kettle", space=space)] in ([f"the kettle of {space}"], [])
            held = await port.get(got[space], space=space)
            assert held is not None
            assert held.text == f"the kettle of {space}"
        await port.delete(got["a"], space="b" if "ids" in port.lacks else "a")
        await port.clear(space="b")
        left = spaces if "ids" in port.lacks else spaces[1:]
        assert [space for space in spaces if await port.list(space=space)] == [one for one in left if one != "b"]

    async def test_own_words_are_found_at_once(self, port: Port) -> None:
        unless(port, "words")
        got = {await port.put(name, text): text for name, text in FACTS.items()}
        for query, name in (("when does the ferry leave", "ferry"), ("almond cake", "cake"), ("Minka", "cat")):
            found = await port.search(query)
            assert found[0].text == FACTS[name]
            assert len(set(ids(found))) == len(found)
            assert all(got[one.id] == one.text for one in found)

    async def test_meaning_is_found(self, port: Port) -> None:
        unless(port, "meaning")
        for name, text in FACTS.items():
            await port.put(name, text)
        await port.settle()
        assert (await port.search("at what time in the morning does the ferry to the island leave"))[0].text == FACTS[
            "ferry"
        ]
        found = await port.search("chemistry exam in May", limit=3)
        assert found[0].text == FACTS["exam"]
        if "similarity" not in port.lacks:
            values = [one.similarity for one in found if one.similarity is not None]
            assert values == sorted(values, reverse=True)
            assert all(0 <= value <= 1 for value in values)
            assert values

    async def test_a_search_gives_no_more_than_asked(self, port: Port) -> None:
        for n in range(6):
            await port.put(f"n{n}", f"the lantern number {n} hangs in the hall")
        await port.settle()
        assert len(await port.search("lantern in the hall", limit=2)) == 2
        assert len(await port.search("lantern in the hall", limit=1)) == 1
        found = await port.search("lantern in the hall", limit=100)
        assert len(found) == len(set(ids(found))) == 6

    async def test_a_text_of_many_paragraphs_is_one_hit(self, port: Port) -> None:
        unless(port, "words")
        text = "\n\n".join(f"The lighthouse keeper writes page {n} of the lighthouse diary. " * 8 for n in range(12))
        id = await port.put("diary", text)
        await port.put("other", "The baker opens early.")
        found = await port.search("lighthouse diary")
        assert found[0].text == text
        assert ids(found).count(id) == 1

    async def test_an_update_is_found_and_what_it_said_before_is_not(self, port: Port) -> None:
        id = await port.put("u", "the umbrella is green")
        await port.put("v", "the teapot is white")
        await port.update(id, "the parasol is yellow")
        await port.settle()
        held = await port.get(id)
        assert held is not None
        assert held.text == "the parasol is yellow"
        assert len(await port.list()) == 2
        if "words" not in port.lacks:
            assert (await port.search("parasol"))[0].id == id
        assert "the umbrella is green" not in [one.text for one in await port.search("green umbrella")]

    async def test_metadata_alone_is_updated(self, port: Port) -> None:
        unless(port, "metadata")
        id = await port.put("u", "it stays", metadata={"state": "new", "old": 1})
        await port.update(id, "it stays", metadata={"state": "done"})
        held = await port.get(id)
        assert held is not None
        assert (held.text, held.metadata) == ("it stays", {"state": "done"})
        assert len(await port.list()) == 1

    async def test_deleting_twice_is_no_error(self, port: Port) -> None:
        id, other = await port.put("d", "the walnut table"), await port.put("e", "the walnut chair")
        await port.delete(id)
        await port.delete(id)
        await port.delete("nobody")
        assert await port.get(id) is None
        assert ids(await port.list()) == [other]
        await port.settle()
        assert id not in ids(await port.search("walnut table"))

    async def test_what_was_deleted_can_be_stored_again(self, port: Port) -> None:
        id = await port.put("d", "the walnut table")
        await port.delete(id)
        again = await port.put("d", "the walnut table")
        assert ids(await port.list()) == [again]
        if "words" not in port.lacks:
            assert ids(await port.search("walnut table")) == [again]

    async def test_clear_empties_a_space(self, port: Port) -> None:
        for n in range(12):
            await port.put(f"c{n}", f"crate number {n}")
        kept = await port.put("kept", "crate of another space", space="b")
        await port.clear()
        assert list(await port.list()) == list(await port.search("crate")) == []
        await port.clear()
        assert ids(await port.list(space="b")) == [kept]
        await port.put("c1", "a crate after it")
        assert [one.text for one in await port.list()] == ["a crate after it"]

    async def test_it_expires_at_its_moment(self, port: Port) -> None:
        unless(port, "expiry")
        soon = await port.put("soon", "the parcel comes today", expires_at=port.now + timedelta(seconds=5))
        later = await port.put("later", "the parcel comes in spring", expires_at=port.now + timedelta(days=90))
        kept = await port.put("kept", "the parcel came")
        await port.advance(4)
        assert {soon, later, kept} == set(ids(await port.list()))
        await port.advance(1)
        assert await port.get(soon) is None
        assert ids(await port.list()) == [later, kept]
        assert soon not in ids(await port.search("parcel comes today"))
        if "words" not in port.lacks:
            assert set(ids(await port.search("parcel"))) == {later, kept}

    async def test_it_is_there_after_a_restart(self, port: Port) -> None:
        unless(port, "restart")
        expected = {await port.put(name, text): text for name, text in FACTS.items()}
        again = await port.reopened()
        assert {one.id: one.text for one in await again.list()} == expected
        id = next(iter(expected))
        assert await again.get(id) == (await again.list())[0]
        if "words" not in port.lacks:
            assert (await again.search("red bicycle"))[0].text == FACTS["bike"]

    async def test_fifty_write_and_read_at_once(self, port: Port) -> None:
        async def one(n: int) -> tuple[str, str]:
            id = await port.put(f"p{n}", f"parallel text {n}", space="ab"[n % 2])
            await port.search(f"parallel {n}", space="ab"[n % 2])
            held = await port.get(id, space="ab"[n % 2])
            assert held is not None
            return id, held.text

        done = await asyncio.gather(*map(one, range(50)))
        for rest, space in enumerate("ab"):
            assert {(one.id, one.text) for one in await port.list(space=space)} == set(done[rest::2])

    async def test_another_event_loop_may_use_it(self, port: Port) -> None:
        unless(port, "loops")
        mine = await port.put("mine", "said in this loop")
        theirs = await asyncio.to_thread(lambda: asyncio.run(_together(port)))
        assert set(ids(await port.list())) == {mine, *theirs}

    @settings(max_examples=10, database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(history=HISTORIES)
    async def test_any_history_leaves_what_a_dictionary_would_hold(self, port: Port, history: History) -> None:
        await port.clear(space="a")
        await port.clear(space="b")
        held: dict[str, dict[str, str]] = {"a": {}, "b": {}}
        names: dict[tuple[str, int], str] = {}
        """Under which id the port keeps the text that is called so here."""
        for n, (call, which, word, space) in enumerate(history):
            texts, text = held[space], f"{WORDS[word]} says {n}."
            id = names.get((space, which), f"h{which}")
            match call:
                case "put" if not ("ids" in port.lacks and id in texts):
                    names[space, which] = id = await port.put(f"h{which}", text, space=space)
                    texts[id] = text
                case "update" | "put":
                    if id in texts:
                        await port.update(id, text, space=space)
                        texts[id] = text
                case "delete":
                    await port.delete(id, space=space)
                    texts.pop(id, None)
                case "clear":
                    await port.clear(space=space)
                    texts.clear()
                case "get":
                    one = await port.get(id, space=space)
                    assert (one.text if one else None) == texts.get(id)
                case _:
                    found = await port.search(WORDS[word], space=space)
                    assert {one.id: one.text for one in found}.items() <= texts.items()
                    if not {"words", "model"} & set(port.lacks):
                        told = {id for id, text in texts.items() if WORDS[word] in text}
                        assert set(ids(found)) >= told if "meaning" not in port.lacks else set(ids(found)) == told
        for space, texts in held.items():
            assert {one.id: one.text for one in await port.list(space=space)} == texts


async def _together(port: Port) -> builtins.list[str]:
    return [*await asyncio.gather(*(port.put(f"l{n}", f"said in another loop {n}") for n in range(5)))]
