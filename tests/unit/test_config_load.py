import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amemorix.config import Config, default_toml, load, parse, read_text
from amemorix.errors import InvalidConfig
from amemorix.host.environment import data_folder
from amemorix.locale import told
from amemorix.location import Location, locate


def refused(text, where="a.toml"):
    with pytest.raises(InvalidConfig) as caught:
        parse(text, where)
    return caught.value


def only_problem(text):
    problems = refused(text).details["problems"]
    assert len(problems) == 1, problems
    return problems[0]


def test_syntax_error_names_file_line_and_column():
    error = refused("[retrieval]\ncandidates 5\n")
    assert str(error).startswith("a.toml, line 2, column 12: ")
    assert error.details["file"] == "a.toml"
    assert {k: error.details["problems"][0][k] for k in ("path", "line", "column")} == {
        "path": "",
        "line": 2,
        "column": 12,
    }


SYNTAX = {
    "[general]\nlanguage = zh": (2, 12, 'write a text in quotes: "zh"', "文本要加引号：\"zh\""),
    "a = True": (1, 5, "True is not a value; write true", "True 不是值；请写 true"),
    "a = “x”": (1, 5, 'a text stands between straight quotes ("), not “', "文本要放在英文直引号 (\") 之间，不能用“"),
    "a =": (1, 4, "a value is missing after =", "= 之后缺少值"),
    "a = [1,,2]": (1, 8, "a value is missing before ,", ", 之前缺少值"),
    "[general\na = 1": (1, 9, "the name of a table ends with ]", "表名要以 ] 结尾"),
    "[[a]\n": (1, 4, "the name of a list of tables ends with ]]", "表数组的名称要以 ]] 结尾"),
    "a: 1": (1, 2, "after a key comes =, not :", "键之后应为 =，不是 :"),
    "a 1": (1, 3, "after a key comes = and its value", "键之后应为 = 和它的值"),
    'a = "x\nb = 1': (1, 7, "the quote that ends a text is missing", "缺少结束文本的引号"),
    'b = 1\na = """x\ny\n': (2, 5, "the quote that ends a text is missing", "缺少结束文本的引号"),
    "a = 'x\n": (1, 5, "the quote that ends a text is missing", "缺少结束文本的引号"),
    "a = [1, 2\nb = 3": (2, 1, "a comma or the ] of a list belongs before this", "在此之前应有逗号，或列表的 ]"),
    "a = {b = 1\n}": (1, 11, "the } of an inline table belongs on the line of its {", "内联表的 } 要与 { 在同一行"),
    "a = 1\na = 2": (2, 6, "this name already has a value", "这个名称已经有值了"),
    "[a]\n[b]\n[a]": (3, 3, "the table [a] was written above", "表 [a] 上面已经写过"),
    'a = "C:\\Users"': (1, 10, "\\ has a meaning of its own between double quotes: write \\\\, or put the text in single quotes",
                       "\\ 在双引号中有特殊含义：请写成 \\\\，或改用单引号"),
    "a = 1 2": (1, 7, "only a comment (#) may follow on the line of a value", "值之后同一行只能有注释 (#)"),
    "a = 2025-13-01": (1, 9, "only a comment (#) may follow on the line of a value", "值之后同一行只能有注释 (#)"),
    "名字 = 1": (1, 1, "a line is a [table], a key = value or a # comment; a key in other letters than a to z stands in quotes",
               "一行只能是 [表]、键 = 值或 # 注释；含有 a 到 z 以外字母的键要加引号"),
}  # fmt: skip


@pytest.mark.parametrize("text", SYNTAX)
def test_a_syntax_error_says_what_is_wrong_and_shows_the_line(text):
    line, column, problem, chinese = SYNTAX[text]
    error = refused(text)
    shown = text.split("\n")[line - 1]
    assert str(error) == f"a.toml, line {line}, column {column}: {problem}.\n  {shown}\n  {' ' * (column - 1)}^"
    assert (
        told(str(error), "zh") == f"a.toml 第 {line} 行第 {column} 列：{chinese}。\n  {shown}\n  {' ' * (column - 1)}^"
    )


def test_syntax_error_at_the_end_names_the_last_line():
    assert only_problem('a = 1\nb = "x').get("line") == 2


def test_repeated_key_is_a_syntax_error():
    assert only_problem("[http]\nport = 1\nport = 2\n")["line"] == 3


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("candidates = 5", "retrieval.candidates is 5; allowed: an integer from 10 to 2000"),
        ("candidates = 50.5", "retrieval.candidates is 50.5; allowed: an integer from 10 to 2000"),
        ("candidates = true", "retrieval.candidates is true; allowed: an integer from 10 to 2000"),
        ("candidates = [1]", "retrieval.candidates is an array; allowed: an integer from 10 to 2000"),
        ("candidates = {}", "retrieval.candidates is a table; allowed: an integer from 10 to 2000"),
        (
            'candidates = "50"',
            'retrieval.candidates is the string "50"; allowed: an integer from 10 to 2000 (write it without quotes)',
        ),
        (
            "session_gap_minutes = nan",
            "retrieval.session_gap_minutes is nan; allowed: a number above 0 and at most 100000",
        ),
        (
            "session_gap_minutes = -inf",
            "retrieval.session_gap_minutes is -inf; allowed: a number above 0 and at most 100000",
        ),
        ("session_gap_minutes = 0", "retrieval.session_gap_minutes is 0; allowed: a number above 0 and at most 100000"),
        ("sparse.backend = 'x'", 'retrieval.sparse.backend is the string "x"; allowed: "native" or "fts5"'),
        ("sparse = 1", "retrieval.sparse is 1; allowed: a table"),
    ],
)
def test_refused_value_says_what_is_allowed(line, problem):
    report = only_problem(f"# top\n[retrieval]\n{line}\n")
    assert (report["problem"], report["line"]) == (problem, 3)


@pytest.mark.parametrize("value", ["2020-01-01", "2020-01-01T00:00:00Z", "2020-01-01 00:00:00", "07:30:00"])
def test_a_date_where_text_is_wanted_asks_for_quotes(value):
    report = only_problem(f"[http]\nhost = {value}\n")
    assert report["path"] == "http.host"
    assert report["problem"].endswith("allowed: a string of at least 1 character (put it in quotes)")


@pytest.mark.parametrize(
    ("text", "path", "near"),
    [
        ("[retrieval]\ncandidate = 5", "retrieval.candidate", "retrieval.candidates"),
        ("[retrieval]\nCandidates = 5", "retrieval.Candidates", "retrieval.candidates"),
        ("[retrieval]\nchunk_chars = 500", "retrieval.chunk_chars", "ingest.chunk_chars"),
        ("[retreival]\ncandidates = 50", "retreival", "retrieval"),
        ("[weights]\ndense = 1", "weights", "retrieval.weights"),
        ("[storage]\ndata-dir = 'x'", "storage.data-dir", "storage.data_dir"),
        ("[embedding]\nenable = true", "embedding.enable", "plugin.enabled"),
        ("[[shared_memory_groups]]\ntarget = []", "shared_memory_groups[0].target", "shared_memory_groups[].targets"),
    ],
)
def test_unknown_key_gets_the_nearest_known_one(text, path, near):
    report = only_problem(text)
    assert (report["path"], report["problem"]) == (path, f"{path} is not a setting; did you mean {near}")


def test_unknown_key_with_nothing_near_lists_the_table():
    assert only_problem("[plugin]\nzzzz = 1")["problem"] == "plugin.zzzz is not a setting; known here: enabled"


def test_the_value_of_an_unknown_key_is_never_repeated():
    error = refused("[embedding]\napi_key = 'sk-secret'\n")
    assert "sk-secret" not in str(error.to_dict())


def test_all_problems_come_at_once_in_the_order_of_the_text():
    error = refused("[retrieval]\ncandidates = 1\nrrfk = 2\n[http]\nport = 'x'\n[filter]\nchats = ['a', '', 3]\n")
    found = [(p["path"], p["line"], p.get("value")) for p in error.details["problems"]]
    assert found == [
        ("retrieval.candidates", 2, 1),
        ("retrieval.rrfk", 3, None),
        ("http.port", 5, "x"),
        ("filter.chats[1]", 7, ""),
        ("filter.chats[2]", 7, 3),
    ]
    assert str(error).startswith("a.toml has 5 problems:\n  line 2: retrieval.candidates is 1;")


def test_line_of_a_table_in_an_array():
    text = "[[shared_memory_groups]]\ntargets = ['a']\n\n[[shared_memory_groups]]\n# which\ntargets = 5\n"
    assert (only_problem(text)["path"], only_problem(text)["line"]) == ("shared_memory_groups[1].targets", 6)


def test_lines_count_through_long_strings_and_arrays():
    text = '[storage]\ndata_dir = """a\n[http]\nport = 1"""\n[filter]\nchats = [\n "a", # [x]\n]\nmode = "no"\n'
    assert only_problem(text)["line"] == 9


@pytest.mark.parametrize(
    "text", ["a = " + "[" * 5000, "plugin.enabled" + ".a" * 5000 + " = 1", "a" + ".a" * 5000 + " = 1"]
)
def test_deep_nesting_is_refused(text):
    refused(text)


@pytest.mark.parametrize("number", ["9" * 19, "9" * 4000, "9" * 5000, "0x" + "f" * 9000])
def test_huge_numbers_are_refused(number):
    assert re.search("too large|Exceeds the limit", only_problem(f"[http]\nport = {number}\n")["problem"])


def test_half_a_surrogate_pair_is_refused():
    assert only_problem("[http]\nhost = '\ud800'\n")["line"] == 2


def test_load_reads_a_file(tmp_path):
    path = tmp_path / "a.toml"
    path.write_bytes(b"\xef\xbb\xbf[http]\r\nport = 1\r\n")
    assert load(path).http.port == 1
    assert read_text(path) == "[http]\r\nport = 1\r\n"


def test_missing_file_is_an_error_and_is_not_created(tmp_path):
    path = tmp_path / "none" / "a.toml"
    with pytest.raises(InvalidConfig, match=re.escape(str(path))):
        load(path)
    assert not path.parent.exists()


def test_missing_file_is_created_on_request(tmp_path):
    path = tmp_path / "new" / "a.toml"
    assert load(path, create=True) == Config()
    assert path.read_text("utf-8") == default_toml()
    assert [p.name for p in path.parent.iterdir()] == ["a.toml"]


def test_a_folder_in_place_of_the_file_is_an_error(tmp_path):
    with pytest.raises(InvalidConfig, match="cannot be read"):
        load(tmp_path)


def test_other_encodings_are_named(tmp_path):
    path = tmp_path / "a.toml"
    path.write_bytes("# 中文\n[http]\n".encode("gbk"))
    with pytest.raises(InvalidConfig, match=r"line 1: the text is not UTF-8"):
        load(path)


WORDS = "nan 1 true é retrieval candidates shared_memory_groups targets filter chats 1979-05-27 a weights"
MARKS = "[ ] { } = . , \" ' \"\"\" ''' # \\ \0"
PIECES = st.sampled_from([*WORDS.split(" "), *MARKS.split(" "), " ", "\n", "\r\n"])


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(), st.lists(PIECES, max_size=40).map("".join)))
def test_any_text_gives_a_config_or_invalid_config(text):
    try:
        assert isinstance(parse(text), Config)
    except InvalidConfig as error:
        assert error.details["problems"]


VALUES = st.sampled_from(
    ["1", "-1.5", "nan", "inf", "true", "'x'", "[]", "['x', 1]", "{}", "{a = 1}", "1979-05-27", "99999999"]
)
NAMES = st.sampled_from(
    ["plugin", "enabled", "retrieval", "weights", "dense", "filter", "chats", "shared_memory_groups", "x"]
)


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.lists(NAMES, min_size=1, max_size=3).map(tuple), VALUES, max_size=6))
def test_every_problem_of_a_wrong_value_has_its_line(pairs):
    text = "".join(f"# about it\n{'.'.join(path)} = {value}\n" for path, value in pairs.items())
    try:
        parse(text)
    except InvalidConfig as error:
        for problem in error.details["problems"]:
            if problem["problem"].startswith("the text holds no setting"):
                continue  # no line of its own
            line = text.splitlines()[problem["line"] - 1]
            assert not problem["path"] or line.startswith(problem["path"].split("[")[0].split(".")[0])


@pytest.mark.parametrize(
    "text",
    [
        "[http]\nport = 7401\n",
        '[storage]\ndata_dir = "elsewhere"\n[http]\ntoken_env = "MINE"\n',
        '\ufeff[storage]\ndata_dir = "~/x"\n',
    ],
)
def test_where_a_memory_lies_is_read_without_the_models_as_with_them(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config" / "a.toml"
    path.parent.mkdir()
    path.write_text(text, "utf-8")
    config = load(path)
    assert locate(path) == Location(data_folder(path, config), config.http.token_env)


@pytest.mark.parametrize(
    "text", ["[storage", "storage = 1\n", "[storage]\ndata_dir = 3\n", '[storage]\ndata_dir = "a\\u0000b"\n']
)
def test_a_file_that_names_no_place_names_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.toml").write_text(text, "utf-8")
    assert locate(tmp_path / "a.toml") is None
    assert locate(tmp_path / "missing.toml") is None
