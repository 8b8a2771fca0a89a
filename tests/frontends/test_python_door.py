"""`Memory` and `Client`: ten lines that store and find, from wherever a program is."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, date, datetime
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import amemorix
from amemorix import AsyncClient, AsyncMemory, Client, Memory, MemoryFault
from amemorix.errors import InvalidRequest, NotFound, NotReady
from amemorix.models.local import catalog
from amemorix.models.local.install import install
from amemorix.testing import scratch_config
from daemon_process import daemon
from test_models_tiny import published

WORDS_ALONE = {"embedding.provider": "none"}


def opened(folder: Path) -> Memory:
    return Memory(folder, settings=WORDS_ALONE)


def test_metadata_that_is_not_given_stays_and_empty_metadata_empties(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        for told, kept in (({"metadata": {"n": 1}}, {"n": 1}), ({}, {"n": 1}), ({"metadata": {}}, {})):
            memory.add("The kiln is hot", chat="pots", id="k", **told)
            assert memory.search("kiln", chat="pots")[0].metadata == kept


def test_ten_lines_store_find_and_forget(tmp_path: Path) -> None:
    with opened(tmp_path / "memory") as memory:
        added = memory.add("I live in Leeds and have two cats", user="ann", id="m1", metadata={"via": "qq"})
        assert memory.add("I live in Leeds and have two cats", user="ann", id="m1").ids == ()
        turns = [{"role": "user", "content": "我对花生过敏"}, {"role": "assistant", "content": "好的，记住了"}]
        assert len(memory.add(messages=turns, user="ann").ids) == 2
        memory.add("The club meets on Mondays", chat="club")
        memory.add("Lights out at ten", everything=True)

        hits = memory.search("where does ann live", user="ann")
        assert (hits[0].text, hits[0].speaker, hits[0].metadata) == (
            "I live in Leeds and have two cats",
            "ann",
            {"via": "qq"},
        )
        assert str(hits).startswith(f"{hits[0].confidence:.2f} {hits[0].time:%Y-%m-%d} ann: I live in Leeds")
        assert [hit.text for hit in memory.search("when does the club meet", chat="club")] == [
            "The club meets on Mondays"
        ]
        assert "Lights out at ten" in {text.text for text in memory.texts(chat="club")}
        assert len(memory.texts(everything=True)) == 5
        memory.settle()
        assert "花生" in str(memory.context([{"role": "user", "content": "晚上吃什么"}], user="ann"))
        assert "Leeds" in str(memory.facts("ann")) and "Leeds" in str(memory.profile("ann"))

        memory.update(added.ids[0], "I live in York and have two cats")
        assert memory.search("where does ann live", user="ann")[0].text.startswith("I live in York")
        moved = memory.search("where does ann live", user="ann")[0]
        assert (moved.text[:14], moved.metadata) == ("I live in York", {"via": "qq"})
        memory.update(moved.id, metadata={"via": "mail"})
        assert memory.search("where does ann live", user="ann")[0].metadata == {"via": "mail"}
        gone = memory.forget(user="ann")
        assert not memory.search("where does ann live", user="ann")
        assert memory.restore(gone.operation) and memory.search("where does ann live", user="ann")
        assert memory.forget(user="ann", purge=True).purged
        assert memory.get(added.ids[0]) is None
        assert memory.export().is_file()
    with opened(tmp_path / "memory") as again:
        assert [text.text for text in again.texts(everything=True)] == [
            "Lights out at ten",
            "The club meets on Mondays",
        ]
        assert "<td>Lights out at ten</td>" in again.texts(everything=True)._repr_html_()


def test_whose_memory_is_read_has_to_be_said(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        for ask in (
            lambda: memory.search("x"),
            lambda: memory.context([{"role": "user", "content": "x"}]),
            lambda: memory.texts(),
            lambda: memory.add("x"),
            lambda: memory.forget(),
        ):
            with pytest.raises(InvalidRequest, match="user: say"):
                ask()
        with pytest.raises(InvalidRequest, match="everything"):
            memory.search("x", user="ann", everything=True)
        with pytest.raises(InvalidRequest, match="text: give"):
            memory.add(user="ann")
        with pytest.raises(NotFound, match="p77"):
            memory.update("p77", "x")
        with pytest.raises(MemoryFault, match="limit"):
            memory.search("x", user="ann", limit=0)


@pytest.mark.parametrize(
    "given", ["what should I pack?", {"role": "user", "content": "pack?"}, ["what should I pack?"]]
)
def test_what_are_no_turns_is_named(tmp_path: Path, given: Any) -> None:
    with opened(tmp_path) as memory:
        for call in (
            lambda: memory.add(messages=given, user="ann"),
            lambda: memory.search(messages=given, user="ann"),
            lambda: memory.context(given, user="ann"),
        ):
            with pytest.raises(InvalidRequest, match="messages: give a list of turns"):
                call()


def test_turns_in_the_place_of_a_text_are_not_lost(tmp_path: Path) -> None:
    turns: Any = [{"role": "user", "content": "I like tea"}]
    with opened(tmp_path) as memory, pytest.raises(InvalidRequest, match="messages="):
        memory.add(turns, user="ann")


@pytest.mark.parametrize("page", ["docs/python.md", "docs/zh/python.md"])
def test_the_first_program_of_the_page_prints_a_context(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], page: str
) -> None:
    program = (Path(__file__).parents[2] / page).read_text("utf-8").partition("```python\n")[2].partition("```")[0]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("amemorix.Memory", opened)
    exec(program, {})
    assert "## Remembered" in capsys.readouterr().out


def test_an_address_is_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidRequest, match="Client"):
        Memory("http://127.0.0.1:7400")
    assert not list(tmp_path.iterdir())


def test_an_erasure_counts_what_was_deleted_before(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        memory.add("I have a dog called Rex", user="ann")
        assert memory.forget(user="ann").texts == 1
        assert memory.forget(user="ann", purge=True).texts == 1


def test_a_user_sees_neither_other_users_nor_chats(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        memory.add("my umbrella is blue", user="ann")
        memory.add("my umbrella is red", user="bo")
        memory.add(messages=[{"speaker": "cy", "text": "my umbrella is green"}], chat="club")
        assert [hit.text for hit in memory.search("umbrella", user="bo")] == ["my umbrella is red"]
        assert [hit.text for hit in memory.search("umbrella", chat="club")] == ["my umbrella is green"]
        assert len(memory.search("umbrella", everything=True)) == 3


def test_from_many_threads_and_inside_a_running_loop(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        with ThreadPoolExecutor(8) as threads:
            ids = [one.ids[0] for one in threads.map(lambda n: memory.add(f"note {n}", chat="c"), range(40))]
        assert len(set(ids)) == 40

        async def as_in_a_notebook() -> int:
            return len(memory.texts(chat="c", limit=100))

        assert asyncio.run(as_in_a_notebook()) == 40
    with pytest.raises(NotReady, match="closed"):
        memory.texts(chat="c")


async def test_awaited_the_same(tmp_path: Path) -> None:
    async with AsyncMemory(tmp_path, settings=WORDS_ALONE) as memory:
        await asyncio.gather(*(memory.add(f"note {n}", chat="c") for n in range(10)))
        assert len(await memory.texts(chat="c")) == 10
        first = await memory.texts(chat="c", limit=6)
        assert len(await memory.texts(chat="c", limit=6, before=first.next)) == 4
        assert repr(memory) == f"AsyncMemory({str(tmp_path)!r})"


def test_a_program_that_does_not_close_its_memory_ends_quietly(tmp_path: Path) -> None:
    program = (
        "import gc; from amemorix import Memory; "
        f"Memory({str(tmp_path)!r}, settings={WORDS_ALONE!r}).add('I live in Leeds', user='ann'); gc.collect()"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stderr == ""
    with opened(tmp_path) as memory:
        assert [text.text for text in memory.texts(user="ann")] == ["I live in Leeds"]


def test_a_second_process_is_told_what_to_do(tmp_path: Path) -> None:
    with opened(tmp_path):
        program = f"from amemorix import Memory; Memory({str(tmp_path)!r})"
        told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        assert "DirectoryInUse" in told.stderr and "let `amemorix serve` open it before" in told.stderr


def test_a_program_that_ends_without_closing_ends_quietly_and_keeps_what_it_stored(tmp_path: Path) -> None:
    program = textwrap.dedent(f"""
        from amemorix import Memory
        memory = Memory({str(tmp_path)!r}, settings={WORDS_ALONE!r})
        memory.add("I live in Leeds", user="ann")
    """)
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert told.stderr == ""
    with opened(tmp_path) as memory:
        assert [text.text for text in memory.texts(user="ann")] == ["I live in Leeds"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_fork_is_told_what_to_do(tmp_path: Path) -> None:
    program = textwrap.dedent(f"""
        import os
        from amemorix import Memory
        memory = Memory({str(tmp_path)!r}, settings={WORDS_ALONE!r})
        if child := os.fork():
            raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        try:
            memory.add("x", user="ann")
        except Exception as exc:
            os._exit(7 if "fork" in str(exc) else 8)
        os._exit(9)
    """)
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 7


def test_a_client_and_a_memory_of_a_served_folder_ask_the_daemon(tmp_path: Path) -> None:
    config = scratch_config(tmp_path, {**WORDS_ALONE, "http.token_env": "MEMORY_TOKEN_OF_THE_TEST"})
    with daemon(config) as running:
        with Client(running.url) as client:
            client.add("I live in Leeds", user="ann")
            assert client.search("where does ann live", user="ann")[0].text == "I live in Leeds"
            client.add("I was in Rome", user="ann", time=datetime(2020, 5, 4, 12))
            assert client.search("Rome", user="ann", until=date(2020, 6, 1))[0].text == "I was in Rome"
            assert client.forget(id=client.texts(user="ann", limit=1)[0].id).texts == 1
            with pytest.raises(InvalidRequest, match="limit"):
                client.search("x", user="ann", limit=0)
            with pytest.raises(InvalidRequest, match="cannot be sent"):
                client.add("x", user="ann", metadata={"raw": b"x"})
        for address in (running.url.removeprefix("http://"), f" {running.url.replace('http', 'HTTP')}/\n"):
            with Client(address) as client:
                assert client.texts(user="ann")
        with Memory(tmp_path) as memory:
            assert [text.text for text in memory.texts(user="ann")] == ["I live in Leeds"]

        async def awaited() -> int:
            async with AsyncClient(running.url) as client:
                return len(await client.texts(everything=True))

        assert asyncio.run(awaited()) == 1
    with Client(running.url) as late, pytest.raises(NotReady, match="does not answer"):
        late.texts(user="ann")


async def test_a_model_that_comes_later_is_taken_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = published(tmp_path / "published")
    monkeypatch.setattr(catalog, "DEFAULT_MODEL", model)
    monkeypatch.setattr(catalog, "MODELS", {model.name: model})
    monkeypatch.setenv("AMEMORIX_CACHE", str(tmp_path / "cache"))
    async with AsyncMemory(tmp_path / "memory", install_model=False) as memory:
        await memory.add("aa bb", user="ann")
        assert not (await memory.call("memory_stats"))["embedding"]["model"]
        install(model, tmp_path / "published", tmp_path / "cache")
        await memory.call("memory_runtime_admin", action="reload")
        await memory.settle()
        assert (await memory.call("memory_stats"))["embedding"]["model"] == "tiny"


def test_without_an_index_to_fetch_the_model_from_words_are_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AMEMORIX_CACHE", str(tmp_path / "cache"))
    for name in ("PIP_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX", "HF_ENDPOINT"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    with Memory(tmp_path / "memory") as memory:
        memory.add("I live in Leeds", user="ann")
        assert memory.search("where does ann live", user="ann")[0].text == "I live in Leeds"


def test_what_the_package_offers_is_seen() -> None:
    assert {"Memory", "AsyncMemory", "Client", "AsyncClient", "AMemorixHostService"} <= set(dir(amemorix))


def test_a_program_that_does_not_close_ends_in_silence(tmp_path: Path) -> None:
    program = "import sys\nfrom amemorix import Memory\nMemory(sys.argv[1], settings={'embedding.provider': 'none'}).add('x', user='a')"
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    with opened(tmp_path) as memory:
        assert [text.text for text in memory.texts(user="a")] == ["x"]


def test_what_is_said_in_a_group_is_in_nobodys_private_chat(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        memory.add("The umbrella is in the hall cupboard.", user="ann", chat="club")
        memory.add(messages=[{"role": "user", "content": "Thanks, I will take the umbrella."}], user="bo", chat="club")
        memory.settle()
        assert [hit.speaker for hit in memory.search("umbrella", chat="club")] != []
        assert {one.speaker for one in memory.texts(chat="club")} == {"ann", "bo"}
        for who in ("ann", "bo"):
            assert not memory.search("umbrella", user=who)


def test_facts_keep_what_is_in_doubt_and_say_so(tmp_path: Path) -> None:
    with opened(tmp_path / "memory") as memory:
        for text, trust in (
            ("Drives a Honda Civic", "manual_confirmed"),
            ("Sold the Honda Civic, no longer drives", ""),
        ):
            memory.call(
                "ingest_text", text=text, source_type="person_fact", person_ids=["mara"], user_id="mara",
                metadata={"trust": trust} if trust else {},
            )  # fmt: skip
            memory.settle()
        told = {fact.value: fact.status for fact in memory.facts("mara")}
        assert told == {"Drives a Honda Civic": "maybe_outdated", "Sold the Honda Civic, no longer drives": "active"}


def test_closing_beside_calls_of_other_threads_answers_or_refuses_each_and_opens_nothing_anew(tmp_path: Path) -> None:
    memory = opened(tmp_path)
    begun, refusals, stored = threading.Barrier(9), list[str](), list[int]()

    def talk(speaker: int) -> None:
        memory.add("0", user=f"u{speaker}")
        begun.wait()
        with pytest.raises(NotReady) as refused:
            for n in count(1):
                stored.append(len(memory.add(str(n), user=f"u{speaker}").ids))
                memory.update("p1", f"{speaker} {n}")
        refusals.append(str(refused.value))

    threads = [threading.Thread(target=talk, args=(n,), daemon=True) for n in range(8)]
    for thread in threads:
        thread.start()
    begun.wait()
    closing = [threading.Thread(target=memory.close, daemon=True) for _ in range(2)]
    for thread in closing:
        thread.start()
    for thread in (*closing, *threads):
        thread.join(60)
        assert not thread.is_alive()
    assert refusals == ["It is closed."] * 8
    with opened(tmp_path) as memory:  # nobody holds the folder
        assert len(memory.texts(everything=True, limit=1000)) >= 8 + sum(stored)


async def test_what_was_closed_is_opened_again_by_open_alone(tmp_path: Path) -> None:
    memory = AsyncMemory(tmp_path, settings=WORDS_ALONE)
    await memory.add("I live in Leeds", user="ann")
    await memory.close()
    with pytest.raises(NotReady, match=r"It is closed\."):
        await memory.add("I live in York", user="ann")
    async with memory:
        assert [text.text for text in await memory.texts(user="ann")] == ["I live in Leeds"]


@pytest.mark.parametrize(
    "url",
    ["", "  ", "http://", "ftp://127.0.0.1:7400", "unix:///run/memory", "host:port/path", "https:host", "https:/host", "::1",
     "http://[::1", "host:99999", "/path", "./memory", "ho st:7400"],
)  # fmt: skip
def test_what_is_no_address_of_a_daemon_is_said(url: str) -> None:
    with pytest.raises(InvalidRequest, match=r"url: .* such as http://127\.0\.0\.1:7400"):
        Client(url)


def test_an_id_of_the_callers_own_is_no_id_of_the_memory(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        memory.add("The hut is closed in winter", chat="club", id="hut")
        for call in (memory.get, lambda id: memory.update(id, "x"), lambda id: memory.update(id, metadata={}),
                     lambda id: memory.forget(id=id), lambda id: memory.forget(id=["p1", id])):  # fmt: skip
            with pytest.raises(InvalidRequest, match=r"^id: 'hut' is no id of the memory: it gives ids such as p12"):
                call("hut")
        assert memory.get("p1")


@pytest.mark.parametrize(("status", "body"), [(200, "[]"), (200, "{}"), (404, '{"detail": "Not Found"}'), (403, "{}")])
async def test_what_answers_and_is_no_memory_is_named(status: int, body: str) -> None:
    async def stranger(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}".encode())
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(stranger, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with AsyncClient(url) as memory:
            with pytest.raises(NotReady, match=f"is no memory: {status}"):
                await memory.get("p1")


def test_another_wording_keeps_an_expiry_of_a_far_year(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        far = {"chat_id": "club", "text": "The lease runs on", "expires_at": "9999-12-30"}
        (id_,) = memory.call("ingest_text", far)["stored_ids"]
        before = memory.call("memory_text_admin", action="get", ids=[id_], scope="all")["items"][0]["expires_at"]
        (new,) = memory.update(id_, "The lease runs on and on").ids
        after = memory.call("memory_text_admin", action="get", ids=[new], scope="all")["items"][0]["expires_at"]
        assert after == before > 250_000_000_000


def test_a_key_that_no_message_has_is_told(tmp_path: Path) -> None:
    with Memory(tmp_path) as memory:
        added = memory.add(messages=[{"rol": "user", "content": "I like tea."}], user="ann")
    assert len(added.ids) == 1
    assert "'messages.0.rol' was ignored" in str(added) and str(added).startswith("1 stored; ")


def test_what_is_added_with_an_expiry_keeps_it(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        until = datetime(2200, 1, 2, tzinfo=UTC)
        memory.add("The door code is 4711", chat="club", id="code", expires_at=until)
        memory.add(messages=[{"role": "user", "content": "I am in Rome"}], user="ann", expires_at=until)
        kept = memory.call("memory_text_admin", action="list", scope="all")["items"]
        assert {one["text"]: one["expires_at"] for one in kept} == {
            "The door code is 4711": until.timestamp(), "I am in Rome": until.timestamp()
        }  # fmt: skip
        memory.add("The door code is 4711", chat="club", id="code", expires_at="never")
        assert memory.call("memory_text_admin", action="get", ids=["p1"], scope="all")["items"][0]["expires_at"] is None
        before = time.time()
        (id_,) = memory.add("Lights out at ten", everything=True, ttl_seconds=3600).ids
        (item,) = memory.call("memory_text_admin", action="get", ids=[id_], scope="all")["items"]
        assert before + 3600 <= item["expires_at"] <= time.time() + 3600
        with pytest.raises(InvalidRequest, match="expires_at has passed"):
            memory.add("The bell is broken", chat="club", expires_at=datetime(2020, 1, 2, tzinfo=UTC))
        with pytest.raises(InvalidRequest, match="expires_at and ttl_seconds"):
            memory.add("x", chat="club", expires_at=until, ttl_seconds=1)
        with pytest.raises(InvalidRequest, match=r"ttl_seconds: .* after the year 9999"):
            memory.add("x", chat="club", ttl_seconds=1e12)


@pytest.mark.parametrize("until", [datetime(5500, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)])
def test_a_far_year_is_no_number_of_milliseconds(tmp_path: Path, until: datetime) -> None:
    with opened(tmp_path) as memory:
        for given in (until, until.timestamp(), until.isoformat()):
            memory.call(
                "ingest_text", chat_id="club", source="s", external_id="x", text="The lease runs on", expires_at=given
            )
            (item,) = memory.call("memory_document_admin", action="list", chat_id="club")["items"]
            assert item["expires_at"] == until.timestamp()
        memory.call(
            "memory_document_admin", action="set", source="s", external_ids=["x"], expires_at=item["expires_at"]
        )
        memory.add("The ship lands", chat="club", time=until)
        (hit,) = memory.search("ship", chat="club")
        assert hit.time == until


def test_what_the_settings_keep_out_is_not_said_to_be_there(tmp_path: Path) -> None:
    with Memory(tmp_path, settings={**WORDS_ALONE, "filter.chats": ["bad"]}) as memory:
        for added in (memory.add("a quokka", user="bad"), memory.add("a note", chat="bad")):
            assert (added.ids, added.skipped, added.refused) == ((), (), "chat_filtered")
            assert str(added) == "nothing stored: chat_filtered"
        assert memory.add("a quokka", user="good").refused == ""


def test_a_daemon_that_has_moved_is_found_again(tmp_path: Path) -> None:
    config = scratch_config(tmp_path, WORDS_ALONE)
    with ExitStack() as first:
        first.enter_context(daemon(config))
        memory = Memory(tmp_path)
        memory.add("I live in Leeds", user="ann")
        first.close()
        with daemon(config):
            assert [text.text for text in memory.texts(user="ann")] == ["I live in Leeds"]
        assert [text.text for text in memory.texts(user="ann")] == ["I live in Leeds"], (
            "nobody has the folder: it opens it"
        )
        memory.close()
        with pytest.raises(NotReady, match="closed"):
            memory.texts(user="ann")


def test_errors_are_in_the_language_of_the_locale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = scratch_config(tmp_path, WORDS_ALONE)
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    for name in ("LC_ALL", "LC_MESSAGES", "LANGUAGE"):
        monkeypatch.delenv(name, raising=False)
    with daemon(config) as running, Client(running.url) as client, Memory(tmp_path) as memory:
        for calls in (client, memory):
            with pytest.raises(InvalidRequest, match="应大于或等于"):
                calls.search("x", user="ann", limit=0)
            with pytest.raises(InvalidRequest, match="说明"):
                calls.search("x")
    with Client("http://127.0.0.1:9") as nobody, pytest.raises(NotReady, match="没有应答"):
        nobody.search("x", user="ann")


def test_what_a_user_says_again_is_stored_once(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        first = memory.add("I live in Leeds", user="ann", metadata={"from": "form"})
        again = memory.add("I live in Leeds", user="ann", metadata={"from": "chat"})
        assert (first.repeated, again.repeated, again.ids) == (False, True, first.ids)
        assert str(again) == "1 was there already"
        assert [(one.text, one.metadata) for one in memory.texts(user="ann")] == [("I live in Leeds", {"from": "chat"})]
        assert not memory.add("I live in Leeds", user="bo").repeated
        assert not memory.add("I live in Leeds.", user="ann").repeated
        assert not memory.add("I live in Leeds", user="ann", time="2025-03-01").repeated
        assert not memory.add("I live in Leeds", user="ann", id="mine").repeated
        assert len(memory.texts(user="ann")) == 4
        memory.forget(id=[one.id for one in memory.texts(user="ann")])
        assert not memory.add("I live in Leeds", user="ann").repeated
        assert len(memory.texts(user="ann")) == 1


def test_a_repeat_may_expire_at_another_time(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        (id_,) = memory.add("The code is 4711", user="ann", ttl_seconds=60).ids
        assert memory.add("The code is 4711", user="ann", expires_at="never").repeated
        (row,) = memory.call("memory_text_admin", action="get", ids=[id_], scope="all")["items"]
        assert row["expires_at"] is None


def test_turns_of_a_chat_are_stored_each_time(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        for _ in range(2):
            assert not memory.add(messages=[{"role": "user", "content": "ok"}], user="ann").repeated
            assert not memory.add("ok", user="ann", chat="club").repeated
        assert [one.text for one in memory.texts(user="ann")] == ["ok", "ok"]
        assert [one.text for one in memory.texts(chat="club")] == ["ok", "ok"]
