"""Commands on people and chats."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from amemorix import Memory
from amemorix.locale import speaking
from amemorix.testing import scratch_config
from command_line import run


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = scratch_config(tmp_path, {"embedding.provider": "none"})
    monkeypatch.setenv("AMEMORIX_CONFIG", str(path))
    monkeypatch.setenv("COLUMNS", "200")
    turns = [{"speaker": "Mia", "text": "I drink coffee, black."}, {"speaker": "林澈", "text": "我对花生过敏"}]
    lines = tmp_path / "turns.jsonl"
    lines.write_text("\n".join(json.dumps(turn) for turn in turns))
    assert run("ingest", str(lines), "--format", "jsonl", "--chat", "friends").exit_code == 0
    return path


def test_what_is_stored_is_looked_through(config: Path) -> None:
    assert "friends" in run("chats").stdout and "friends" not in run("chats", "nobody").stdout
    assert {"Mia", "林澈"} <= set(run("people").stdout.split())
    log = run("log", "friends", "--last", "1").stdout
    assert "林澈: 我对花生过敏  [p2]" in log and "Mia" not in log
    assert "amemorix chats" in run("log", "nowhere").stderr
    shown = run("show", "p1", "p9")
    assert (shown.exit_code, "speaker: Mia" in shown.stdout, "no p9" in shown.stderr) == (1, True, True)
    assert "花生" in run("profile", "林澈").stdout
    assert "花生" in run("facts", "林澈").stdout
    assert "花生" in run("context", "今天吃什么", "--chat", "friends", "--user", "林澈").stdout


def test_what_is_known_of_people_is_cut_between_phrases(config: Path) -> None:
    known = {
        "ann": ["I live in Leeds", "I work as a nurse at the children's hospital", "My favourite food is ramen",
                "My dog is called Biscuit", "I am allergic to peanuts", "My birthday is on 3 May"],
        "小明": ["我住在杭州市余杭区五常街道", "我在阿里巴巴做后端工程师", "我对花生过敏", "我喜欢吃四川火锅和重庆小面",
               "我的狗叫豆豆", "我妈妈在成都开了一家卖手工皮具的小店", "我最喜欢的歌手是周杰伦和陈奕迅", "我的生日是五月三号",
               "我讨厌香菜", "我正在学习日语和西班牙语"],
    }  # fmt: skip
    with Memory(config.parent.parent) as memory:
        for who, texts in known.items():
            for text in texts:
                memory.add(text, user=who)
        memory.settle()
    listed = json.loads(run("call", "memory_profile_admin", "list").stdout)["items"]
    whole = {one["person_id"]: " · ".join(one["summary"].splitlines()[1:]) for one in listed}
    rows = run("people").stdout.splitlines()
    for who in known:
        shown = next(row for row in rows if row.split()[:1] == [who]).split(maxsplit=2)[2].strip()
        kept = shown.removesuffix("…")
        assert shown.endswith("…") and 40 <= len(shown) <= 100, shown
        assert whole[who].startswith(kept) and whole[who][len(kept) :].startswith((" · ", "; ", "；")), (
            shown,
            whole[who],
        )


@pytest.mark.parametrize("config_at", ["memory/a_memorix.toml", "memory/config/a_memorix.toml"])
def test_the_folder_of_a_memory_is_looked_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, config_at: str) -> None:
    monkeypatch.chdir(tmp_path)
    written = scratch_config(tmp_path / "scratch", {"embedding.provider": "none"})
    (tmp_path / config_at).parent.mkdir(parents=True)
    written.rename(tmp_path / config_at)
    with Memory("memory") as memory:
        memory.add("I drink coffee, black.", user="mia")
    assert "private:mia" in run("chats", "-c", "memory").stdout
    monkeypatch.setenv("AMEMORIX_CONFIG", "memory")
    assert "private:mia" in run("chats").stdout


def test_a_folder_that_is_not_there_yet_becomes_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("line.txt").write_text("The club's hut is closed in winter")
    assert run("ingest", "line.txt", "--chat", "club", "-c", "memory").exit_code == 0
    with Memory("memory") as memory:
        assert str(memory.search("when is the hut closed?", chat="club")) != "(nothing)"
    assert "club" in run("chats", "-c", "memory").stdout


def test_a_search_may_be_of_a_user(config: Path) -> None:
    with Memory(config.parent.parent) as memory:
        memory.add("I take my coffee with milk", user="ann")
    mine = run("search", "coffee", "--user", "ann")
    assert "with milk" in mine.stdout and "black" not in mine.stdout
    assert "Every chat is searched" not in mine.stderr
    assert {"with", "milk", "black."} <= set(run("search", "coffee").stdout.split())


def test_nothing_is_forgotten_without_a_yes(config: Path) -> None:
    refused = run("forget", "Mia", given="n\n")
    assert refused.exit_code == 1 and "I drink coffee" in refused.stdout
    assert "Mia" in run("log", "friends").stdout
    done = run("forget", "Mia", given="y\n").stdout
    assert "restore --operation-id d1" in done and "Mia" not in run("log", "friends").stdout
    assert run("call", "memory_delete_admin", "restore", "--operation-id", "d1").exit_code == 0
    assert "Mia" in run("log", "friends").stdout
    assert "1 texts erased for good" in run("forget", "p1", "--purge", "--yes").stdout
    assert "1 texts" in run("forget", "--chat", "friends", "--yes").stdout
    assert "user: say whom" in run("forget").stderr


def test_a_preview_counts_what_it_lists(config: Path, tmp_path: Path) -> None:
    lines = tmp_path / "more.jsonl"
    turns = [{"speaker": "Mia", "text": f"Line {n} of the week.", "time": 1_700_000_000 + n} for n in range(6)]
    lines.write_text("\n".join(json.dumps(turn) for turn in turns))
    assert run("ingest", str(lines), "--chat", "friends").exit_code == 0
    shown = run("forget", "Mia", given="n\n").stdout.splitlines()
    heading = shown.index("  7 paragraphs")
    assert [line.split()[0][0] for line in shown[heading + 1 : heading + 6]] == ["p"] * 5
    assert shown[heading + 6] == "    2 more are not listed"
    headings = [line for line in shown if line.startswith("  ") and line[2] != " "]
    assert all(line.split()[0].isdigit() for line in headings), shown


def test_a_preview_says_what_stays_and_why(config: Path, tmp_path: Path) -> None:
    lines = tmp_path / "more.jsonl"
    turns = [
        {"speaker": "Mia", "person_id": "u7", "text": "I drink tea."},
        {"speaker": "Bo", "text": "Ask Mia about the tent."},
    ]
    lines.write_text("\n".join(json.dumps(turn) for turn in turns))
    assert run("ingest", str(lines), "--chat", "friends").exit_code == 0
    shown = run("forget", "u7", given="n\n").stdout
    going, staying = shown.split("This stays:\n")
    assert "I drink tea." in going and "tent" not in going
    assert "Ask Mia about the tent." in staying and "somebody else has the name" in staying
    with speaking("zh"):
        assert "以下内容保留：" in run("forget", "u7", given="n\n").stdout


def test_a_fact_is_shown_with_what_it_rests_on_and_where_to_look_further(config: Path) -> None:
    table = run("facts", "林澈").stdout
    assert "evidence" in table and "p2" in table
    fact = next(word for word in table.split() if word[0] == "f" and word[1:].isdigit())
    refused = run("show", fact)
    assert refused.exit_code == 1 and f"amemorix call memory_fact_admin get --fact-id {fact}" in refused.stderr
    assert run("call", "memory_fact_admin", "get", "--fact-id", fact).exit_code == 0
    with speaking("zh"):
        chinese = run("facts", "林澈").stdout
    assert "依据" in chinese and "成立" in chinese and "过敏：花生" in chinese and "active" not in chinese


def test_a_search_says_that_no_hit_is_likely(config: Path) -> None:
    answer = json.loads(
        run("invoke", "search_memory", "--json", '{"query": "kettle coffee", "chat_id": "friends"}').stdout
    )
    shown = run("search", "kettle coffee", "--chat", "friends").stderr
    assert ("not sure that one of these" in shown) is bool(answer["weak"] and answer["hits"])


def test_why_a_hit_was_found_shows_words(config: Path, tmp_path: Path) -> None:
    lines = tmp_path / "more.jsonl"
    turns = [
        {"speaker": "小北", "text": "我对芒果过敏，住在拱墅区"},
        {"speaker": "Kai", "text": "I was living near the stations."},
    ]
    lines.write_text("\n".join(json.dumps(turn) for turn in turns))
    assert run("ingest", str(lines), "--chat", "club").exit_code == 0
    why = run("search", "我对什么过敏", "--chat", "club").stdout
    assert "has: 过敏" in why and "我对," not in why
    assert "has: 拱墅" in run("search", "谁住在拱墅", "--chat", "club").stdout
    found = run("search", "a station where somebody is living", "--chat", "club").stdout
    assert "has: living, stations" in found


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("我上周把腿摔断了", "上周（2015年4月20–26日）"),
        ("I broke my leg last week when I moved.", "last week (20–26 April 2015)"),
    ],
)
def test_the_dates_of_a_fact_read_as_a_person_writes_them(config: Path, tmp_path: Path, text: str, told: str) -> None:
    lines = tmp_path / "dated.jsonl"
    lines.write_text(json.dumps({"speaker": "Bo", "text": text, "time": "2015-04-28T09:00:00Z"}))
    assert run("ingest", str(lines), "--chat", "club").exit_code == 0
    assert told in run("facts", "Bo").stdout
    assert told in run("profile", "Bo").stdout
    with Memory(config.parent.parent) as memory:
        assert told in str(memory.facts("Bo", chat="club"))
