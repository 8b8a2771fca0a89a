"""A process that opens a memory, searches, and prints when it answered and how much memory it holds."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path

__all__ = ["main"]


async def _probe(config: Path, asked: list[dict[str, object]]) -> dict[str, float]:
    from amemorix import AMemorixHostService

    from ..machine import resident_mib

    async with AMemorixHostService(config, watch=False) as host:
        ready = time.time()
        await host.invoke("search_memory", asked[0])
        answered, spent = time.time(), time.process_time()
        for args in asked[1:]:
            await host.invoke("search_memory", args)
        await host.settle()
        return {"ready": ready, "answered": answered, "cpu": spent, "rss_mib": round(resident_mib(), 1)}


def main() -> None:
    """`python -m amemorix_bench.speed.probe CONFIG`, searches as a JSON array on standard input."""
    found = asyncio.run(_probe(Path(sys.argv[1]), json.load(sys.stdin)))
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
