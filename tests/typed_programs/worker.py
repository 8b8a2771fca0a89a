"""One of several workers that share a memory by its daemon."""

from typing import assert_type

from amemorix import Client, MemoryFault
from amemorix.frontends.python.results import Added
from amemorix.operation_types import IngestResult, Statistics

with Client("http://127.0.0.1:7400", token="secret", timeout=10) as client:
    assert_type(client.add("hello", user="ann", id="m1"), Added)
    stored = client.call("ingest_text", text="The club meets on Mondays", chat_id="club", knowledge_type="factual")
    assert_type(stored, IngestResult)
    assert_type(stored["stored_ids"], list[str])
    assert_type(client.call("memory_stats"), Statistics)
    client.call("ingest_text", text="x", chat_id="club", knowlege_type="factual")  # error
    client.call("ingest_text", text="x", chat_id="club", tags="a")  # error
    client.call("memory_stats", chat_id="club")  # error
    try:
        client.update("p1", "The club meets on Tuesdays")
    except MemoryFault as fault:
        assert_type(fault.code, str)
Client(tokn="secret")  # error
