"""The graph: drawn from JSON, and told in tables; what is changed by hand in it can be undone."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from starlette.responses import JSONResponse, Response

from ....locale import spoken
from ....profiles.statements import worded_fact
from ..view import HEADERS, Page, View

__all__ = ["PAGES"]

GRAPH = "memory_graph_admin"
MOST_DRAWN = 5_000
DRAWN = (200, 1_000, 2_000, MOST_DRAWN)


async def graph(view: View) -> Response:
    """The most important nodes, or those of a name; the drawing loads its data itself."""
    query, drawn = view.query.get("q", "").strip(), view.number("nodes", DRAWN[0], MOST_DRAWN) or 1
    found = await view.ask(GRAPH, "search", query=query, limit=100, **view.scope) if query else None
    page = None
    if not query:
        page = await view.ask(GRAPH, "get_graph", limit=50, offset=view.number("offset", 0), edge_limit=0, **view.scope)
    changes = (
        (await view.ask(GRAPH, "list_undo", limit=10))["items"] if view.grant.may("admin") and not view.partial else []
    )
    return view.show(
        "_graph.html" if view.partial else "graph.html", found=found, listed=page, changes=changes, drawn=drawn, sizes=DRAWN,
        offset=view.number("offset", 0), step=50,
    )  # fmt: skip


async def data(view: View) -> Response:
    """What is drawn: the most important nodes and what joins them, or one node with its neighbours."""
    if centre := view.query.get("node", ""):
        found = await view.ask(GRAPH, "node_detail", node=centre, relation_limit=500, paragraph_limit=1, **view.scope)
        joins = [
            (one["subject_id"], one["subject"], one["predicate"], one["object_id"], one["object"])
            for one in found["relations"]
        ]
        names = {id_: name for one in joins for id_, name in (one[:2], one[3:])} | {
            found["node"]["id"]: found["node"]["name"]
        }
        nodes = [{"id": id_, "name": name} for id_, name in names.items() if id_]
        edges = [{"source": one[0], "target": one[3], "label": one[2]} for one in joins if one[0] and one[3]]
    else:
        limit = view.number("nodes", DRAWN[0], MOST_DRAWN) or 1
        found = await view.ask(GRAPH, "get_graph", limit=limit, edge_limit=3 * limit, **view.scope)
        nodes = [{key: one[key] for key in ("id", "name", "type", "degree")} for one in found["nodes"]]
        edges = [{key: one[key] for key in ("source", "target", "label")} for one in found["edges"]]
    return JSONResponse({"nodes": nodes, "edges": edges}, headers=HEADERS)


async def node(view: View) -> Response:
    asked = {"node": view.request.path_params["id"], "relation_limit": 200, "paragraph_limit": 30}
    found = await view.ask(GRAPH, "node_detail", **asked, **view.scope)
    year, chinese = datetime.now().year, spoken() == "zh"
    known = [worded_fact(one["predicate"], one["object"], False, chinese, year) for one in found["known"]]
    return view.show("_node.html" if view.partial else "node.html", found=found, node=found["node"], known=known)


async def relation(view: View) -> Response:
    id_ = view.request.path_params["id"]
    found = await view.ask(GRAPH, "edge_detail", relation=id_, paragraph_limit=100, **view.scope)
    return view.show("relation.html", found=found, relation=next(one for one in found["relations"] if one["id"] == id_))


async def confirm(view: View) -> Response:
    """What a deletion or a merger would change, before it is done."""
    asked: dict[str, Any] = {"relation_limit": 50, "paragraph_limit": 1, **view.scope}
    do, one, into = (view.query.get(name, "").strip() for name in ("do", "node", "into"))
    if do == "relation":
        found = await view.ask(GRAPH, "edge_detail", relation=one, **asked)
        return view.show("graph_change.html", do=do, id=one, found=found, into=None)
    found = await view.ask(GRAPH, "node_detail", node=one, **asked)
    target = await view.ask(GRAPH, "node_detail", node=into, **asked) if do == "merge" else None
    return view.show("graph_change.html", do=do, id=found["node"]["id"], found=found, into=target)


async def change(view: View) -> Response:
    """Rename, merge or delete, or undo that."""
    form = await view.form()
    do, one, into = (str(form.get(name, "")).strip() for name in ("do", "node", "into"))
    if undo := str(form.get("undo", "")):
        await view.ask(GRAPH, "undo", undo_id=undo)
        view.say("It is undone; everything is as it was.")
        return view.go("/ui/graph")
    calls: dict[str, tuple[str, dict[str, Any]]] = {
        "rename": ("rename_node", {"node": one, "new_name": into}),
        "merge": ("merge_nodes", {"sources": [one], "target": into}),
        "delete": ("delete_node", {"node": one}),
        "relation": ("delete_edge", {"relation": one}),
    }
    action, args = calls[do if do in calls else "rename"]
    done = await view.ask(GRAPH, action, **args)
    view.say("The graph is changed.", undo=done["undo_id"])
    return view.go("/ui/graph")


PAGES = (
    Page("/ui/graph", "graph", graph),
    Page("/ui/graph", "graph", change, ("POST",)),
    Page("/ui/graph/data", "graph", data),
    Page("/ui/graph/change", "graph", confirm),
    Page("/ui/graph/nodes/{id:path}", "graph", node),
    Page("/ui/graph/relations/{id}", "graph", relation),
)
