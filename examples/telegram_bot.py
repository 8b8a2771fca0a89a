"""A Telegram bot that remembers its chats: `TELEGRAM_TOKEN=… python telegram_bot.py`.

In groups it sees all messages only where its privacy mode is off (BotFather, /setprivacy).
"""

import os
from typing import Any

from telegram import Message, Update
from telegram.ext import Application, ApplicationBuilder, CommandHandler, ContextTypes, MessageHandler, filters

from amemorix import AsyncMemory

memory = AsyncMemory(os.environ.get("MEMORY_FOLDER", "./memory"))
Context = ContextTypes.DEFAULT_TYPE


def asked(update: Update) -> tuple[Message, str, dict[str, Any]]:
    """The message, who wrote it, and whose memory it belongs to: the group's, or theirs."""
    message = update.effective_message
    assert message is not None and message.from_user is not None
    me = str(message.from_user.id)
    return message, me, {"user": me} if message.chat.type == "private" else {"chat": f"telegram:{message.chat_id}"}


async def remember(update: Update, context: Context) -> None:
    message, _, scope = asked(update)
    await memory.add(messages=[message.to_dict()], **scope)  # a Telegram message is read as it is


async def about_me(update: Update, context: Context) -> None:
    """/aboutme: what do you know about me?"""
    message, me, scope = asked(update)
    profile = await memory.profile(me, chat=scope.get("chat", f"private:{me}"))
    await message.reply_text(str(profile)[:4096])


async def recall(update: Update, context: Context) -> None:
    """/recall where did we want to eat?"""
    message, _, scope = asked(update)
    hits = await memory.search(" ".join(context.args or ["?"]), **scope, limit=3)
    await message.reply_text("\n".join(str(hit) for hit in hits)[:4096] or "I remember nothing of it.")


async def forget_me(update: Update, context: Context) -> None:
    """/forgetme: for good, in every chat."""
    message, me, _ = asked(update)
    gone = await memory.forget(user=me, purge=True)
    await message.reply_text(f"Done: I have forgotten {gone.texts} messages of yours.")


async def opened(_: object) -> None:
    await memory.open()


async def closed(_: object) -> None:
    await memory.close()


def build(builder: ApplicationBuilder[Any, Any, Any, Any, Any, Any]) -> Application[Any, Any, Any, Any, Any, Any]:
    application = builder.post_init(opened).post_shutdown(closed).build()
    for name, command in (("aboutme", about_me), ("recall", recall), ("forgetme", forget_me)):
        application.add_handler(CommandHandler(name, command))
    application.add_handler(MessageHandler(filters.TEXT & ~filters.COMMAND, remember))
    return application


if __name__ == "__main__":
    build(Application.builder().token(os.environ["TELEGRAM_TOKEN"])).run_polling()
