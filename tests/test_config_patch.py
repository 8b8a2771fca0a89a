import tomllib
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amemorix.config import Config, default_toml, merged, parse, patched
from amemorix.config.render import toml_key, toml_value
from amemorix.config.statements import statements
from amemorix.errors import InvalidConfig

TEXT = """\
# top

[retrieval]  # how
candidates =   50 # few
  # own line
session_gap_minutes = 3_6.0

# about chats
[filter]
chats = [
  "group:1", # family
  # the next is new
  "group:2"  # work
]
mode = 'whitelist'
"""


def test_an_empty_patch_changes_nothing():
    assert patched(TEXT, {}) == TEXT


@pytest.mark.parametrize("patch", [{"retrieval": {"candidates": 60}}, {"retrieval.candidates": 60}])
def test_a_value_is_exchanged_in_place(patch):
    assert patched(TEXT, patch) == TEXT.replace("  50 #", "  60 #")


def test_equal_values_keep_their_text():
    patch = {"retrieval": {"session_gap_minutes": 36}, "filter": {"mode": "whitelist", "chats": ["group:1", "group:2"]}}
    assert patched(TEXT, patch) == TEXT


def test_a_truth_value_is_not_a_number():
    assert patched("a = 1\n", {"a": True}) == "a = true\n"


def test_a_new_setting_follows_the_last_of_its_table():
    assert patched(TEXT, {"retrieval.lane_budget_ms": 100}) == TEXT.replace("3_6.0\n", "3_6.0\nlane_budget_ms = 100\n")


def test_none_takes_a_setting_out():
    assert patched(TEXT, {"retrieval.candidates": None, "http.port": None}) == TEXT.replace(
        "candidates =   50 # few\n", ""
    )


def test_a_new_table_joins_its_family():
    text = "[retrieval]\ncandidates = 50\n\n# about http\n[http]\nport = 1\n"
    assert patched(text, {"retrieval.weights.dense": 1.5}) == (
        "[retrieval]\ncandidates = 50\n\n[retrieval.weights]\ndense = 1.5\n\n# about http\n[http]\nport = 1\n"
    )


def test_a_new_table_goes_to_the_end():
    assert patched("# only this", {"http": {"port": 1, "host": "x"}}) == (
        '# only this\n\n[http]\nport = 1\nhost = "x"\n'
    )


def test_a_setting_outside_tables_goes_to_the_top():
    assert patched("[http]\nport = 1\n", {"global_memory_sharing_enabled": True}) == (
        "global_memory_sharing_enabled = true\n\n[http]\nport = 1\n"
    )


def test_dotted_and_inline_tables_are_changed_where_they_are():
    assert patched("a.b = 1\nc = { d = 1 } # in\n", {"a.x": 2, "c.e": "f"}) == (
        'a.b = 1\na.x = 2\nc = { d = 1, e = "f" } # in\n'
    )


def test_lines_of_an_array_that_stay_keep_their_comments():
    text = patched(TEXT, {"filter.chats": ["group:0", "group:2", "user:3"]})
    assert text == TEXT.replace('  "group:1", # family\n', '  "group:0",\n').replace(
        '"group:2"  # work', '"group:2",  # work\n  "user:3",'
    )


def test_an_array_without_layout_keeps_its_comments_above():
    text = "[filter]\n  chats = ['a', # one\n  'b']\n"
    assert patched(text, {"filter.chats": ["a"]}) == '[filter]\n  # one\n  chats = ["a"]\n'


def test_an_array_of_tables_gives_way_to_a_list():
    text = "[http]\nport = 1\n\n# mine\n[[shared_memory_groups]]\ntargets = ['a'] # x\n"
    result = patched(text, {"shared_memory_groups": [{"targets": ["b"]}]})
    assert result == 'shared_memory_groups = [{ targets = ["b"] }]\n\n[http]\nport = 1\n\n# mine\n'


def test_windows_line_ends_and_byte_order_mark_stay():
    assert patched("\ufeff[http]\r\nport = 1\r\n", {"http": {"port": 2, "host": "x"}}) == (
        '\ufeff[http]\r\nport = 2\r\nhost = "x"\r\n'
    )


def test_strings_are_escaped():
    text = 'quote " back \\ line \n tab \t del \x7f nul \0 中 😀'
    assert parse(patched("", {"embedding.model_name": text})).embedding.model_name == text


@pytest.mark.parametrize("value", [[None], object(), {"x": [{"y": None}]}])
def test_what_toml_cannot_hold_is_refused(value):
    with pytest.raises(InvalidConfig, match="TOML"):
        patched("", {"a": value})


def test_a_patch_without_end_is_refused():
    patch = {}
    for _ in range(5000):
        patch = {"a": patch}
    with pytest.raises(InvalidConfig, match="too deep"):
        patched("", patch)


def test_a_broken_text_is_refused():
    with pytest.raises(InvalidConfig, match="line 1, column"):
        patched("a b", {"a": 1})


def test_every_setting_of_the_default_file_can_be_taken_out_and_put_back():
    bare = patched(default_toml(), dict.fromkeys(Config.model_fields))
    assert tomllib.loads(bare) == {}
    full = patched(bare, Config().model_dump())
    assert parse(full) == Config()
    assert [line for line in full.splitlines() if line.startswith("#")] == [
        line for line in default_toml().splitlines() if line.startswith("#")
    ]


NAMES = st.sampled_from(["a", "b", "c", "d-e", "f g", 'h"', "中"])
TEXTS = st.text(st.sampled_from("ab \"'#=[]{}\n\t\\中\x00\x7f"), max_size=6)
SCALARS = st.one_of(st.integers(-3, 3), st.booleans(), st.floats(allow_nan=False), TEXTS, st.just(date(2020, 1, 2)))
VALUES = st.recursive(
    SCALARS, lambda v: st.one_of(st.lists(v, max_size=3), st.dictionaries(NAMES, v, max_size=2)), max_leaves=4
)
TABLES = st.recursive(
    st.dictionaries(NAMES, VALUES, max_size=3),
    lambda t: st.dictionaries(NAMES, st.one_of(t, VALUES), max_size=3),
    max_leaves=8,
)
PATCHES = st.recursive(
    st.dictionaries(NAMES, st.one_of(st.none(), VALUES), max_size=3),
    lambda t: st.dictionaries(NAMES, st.one_of(st.none(), t, VALUES), max_size=3),
    max_leaves=8,
)


class Layout:
    """Writes tables as TOML in one of the many ways there are, with comments everywhere."""

    def __init__(self, draw):
        self.draw = draw
        self.comments = 0

    def choose(self, *options):
        return self.draw(st.sampled_from(options))

    def comment(self):
        self.comments += 1
        return f'# note {self.comments} = "'

    def text(self, tables):
        root, sections = self.section((), tables)
        return "".join([root, *self.draw(st.permutations(sections))])

    def section(self, path, table):
        """Lines of the table itself, and the sections of tables below it."""
        lines, below = [], []
        for key, value in table.items():
            style = self.choose("inline", "header", "dotted") if isinstance(value, dict) else "inline"
            if style == "header":
                own, deeper = self.section((*path, key), value)
                below += [f"{self.gap()}[{toml_key((*path, key))}]{self.tail()}\n{own}", *deeper]
            elif style == "dotted" and value:
                lines += [self.pair((key, name), item) for name, item in value.items()]
            elif (
                value
                and isinstance(value, list)
                and all(isinstance(v, dict) for v in value)
                and self.choose(True, False)
            ):
                below.append("".join(self.table_of_array((*path, key), item) for item in value))
            else:
                lines.append(self.pair((key,), value))
        return "".join(lines), below

    def table_of_array(self, path, table):
        pairs = "".join(self.pair((key,), value) for key, value in table.items())
        return f"{self.gap()}[[{toml_key(path)}]]{self.tail()}\n{pairs}"

    def pair(self, path, value):
        indent = self.choose("", "  ")
        return f"{self.gap()}{indent}{toml_key(path)} = {self.value(value)}{self.tail()}\n"

    def value(self, value):
        if isinstance(value, list) and value and self.choose(True, False):
            items = "".join(f"  {toml_value(item)},{self.tail()}\n{self.gap()}" for item in value)
            return f"[\n{items}]"
        if isinstance(value, str) and "'" not in value and "\\" not in value and value.isprintable():
            return self.choose(toml_value(value), f"'''{value}'''", f"'{value}'")
        return toml_value(value)

    def gap(self):
        return self.choose("", "", "\n", f"{self.comment()}\n")

    def tail(self):
        return self.choose("", f"  {self.comment()}")


@st.composite
def documents(draw):
    tables = draw(st.dictionaries(NAMES, st.one_of(TABLES, TABLES, VALUES), min_size=1, max_size=4))
    return Layout(draw).text(tables)


def lines_of(text, statement):
    return text[text.rfind("\n", 0, statement.start) + 1 : statement.end].rstrip("\n")


def at(tables, path):
    for part in path:
        tables = tables[part] if isinstance(tables, dict) and part in tables else None
    return tables


def pruned(tables):
    """Without empty tables, which say nothing."""
    below = {key: pruned(value) if isinstance(value, dict) else value for key, value in tables.items()}
    return {key: value for key, value in below.items() if value != {}}


def flat(patch, prefix=""):
    for key, value in patch.items():
        if isinstance(value, dict) and value:
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


@settings(max_examples=300, deadline=None)
@given(documents(), PATCHES, st.booleans(), st.booleans())
def test_a_patched_text_reads_as_the_merged_tables_and_keeps_the_rest(text, patch, dotted, windows):
    old = tomllib.loads(text)
    wanted = merged(old, patch)
    given_text = text.replace("\n", "\r\n") if windows else text

    result = patched(given_text, dict(flat(patch)) if dotted else patch)

    assert pruned(tomllib.loads(result)) == pruned(wanted)
    assert "\r\n" not in given_text or "\n" not in result.replace("\r\n", "")
    result = result.replace("\r\n", "\n")
    for statement in statements(text):
        before, after = at(old, statement.path), at(wanted, statement.path)
        if statement.value and None not in (before, after) and toml_value(before) == toml_value(after):
            assert lines_of(text, statement) in result
    covered = [lines_of(text, statement) for statement in statements(text)]
    for line in text.splitlines():
        if line.startswith("#") and not any(line in lines for lines in covered):
            assert line in result.splitlines()


@settings(max_examples=100, deadline=None)
@given(documents())
def test_statements_find_every_value(text):
    tables = tomllib.loads(text)
    for statement in statements(text):
        found = tables
        for part in statement.path:
            found = found[part]
        if statement.value:
            assert tomllib.loads(f"x = {text[statement.value]}") == {"x": found}
