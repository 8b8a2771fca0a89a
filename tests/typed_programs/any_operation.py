"""A console: the component is known when it is typed in, and not before."""

from typing import Any, assert_type

from amemorix import AsyncMemory, Memory
from amemorix.operation_types import Episodes


def run(memory: Memory, component: str, arguments: dict[str, Any]) -> dict[str, Any]:
    memory.call(component, chat_id="club")  # error
    answer = memory.call(component, arguments)
    assert_type(answer, dict[str, Any])
    return answer


async def episodes(memory: AsyncMemory, chat: str) -> Episodes:
    assert_type(await memory.call("memory_episode_admin", {"action": "list", "chat_id": chat}), dict[str, Any])
    named = await memory.call("memory_episode_admin", action="list", chat_id=chat)
    assert_type(named, Episodes)
    return named
