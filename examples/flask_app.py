"""A Flask application with a memory of each user: `flask --app flask_app run`.

Several processes (`gunicorn -w 4`) share it where `amemorix serve --config memory/a_memorix.toml` holds the folder.
"""

import os
from typing import Any

from flask import Flask, abort, request

from amemorix import Memory, MemoryFault


def create_app() -> Flask:
    app = Flask(__name__)
    memory = Memory(os.environ.get("MEMORY_FOLDER", "./memory"))  # closed when the process ends

    @app.errorhandler(MemoryFault)
    def refused(fault: MemoryFault) -> tuple[dict[str, Any], int]:
        return fault.to_dict(), fault.status

    @app.post("/users/<user>/messages")
    def say(user: str) -> dict[str, str]:
        """Store what the user said; the context is for the prompt of your chat model."""
        text = request.get_json()["text"]
        context = memory.context([{"role": "user", "content": text}], user=user)
        memory.add(text, user=user)
        return {"context": context.text}

    @app.get("/users/<user>/memories")
    def recall(user: str) -> list[str]:
        return [hit.text for hit in memory.search(request.args["q"], user=user)]

    @app.get("/users/<user>")
    def what_do_you_know_about_me(user: str) -> dict[str, str]:
        profile = memory.profile(user, chat=f"private:{user}")
        if not profile.known:
            abort(404)
        return {"name": profile.name, "profile": profile.text}

    @app.delete("/users/<user>")
    def forget_me(user: str) -> dict[str, int]:
        return {"texts": memory.forget(user=user, purge=True).texts}

    return app
