import json
import tomllib
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from amemorix.config import Config, changes, config_schema, default_toml, parse, settings, strongest

ROOT = Path(__file__).parents[2]


def test_schema_is_valid_and_closed():
    schema = config_schema()
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["additionalProperties"] is False
    assert all(table["additionalProperties"] is False for table in schema["$defs"].values())


def test_every_setting_says_what_it_means_and_costs():
    for setting in settings():
        assert setting.description, setting.path
        assert setting.bounds, setting.path
        assert setting.reload in {"live", "rebuild", "restart"}, setting.path


def test_every_leaf_of_the_model_is_a_setting():
    def leaves(tables, prefix=""):
        for key, value in tables.items():
            yield from leaves(value, f"{prefix}{key}.") if isinstance(value, dict) else [f"{prefix}{key}"]

    known = [setting.path for setting in settings()]
    assert len(known) == len(set(known))
    assert set(leaves(Config().model_dump())) == {path for path in known if "[]" not in path}
    assert "shared_memory_groups[].targets" in known


@pytest.mark.parametrize(
    ("path", "kind", "default", "bounds", "reload"),
    [
        ("plugin.enabled", "boolean", True, "true or false", "live"),
        ("storage.synchronous", "string", "full", '"full" or "normal"', "restart"),
        ("storage.data_dir", "string", "data/a-memorix", "a string of at least 1 character", "restart"),
        ("embedding.timeout_seconds", "number", 30.0, "a number above 0 and at most 600", "rebuild"),
        ("retrieval.candidates", "integer", 80, "an integer from 10 to 2000", "live"),
        ("filter.chats", "array of string", [], "an array of strings (1 to 512 characters each)", "live"),
        ("shared_memory_groups", "array of object", [], "an array of tables", "live"),
    ],
)
def test_setting(path, kind, default, bounds, reload):
    setting = next(s for s in settings() if s.path == path)
    assert (setting.type, setting.default, setting.bounds, setting.reload) == (kind, default, bounds, reload)


def test_default_file_holds_every_default_and_describes_it():
    text = default_toml()
    assert parse(text) == Config()
    assert tomllib.loads(text) == json.loads(json.dumps(Config().model_dump()))
    words = " ".join(line.removeprefix("# ") for line in text.splitlines())
    for setting in settings():
        if "[]" not in setting.path:
            assert f"{setting.description} Allowed: {setting.bounds}. Change: {setting.reload}." in words


def test_nothing_changed():
    assert changes(Config(), Config()) == {}
    assert strongest({}) is None


def test_each_changed_setting_has_its_level():
    new = parse(
        "shared_memory_groups = [{ targets = ['a'] }]\n[storage]\nreaders = 3\n[embedding]\nmodel_name = 'm'\n"
        "[retrieval]\ncandidates = 50\n[retrieval.sparse]\nbackend = 'fts5'\nenabled = true\n[filter]\nchats = ['group:1']\n"
    )
    assert changes(Config(), new) == {
        "storage.readers": "restart",
        "embedding.model_name": "rebuild",
        "retrieval.candidates": "live",
        "retrieval.sparse.backend": "rebuild",
        "filter.chats": "live",
        "shared_memory_groups": "live",
    }


@pytest.mark.parametrize(
    ("levels", "most"),
    [(["live"], "live"), (["live", "rebuild"], "rebuild"), (["restart", "rebuild", "live"], "restart")],
)
def test_strongest(levels, most):
    assert strongest(dict(enumerate(levels))) == most
