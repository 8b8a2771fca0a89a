import tomllib
from datetime import date

import pytest
import tomlkit
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from amemorix.config import Config, default_toml, merged, parse, patched
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


@pytest.mark.parametrize("patch", [{"retrieval": {"candidates": 60}}, {"retrieval.candidates": 60}])
def test_a_value_is_exchanged_in_place(patch):
    assert patched(TEXT, patch) == TEXT.replace("  50 #", "  60 #")


def test_equal_values_keep_their_text():
    patch = {"retrieval": {"session_gap_minutes": 36}, "filter": {"mode": "whitelist", "chats": ["group:1", "group:2"]}}
    assert patched(TEXT, patch) == TEXT


@pytest.mark.parametrize(
    ("patch", "key"),
    [
        ({1: 2}, "1"),
        ({"retrieval": {None: 3}}, "None"),
        ({"a": [[{b"k": 1}]]}, "b'k'"),
        ({"a": {("b",): {}}}, r"\('b',\)"),
    ],
)
def test_a_key_that_is_no_text_is_named(patch, key):
    with pytest.raises(InvalidConfig, match=f"the key {key};"):
        patched(TEXT, patch)


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


def test_a_new_setting_stays_above_the_comment_of_the_next_table():
    text = "[retrieval]\ncandidates = 50\n\n\n# about weights\n[retrieval.weights]\ndense = 1\n# about http\n[http]\n"
    assert patched(text, {"retrieval.lane_budget_ms": 9, "retrieval.weights.graph": 2}) == (
        text.replace("50\n", "50\nlane_budget_ms = 9\n").replace("1\n", "1\ngraph = 2\n")
    )


def test_a_new_setting_stays_above_comments_and_blank_lines():
    text = "[a]\nx = 1\n# about b\n\n[a.b]\ny = 2\n# end\n\n"
    assert patched(text, {"a.z": 3, "a.b.w": 4}) == ("[a]\nx = 1\nz = 3\n# about b\n\n[a.b]\ny = 2\nw = 4\n# end\n\n")


def test_a_table_that_goes_leaves_the_comment_of_the_next():
    text = "# one\n[http]\n# port\nport = 1\n\n# about filter\n[filter]\nmode = 'x'\n"
    assert patched(text, {"http": None}) == "# one\n\n# about filter\n[filter]\nmode = 'x'\n"


def test_a_new_table_goes_to_the_end():
    assert patched("# only this\n", {"http": {"port": 1, "host": "x"}}) == (
        '# only this\n\n[http]\nport = 1\nhost = "x"\n'
    )


def test_dotted_and_inline_tables_are_changed_where_they_are():
    assert patched("a.b = 1\nc = { d = 1 } # in\n", {"a.x": 2, "c.e": "f"}) == (
        'a.b = 1\na.x = 2\nc = { d = 1, e = "f"} # in\n'
    )


def test_a_table_in_several_places_is_changed_in_each():
    text = "[a.b]\nx = 1\n[c]\n[a]\ny = 2\n[a.d]\nz = 3\n"
    assert patched(text, {"a": {"b": {"x": 7}, "y": None, "w": 8, "d": {"z": 9}}}) == (
        "[a.b]\nx = 7\n[c]\n[a]\nw = 8\n[a.d]\nz = 9\n"
    )


def test_lines_of_an_array_that_stay_keep_their_comments():
    text = patched(TEXT, {"filter.chats": ["group:0", "group:2", "user:3"]})
    assert text == TEXT.replace('  "group:1", # family\n', '  "group:0",\n').replace(
        '"group:2"  # work', '"group:2",  # work\n  "user:3"'
    )


def test_an_array_of_tables_gives_way_to_a_list():
    text = "[http]\nport = 1\n\n# mine\n[[shared_memory_groups]]\ntargets = ['a'] # x\n"
    result = patched(text, {"shared_memory_groups": [{"targets": ["b"]}]})
    assert result == 'shared_memory_groups = [{targets = ["b"]}]\n\n[http]\nport = 1\n\n# mine\n'


def test_windows_line_ends_and_byte_order_mark_stay():
    assert patched("\ufeff[http]\r\nport = 1\r\n", {"http": {"port": 2, "host": "x"}}) == (
        '\ufeff[http]\r\nport = 2\r\nhost = "x"\r\n'
    )


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
    assert parse(patched(bare, Config().model_dump())) == Config()


def test_a_layout_that_cannot_be_changed_in_place_is_refused_by_name():
    text = "[a.b.c]\n[a.b]\n[a]\n[a.b.d]\n"
    assert patched(text, {"a": {}}) == text
    with pytest.raises(InvalidConfig, match=r"e\.f, e\.g cannot be changed in place; edit the file by hand"):
        patched(text, {"e": {"f": 1, "g": 2}})


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
        self.wild = draw(st.booleans())
        """Whether tables are taken apart and put in any order."""
        self.comments = []
        """Table and text of each comment on a line of its own."""
        self.statements = []
        """Path and text of each statement."""
        self.notes = 0

    def choose(self, *options):
        return self.draw(st.sampled_from(options))

    def text(self, tables):
        root, sections = self.section((), tables)
        return "".join([root, *(self.draw(st.permutations(sections)) if self.wild else sections)])

    def section(self, path, table):
        """Lines of the table itself, and the sections of tables below it."""
        lines, below = [], []
        for key, value in table.items():
            match self.style(value):
                case "header":
                    own, deeper = self.section((*path, key), value)
                    below += [self.header((*path, key), "[{}]") + own, *deeper]
                case "dotted":
                    lines += [self.statement(path, (key, name), item) for name, item in value.items()]
                case "headers":
                    below.append("".join(self.element((*path, key), item) for item in value))
                case _:
                    lines.append(self.statement(path, (key,), value))
        return "".join(lines), below

    def style(self, value):
        if isinstance(value, dict) and value:
            return self.choose("inline", "header", *["dotted"] * self.wild)
        if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
            return self.choose("inline", "headers")
        return "inline"

    def header(self, path, brackets):
        return f"{self.gap(path)}{brackets.format(key_text(path))}{self.tail()}\n"

    def element(self, path, table):
        pairs = "".join(self.pair((key,), value) for key, value in table.items())
        self.statements.append((path, pairs))
        return self.header(path, "[[{}]]") + pairs

    def statement(self, table, path, value):
        gap, pair = self.gap(table), self.pair(path, value)
        self.statements.append(((*table, *path), pair))
        return gap + pair

    def pair(self, path, value):
        return f"{self.choose('', '  ')}{key_text(path)} = {self.value(value)}{self.tail()}\n"

    def value(self, value):
        if isinstance(value, list) and value and self.choose(True, False):
            items = "".join(f"  {value_text(item)},{self.tail()}\n{self.choose('', self.note())}" for item in value)
            return f"[\n{items}]"
        if isinstance(value, str) and "'" not in value and "\\" not in value and value.isprintable():
            return self.choose(value_text(value), f"'''{value}'''", f"'{value}'")
        return value_text(value)

    def gap(self, table):
        note = self.note()
        chosen = self.choose("", "", "\n", note, f"\n{note}\n")
        if note in chosen:
            self.comments.append((table, note.strip()))
        return chosen

    def note(self):
        self.notes += 1
        return f'# note {self.notes} = "\n'

    def tail(self):
        return self.choose("", f"  {self.note().strip()}")


def key_text(path):
    return tomlkit.key(path).as_string()


def value_text(value):
    array = tomlkit.array()
    array.append(value)
    return array.as_string()[1:-1]


@st.composite
def documents(draw):
    tables = draw(st.dictionaries(NAMES, st.one_of(TABLES, TABLES, VALUES), min_size=1, max_size=4))
    layout = Layout(draw)
    return layout, layout.text(tables)


def at(tables, path):
    for part in path:
        tables = tables[part] if isinstance(tables, dict) and part in tables else None
    return tables


def pruned(value):
    """Without empty tables, which say nothing."""
    if isinstance(value, list):
        return [pruned(item) for item in value]
    if not isinstance(value, dict):
        return value
    below = {key: pruned(item) for key, item in value.items()}
    return {key: item for key, item in below.items() if item != {}}


def flat(patch, prefix=""):
    for key, value in patch.items():
        if isinstance(value, dict) and value:
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def patched_if_possible(layout, text, patch):
    try:
        return patched(text, patch)
    except InvalidConfig as error:
        assert layout.wild and "by hand" in str(error)
        reject()


@settings(max_examples=300, deadline=None)
@given(documents(), PATCHES, st.booleans(), st.booleans())
def test_a_patched_text_reads_as_the_merged_tables_and_keeps_the_rest(document, patch, dotted, windows):
    layout, text = document
    old = tomllib.loads(text)
    wanted = merged(old, patch)
    given_text = text.replace("\n", "\r\n") if windows else text

    result = patched_if_possible(layout, given_text, dict(flat(patch)) if dotted else patch)

    assert pruned(tomllib.loads(result)) == pruned(wanted)
    assert "\r\n" not in given_text or "\n" not in result.replace("\r\n", "")
    result = result.replace("\r\n", "\n")
    for path, statement in layout.statements:
        before, after = at(old, path), at(wanted, path)
        if after is not None and value_text(before) == value_text(after):
            assert statement in result
    for path, comment in layout.comments:
        before, after = at(old, path), at(wanted, path)
        if before == after or (isinstance(before, dict) and isinstance(after, dict)):
            assert comment in result.splitlines()
