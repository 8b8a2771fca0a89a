"""The published pages of MaiBot's dashboard, and a server that shows them with the memory's path led to a daemon."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from amemorix.frontends.http.json_response import BASE_PATH

__all__ = ["dashboard_in_front_of", "dashboard_pages"]

ROOT = Path(__file__).parents[2]
PACKAGE = "maibot-dashboard"
HERE = {
    "auth/check": {"authenticated": True},
    "setup/status": {"is_first_setup": False},
    "version-compatibility": dict.fromkeys(("main_program_version", "webui_version", "required_webui_version"), "1") | {"status": "compatible"},
    "system/update-notice": {"success": True, "should_show": False},
    "ws-token": {"success": True, "token": "any"},
}  # fmt: skip
"""What MaiBot itself answers to the pages; to the rest of their calls an empty object."""


def dashboard_pages() -> Path:
    """The folder of the pages, installed into one that is kept for the next run; skips where they cannot be installed."""
    pins = (ROOT / "scripts" / "constraints.txt").read_text("utf-8").split()
    pinned = next(line for line in pins if line.startswith(f"{PACKAGE}=="))
    kept = Path(tempfile.gettempdir()) / pinned.replace("==", "-")
    if not kept.exists():
        made = kept.with_name(f"{kept.name}.{os.getpid()}")
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(made), pinned]
        done = subprocess.run(install, capture_output=True, text=True, timeout=300)
        if done.returncode:
            pytest.skip(f"{pinned} could not be installed: {done.stderr.strip()[-300:]}")
        made.rename(kept)
    return kept / "maibot_dashboard" / "dist"


@contextmanager
def dashboard_in_front_of(daemon: str, token: str, pages: Path) -> Generator[str]:
    """The address of the dashboard: its files, what MaiBot answers, and one path of the daemon, to which the token is added."""
    memory = httpx.AsyncClient(base_url=daemon, timeout=120, trust_env=False)

    @asynccontextmanager
    async def open_(app: Starlette) -> AsyncGenerator[None]:
        async with memory:
            yield

    async def lead(request: Request) -> Response:
        kept = {name: value for name, value in request.headers.items() if name not in ("connection", "content-length")}
        answer = await memory.request(
            request.method, request.url.path, params=request.query_params, content=await request.body(),
            headers={**kept, "Authorization": f"Bearer {token}"},
        )  # fmt: skip
        return Response(answer.content, answer.status_code, media_type=answer.headers["content-type"])

    async def here(request: Request) -> Response:
        return JSONResponse(HERE.get(request.path_params["path"], {}))

    async def page(request: Request) -> Response:
        file = pages / request.path_params["path"]
        return FileResponse(file if file.is_file() else pages / "index.html")

    async def live(socket: WebSocket) -> None:
        await socket.accept()
        with suppress(WebSocketDisconnect):
            while True:
                if request := (await socket.receive_json()).get("id"):
                    await socket.send_json({"op": "response", "id": request, "ok": True, "data": {}})

    methods = ["GET", "POST", "PUT", "PATCH", "DELETE"]
    app = Starlette(routes=[
        Route(f"{BASE_PATH}/{{path:path}}", lead, methods=methods), Route("/api/webui/{path:path}", here, methods=methods),
        WebSocketRoute("/api/webui/ws", live), Route("/{path:path}", page),
    ], lifespan=open_)  # fmt: skip
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None))
    running = threading.Thread(target=server.run)
    running.start()
    try:
        while not server.started:
            running.join(0.01)
        port: Any = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        running.join()
