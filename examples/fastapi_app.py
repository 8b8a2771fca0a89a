"""A web service with a memory of each user: `uvicorn fastapi_app:app`.

With `--workers 4`, let `amemorix serve --config memory/a_memorix.toml` hold the folder: each worker's memory then asks it.
"""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from fastapi import FastAPI, HTTPException, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from amemorix import AsyncMemory, MemoryFault


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
    async with AsyncMemory(os.environ.get("MEMORY_FOLDER", "./memory")) as memory:
        app.state.memory = memory
        yield


app = FastAPI(lifespan=lifespan)


class Said(BaseModel):
    text: str


def memory_of(request: Request) -> AsyncMemory:
    memory: AsyncMemory = request.app.state.memory
    return memory


@app.exception_handler(MemoryFault)
async def refused(request: Request, fault: MemoryFault) -> JSONResponse:
    return JSONResponse(fault.to_dict(), status_code=fault.status)


@app.post("/users/{user}/messages")
async def say(user: str, said: Said, request: Request) -> dict[str, str]:
    """Store what the user said; the context is for the prompt of your chat model."""
    memory = memory_of(request)
    context = await memory.context([{"role": "user", "content": said.text}], user=user)
    await memory.add(said.text, user=user)
    return {"context": context.text}


@app.get("/users/{user}/memories")
async def recall(user: str, q: str, request: Request) -> list[str]:
    return [hit.text for hit in await memory_of(request).search(q, user=user)]


@app.get("/users/{user}")
async def what_do_you_know_about_me(user: str, request: Request) -> dict[str, str]:
    profile = await memory_of(request).profile(user, chat=f"private:{user}")
    if not profile.known:
        raise HTTPException(404, f"Nothing is known of {user}.")
    return {"name": profile.name, "profile": profile.text}


@app.delete("/users/{user}")
async def forget_me(user: str, request: Request) -> dict[str, int]:
    return {"texts": (await memory_of(request).forget(user=user, purge=True)).texts}
