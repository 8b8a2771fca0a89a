"""What an operator runs every night."""

import asyncio
from typing import assert_type

from amemorix import AsyncClient
from amemorix.operation_types import Backups, Checked, Made, PurgeResult


async def main() -> None:
    async with AsyncClient("http://127.0.0.1:7400") as memory:
        made = await memory.call("memory_runtime_admin", action="backup", check=True)
        assert_type(made, Made)
        assert_type(made["backup"]["sound"], bool)
        assert_type(await memory.call("memory_runtime_admin", action="list_backups"), Backups)
        checked = await memory.call("memory_runtime_admin", action="refresh_self_check", deep=True)
        assert_type(checked, Checked)
        assert_type(await memory.call("memory_delete_admin", action="purge", older_than_days=30), PurgeResult)
        await memory.call("memory_delete_admin", action="purge", older_than="30 days")  # error
        await memory.call("memory_runtime_admin", action="list_backups", limit=3)  # error
        memory.call("memory_runtime_admin", "backup")  # error


asyncio.run(main())
