"""Corrections in words, episodes, and the graph, by a person at a browser."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any

from amemorix import Client
from browser_page import Browser

Open = Callable[..., Browser]
NODES = 2_000


def test_a_sentence_corrects_what_is_known_and_that_is_undone(open_at: Open, memory: str) -> None:
    page = open_at(memory, "/ui/corrections")
    page.fill("#text", "Ann does not live in Leeds, she lives in York")
    page.press("form.card button.primary")
    assert "I live in Leeds and have two cats." in page.text
    assert "York" in page.text
    assert page.violations() == []
    page.picture("correction")
    page.press("button[name=plan]")
    assert "It is corrected." in page.text
    page.go("/ui/search?q=where+does+Ann+live")
    assert "York" in page.text
    page.go("/ui/corrections")
    page.press("td button[name=undo]")
    assert "undone" in page.text
    page.go("/ui/search?q=where+does+Ann+live")
    assert "York" not in page.text


def test_an_episode_is_found_read_and_made_anew(open_at: Open, memory: str) -> None:
    page = open_at(memory, "/ui/episodes")
    assert len(page.all("ol.hits > li")) >= 2
    page.fill("#q", "rehearsal")
    page.keys("\ue007")
    page.until(lambda: "q=rehearsal" in page.path, "the search")
    page.until(lambda: "discord:band" in page.one("ol.hits").text and "qq:hike" not in page.one("ol.hits").text, "hits")
    page.press("ol.hits h2 a")
    assert "We rehearse on Tuesdays in the old mill." in page.text
    page.press("main form[method=post] button")
    assert "made anew" in page.text


def test_a_node_is_renamed_merged_and_deleted_and_all_of_it_undone(open_at: Open, memory: str) -> None:
    page = open_at(memory, "/ui/graph/nodes/Anne")
    page.fill("#name", "Anna")
    page.press("main form[method=post] button")
    page.press(".remark button[name=undo]")
    page.go("/ui/graph/nodes/Anne")
    assert page.one("h1").text == "Anne"
    page.fill("#into", "Ann")
    page.press("form[action='/ui/graph/change'] button")
    assert "becomes part of the second" in page.text
    page.press("button.danger")
    page.go("/ui/graph/nodes/Anne")
    assert page.one("h1").text == "Ann"
    page.go("/ui/graph")
    page.press("section button[name=undo]")
    page.go("/ui/graph/nodes/Anne")
    page.press("a.button.danger")
    page.press("button.danger")
    page.go("/ui/graph?q=Anne")
    assert "Nothing of this name." in page.text
    page.go("/ui/graph")
    page.press("section button[name=undo]")
    page.go("/ui/graph/nodes/Anne")
    assert "knows" in page.text


def test_a_relation_shows_what_it_rests_on(open_at: Open, memory: str) -> None:
    page = open_at(memory, "/ui/graph?q=Leeds")
    page.press("#found a[href*='/relations/']")
    assert "Who knows whom." in page.text


def test_a_graph_of_thousands_is_drawn_and_explored(open_at: Open, memory: str) -> None:
    with closing(Client(memory)) as client:
        for part in range(0, NODES, 500):
            relations: Any = [
                {"subject": f"guest {n}", "predicate": "met", "object": f"guest {(n - 1) // 3}"}
                for n in range(part + 1, part + 501)
            ]
            client.call(
                "ingest_text",
                external_id=f"many{part}",
                source_type="note",
                text=f"A party {part}.",
                relations=relations,
            )
    page = open_at(memory, f"/ui/graph?nodes={NODES}")
    page.until(lambda: (page.one("#drawing").get_attribute("data-nodes") or "0") == str(NODES), "the drawing", 60)
    page.picture("graph-thousands")
    page.driver.execute_script(
        "const cy = document.getElementById('drawing')._cyreg.cy; const one = cy.nodes()[0]; cy.center(one); window.node = one.id()"
    )
    page.one("#drawing").click()  # in its middle
    page.until(lambda: page.one("#node").text, "the node that was clicked")
    shown = page.driver.execute_script("return window.node")
    assert shown in page.one("#node code").text
