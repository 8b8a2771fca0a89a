"""A Discord bot that remembers its channels: `DISCORD_TOKEN=… python discord_bot.py`.

It needs the intent "Message Content" (Developer Portal, Bot). What is said in a channel is found in that channel alone.
"""

import os

import discord

from amemorix import AsyncMemory


class RememberingBot(discord.Client):
    def __init__(self, memory: AsyncMemory) -> None:
        intents = discord.Intents.default()
        intents.message_content = True
        super().__init__(intents=intents)
        self.memory = memory

    async def on_message(self, message: discord.Message) -> None:
        if message.author.bot or not message.content:
            return
        me, chat = str(message.author.id), f"discord:{message.channel.id}"
        match message.content.lower().rstrip("?!. "):
            case "what do you know about me":
                await message.reply(str(await self.memory.profile(me, chat=chat))[:2000])
            case "forget me":
                gone = await self.memory.forget(user=me, purge=True)
                await message.reply(f"Done: I have forgotten {gone.texts} messages of yours, for good.")
            case said if said.startswith("do you remember "):
                hits = await self.memory.search(message.content, chat=chat, limit=3)
                await message.reply("\n".join(str(hit) for hit in hits)[:2000] or "I do not.")
            case _:
                turn = {
                    "text": message.content,
                    "speaker": message.author.display_name,
                    "person_id": me,
                    "external_id": str(message.id),
                    "time": message.created_at,
                }
                await self.memory.add(messages=[turn], chat=chat)


async def main() -> None:
    memory = AsyncMemory(os.environ.get("MEMORY_FOLDER", "./memory"))
    async with memory, RememberingBot(memory) as bot:
        await bot.start(os.environ["DISCORD_TOKEN"])


if __name__ == "__main__":
    import asyncio

    asyncio.run(main())
