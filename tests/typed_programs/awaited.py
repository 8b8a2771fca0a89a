"""An awaited bot that calls operations beside the everyday methods."""

import asyncio
from typing import assert_type

from amemorix import AsyncMemory
from amemorix.frontends.python.results import Hits
from amemorix.operation_types import Context, RetrievalResult


async def main() -> None:
    async with AsyncMemory("./memory") as memory:
        await memory.add(messages=[{"role": "user", "content": "我对花生过敏"}], user="ann")
        assert_type(await memory.search("花生", user="ann"), Hits)
        found = await memory.call("search_memory", query="花生", user_id="ann", mode="hybrid", time_start="昨天")
        assert_type(found, RetrievalResult)
        assert_type(found["hits"][0]["content"], str)
        assert_type(found["hits"][0]["time"]["start"], float | None)
        context = await memory.call("get_context", messages=[{"speaker": "ann", "text": "晚上吃什么"}], user_id="ann")
        assert_type(context, Context)
        await memory.call("search_memory", query="花生", user="ann")  # error
        await memory.call("search_memory", query="花生", user_id="ann", mode="fuzzy")  # error
        await memory.call("get_context", messages="晚上吃什么", user_id="ann")  # error
        print(context["txt"])  # error


asyncio.run(main())
