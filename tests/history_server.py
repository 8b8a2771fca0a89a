"""A process that forks one process for each life of a memory and kills it: `python history_server.py FOLDER SEED...`.

It imports everything once and starts no thread, so that a fork costs milliseconds and is safe. One JSON line is printed
for each history.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
import time
import traceback
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path

from history_life import CHATS, ERRANDS, Life, configure, small_steps, warm_up
from history_model import Ledger

__all__ = ["History", "Killer"]

HUNG_SECONDS = 240.0
MOST_MESSAGES = 400


@dataclass(frozen=True, slots=True)
class Killer:
    """Where a process is to be killed: so many seconds after a message, counted among those of a kind."""

    among: str
    """`any`, or the name of an errand."""
    count: int
    delay: float

    @classmethod
    def choose(cls, rng: random.Random) -> Killer:
        """Anywhere, or in the middle of an errand."""
        if rng.random() < 0.4:
            return cls("any", rng.randint(1, 70), rng.uniform(0, 0.004))
        errand = rng.choice(ERRANDS)
        return cls(
            errand, 1 if errand in ("open", "stop") else rng.randint(1, 2), rng.uniform(0, 0.001) * 25 ** rng.random()
        )

    def counts(self, message: tuple) -> bool:
        """Whether the message is of the kind."""
        return self.among == "any" or message == ("errand", self.among)


class History:
    """A few lives of one memory, all but the last ended by SIGKILL."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._rng = random.Random(seed)
        self._config = configure(folder, self._rng)
        self._ledger = Ledger([{} for _ in range(CHATS)])
        self.kills = 0

    @property
    def acknowledged(self) -> int:
        """Calls answered."""
        return self._ledger.acknowledged

    def run(self) -> None:
        """Live, be killed, live again; AssertionError with the report of the process that found something wrong."""
        for _ in range(self._rng.choice((1, 1, 1, 2))):
            self._life(Killer.choose(self._rng))
        self._life(None)

    def _life(self, killer: Killer | None) -> None:
        seed = self._rng.getrandbits(32)
        mine, theirs = Pipe(duplex=False)
        pid = os.fork()
        if pid == 0:
            mine.close()
            _live(self._config, self._ledger, seed, theirs, phases=sys.maxsize if killer else 0)
        theirs.close()
        try:
            self._follow(mine, pid, killer)
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            self._read_rest(mine)
            mine.close()

    def _follow(self, pipe: Connection, pid: int, killer: Killer | None) -> None:
        left = killer.count if killer else 0
        for _ in range(MOST_MESSAGES if killer else sys.maxsize):
            if not pipe.poll(HUNG_SECONDS):
                raise AssertionError(f"process {pid} says nothing")
            try:
                message = pipe.recv()
            except EOFError as exc:
                if killer:
                    raise AssertionError(f"process {pid} ended by itself") from exc
                return
            self._take(message)
            if killer and killer.counts(message):
                left -= 1
                if left == 0:
                    time.sleep(killer.delay)
                    break
        self.kills += 1

    def _read_rest(self, pipe: Connection) -> None:
        """What was said before the end counts: an answer that came was an answer."""
        try:
            while pipe.poll(0):
                self._take(pipe.recv())
        except (EOFError, OSError):
            return

    def _take(self, message: tuple) -> None:
        match message:
            case ("begun", chat, operation):
                self._ledger.begun(chat, operation)
            case ("done", chat):
                self._ledger.done(chat)
            case ("examined", shelves):
                self._ledger.shelves, self._ledger.pending = shelves, {}
            case ("wrong", report):
                raise AssertionError(report)
            case _:
                pass


def _live(config: Path, ledger: Ledger, seed: int, pipe: Connection, *, phases: int) -> None:
    """The forked process: it never returns."""
    try:
        Life(config, ledger, seed, pipe).live(phases)
    except BaseException:
        pipe.send(("wrong", traceback.format_exc()))
    finally:
        os._exit(0)


def _report(folder: Path, seed: int) -> dict[str, object]:
    started = time.monotonic()
    history = History(folder / str(seed), seed)
    wrong = ""
    try:
        history.run()
    except AssertionError as exc:
        wrong = str(exc)
    else:
        shutil.rmtree(folder / str(seed))
    seconds = round(time.monotonic() - started, 3)
    return {
        "seed": seed,
        "kills": history.kills,
        "acknowledged": history.acknowledged,
        "wrong": wrong,
        "seconds": seconds,
    }


def main() -> None:
    """Run the histories of the seeds given."""
    small_steps()
    warm_up()
    folder = Path(sys.argv[1])
    for seed in map(int, sys.argv[2:]):
        print(json.dumps(_report(folder, seed)), flush=True)


if __name__ == "__main__":
    main()
