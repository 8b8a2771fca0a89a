"""Chats of another program come in."""

import time
from typing import assert_type

from amemorix import Memory
from amemorix.operation_types import Chunks, Task

with Memory() as memory:
    begun = memory.call("memory_import_admin", action="create_paste", content="ann: hello", chat_id="club")
    assert_type(begun, Task)
    task = begun["task"]["task_id"]
    assert_type(task, str)
    while memory.call("memory_import_admin", action="get", task_id=task)["task"]["status"] in ("queued", "running"):
        time.sleep(1)
    for file in begun["task"]["files"]:
        chunks = memory.call("memory_import_admin", action="chunks", task_id=task, file_id=file["file_id"])
        assert_type(chunks, Chunks)
    memory.call("memory_import_admin", action="get", taskid=task)  # error
    memory.call("memory_import_admin", action="create_past", content="ann: hello")  # error
    memory.call("memory_import_admin", action="create_paste", content="x", dedupe_policy="hash")  # error
