import pytest

from amemorix.config import Config, changes, parse, strongest


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
