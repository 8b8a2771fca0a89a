"""An administrator's page of entities and relations."""

from typing import assert_type

from amemorix import Client
from amemorix.operation_types import Change, EdgeItem, EntityInput, GraphPage, RelationInput

client = Client()
ENTITIES: list[EntityInput] = [{"name": "Rex", "type": "pet"}]
RELATIONS: list[RelationInput] = [{"subject": "Rex", "predicate": "belongs to", "object": "Tom"}]
client.call("ingest_text", text="Rex barks.", chat_id="club", entities=ENTITIES, relations=RELATIONS)
client.call("ingest_text", text="Rex barks.", chat_id="club", entities=["Rex", "Tom"])
page = client.call("memory_graph_admin", action="get_graph", scope="all", order="recent")
assert_type(page, GraphPage)
assert_type(page["edges"], list[EdgeItem])
assert_type(page["next_offset"], int | None)
assert_type(client.call("memory_graph_admin", action="merge_nodes", sources=["rex"], target="Rex"), Change)
client.call("memory_graph_admin", action="merge_nodes", source="rex", target="Rex")  # error
client.call("memory_graph_admin", action="get_graph", order="newest")  # error
WRONG: RelationInput = {"subject": "Rex", "predicate": "belongs to", "objekt": "Tom"}  # error
