"""会记事的 QQ 机器人（NoneBot2 + OneBot v11，可接 NapCat、LLOneBot 等）：`python nonebot_bot.py`。

依赖：`pip install amemorix "nonebot2[fastapi]" nonebot-adapter-onebot`；
在 OneBot 端把反向 WebSocket 指向 `ws://127.0.0.1:8080/onebot/v11/ws`。群里说过的话只在本群里找得到。
"""

import os
from typing import Any

import nonebot
from nonebot import on_fullmatch, on_message, on_startswith
from nonebot.adapters.onebot.v11 import Adapter, GroupMessageEvent, MessageEvent

from amemorix import AsyncMemory

nonebot.init()
driver = nonebot.get_driver()
driver.register_adapter(Adapter)
memory = AsyncMemory(os.environ.get("MEMORY_FOLDER", "./memory"))
driver.on_startup(memory.open)
driver.on_shutdown(memory.close)

about_me = on_fullmatch(("你记得我什么", "你知道我什么"), priority=1, block=True)
forget_me = on_fullmatch("忘掉我", priority=1, block=True)
recall = on_startswith("还记得", priority=1, block=True)
remember = on_message(priority=9, block=False)


def scope(event: MessageEvent) -> dict[str, Any]:
    """群聊是一个会话；私聊只属于这个人。"""
    if isinstance(event, GroupMessageEvent):
        return {"chat": f"group:{event.group_id}"}
    return {"user": event.get_user_id()}


@about_me.handle()
async def tell_about_me(event: MessageEvent) -> None:
    me = event.get_user_id()
    profile = await memory.profile(me, chat=scope(event).get("chat", f"private:{me}"))
    await about_me.finish(profile.text if profile.known else "我还什么都不记得。")


@forget_me.handle()
async def forget_who_asks(event: MessageEvent) -> None:
    gone = await memory.forget(user=event.get_user_id(), purge=True)
    await forget_me.finish(f"好的，你的 {gone.texts} 条消息已经彻底忘掉了。")


@recall.handle()
async def find(event: MessageEvent) -> None:
    hits = await memory.search(event.get_plaintext(), **scope(event), limit=3)
    await recall.finish("\n".join(str(hit) for hit in hits) or "不记得了。")


@remember.handle()
async def store(event: MessageEvent) -> None:
    await memory.add(messages=[event.model_dump(mode="json")], **scope(event))  # OneBot 事件可以原样交给记忆


if __name__ == "__main__":
    nonebot.run()
