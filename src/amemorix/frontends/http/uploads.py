"""Files that come over HTTP as multipart form data, written to the staging folder as they arrive."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from typing import IO, Any, cast

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import Request

from ...errors import InvalidRequest, StorageFailure, TooLarge
from ...importing.staging import Staged, Staging

__all__ = ["received"]

HELD_BYTES = 1 << 20
"""Bytes that are gathered before they are read and written, off the event loop."""

MOST_FIELD_BYTES = 100_000
"""Of all that a form says beside its files."""


async def received(
    request: Request,
    staging: Staging,
    *,
    most_files: int,
    most_bytes: float,
    accept: Callable[[Mapping[str, str]], None] = lambda _: None,
) -> tuple[list[Staged], dict[str, str]]:
    """(every file of the form, staged; its other fields); what was staged is removed if anything fails.

    `accept` is shown the fields that came before the first file, and may raise; nothing is stored then. Raises InvalidRequest for what is no form with files, TooLarge for a file over `most_bytes` (0: no limit) or too many.
    """
    kind, options = parse_options_header(request.headers.get("content-type", ""))
    if kind != b"multipart/form-data" or not options.get(b"boundary"):
        raise InvalidRequest("The body must be multipart/form-data with files.", field="body")
    form = _Form(staging, most_files, most_bytes, accept)
    parser = MultipartParser(options[b"boundary"], cast(Any, form.callbacks()))
    held = bytearray()
    try:
        async for part in request.stream():
            held += part
            if len(held) >= HELD_BYTES:
                await asyncio.to_thread(parser.write, bytes(held))
                held.clear()
        await asyncio.to_thread(parser.write, bytes(held))
        parser.finalize()
        if form.open or not form.staged:
            raise InvalidRequest("The form holds no file, or ends in the middle of one.", field="body")
    except BaseException as exc:
        await asyncio.to_thread(form.undo)
        if isinstance(exc, FormParserError):
            raise InvalidRequest(f"The form cannot be read: {exc}.", field="body") from exc
        if isinstance(exc, OSError):
            raise StorageFailure(f"The files cannot be kept: {exc.strerror or exc}.") from exc
        raise
    return form.staged, form.fields


class _Form:
    """Keeps the files that the parser tells of, piece by piece; blocking."""

    def __init__(
        self, staging: Staging, most_files: int, most_bytes: float, accept: Callable[[Mapping[str, str]], None]
    ) -> None:
        self._staging = staging
        self._accept = accept
        self._most_files, self._most_bytes = most_files, most_bytes
        self._name, self._value, self._files, self._size = b"", b"", 0, 0
        self._headers: dict[bytes, bytes] = {}
        self._text, self._letters = bytearray(), 0
        self.fields: dict[str, str] = {}
        self.staged: list[Staged] = []
        self.open: tuple[Staged, IO[bytes]] | None = None

    def callbacks(self) -> dict[str, Callable[..., None]]:
        return {
            "on_part_begin": self._headers.clear, "on_header_field": self._field, "on_header_value": self._content,
            "on_header_end": self._header, "on_headers_finished": self._headers_read, "on_part_data": self._data,
            "on_part_end": self._end,
        }  # fmt: skip

    def undo(self) -> None:
        if self.open is not None:
            with contextlib.suppress(OSError):
                self.open[1].close()
            self._staging.remove(self.open[0].id)
        for staged in self.staged:
            self._staging.remove(staged.id)

    def _field(self, data: bytes, start: int, end: int) -> None:
        self._name += data[start:end]

    def _content(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _header(self) -> None:
        self._headers[self._name.lower()] = self._value
        self._name, self._value = b"", b""

    def _headers_read(self) -> None:
        _, options = parse_options_header(self._headers.get(b"content-disposition", b""))
        name = options.get(b"filename")
        self._text.clear()
        if not name:  # a field, or one for files that was left empty
            return
        if not self._files:
            self._accept(self.fields)
        self._files, self._size = self._files + 1, 0
        if self._files > self._most_files:
            raise TooLarge(f"More than {self._most_files} files (imports.max_files_per_task).", limit=self._most_files)
        self.open = self._staging.create(name.decode("utf-8", "replace"))

    def _data(self, data: bytes, start: int, end: int) -> None:
        if self.open is None:
            self._letters += end - start
            if self._letters > MOST_FIELD_BYTES:
                raise TooLarge(
                    f"The fields beside the files are over {MOST_FIELD_BYTES} bytes.", limit=MOST_FIELD_BYTES
                )
            self._text += data[start:end]
            return
        self._size += end - start
        if self._most_bytes and self._size > self._most_bytes:
            told = f"A file is over {self._most_bytes:.0f} bytes (imports.max_file_size_mb)."
            raise TooLarge(told, limit=self._most_bytes)
        self._staging.write(*self.open, data[start:end])

    def _end(self) -> None:
        if self.open is not None:
            self.staged.append(self._staging.keep(*self.open))
            self.open = None
            return
        _, options = parse_options_header(self._headers.get(b"content-disposition", b""))
        self.fields[options.get(b"name", b"").decode("utf-8", "replace")] = self._text.decode("utf-8", "replace")
