"""Programs of arrays in several libraries, computed in turns: each library is a process (array_peer.py)."""

import json
import math
import os
import statistics
import subprocess
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = ROOT / "build" / "arrays-venv"
REQUIREMENTS = ROOT / "tools" / "bench" / "requirements-arrays.txt"
TURN_SECONDS = 0.004  # of each measurement, so that the clock does not matter
PAUSE_SECONDS = 0.002  # after which OpenMP's threads of the other side no longer spin


class Failed(Exception):
    """A library cannot compute a program."""


def python() -> Path:
    """The interpreter of the peers' environment, which is made when the pins have changed."""
    stamp, pins = ENVIRONMENT / "pins.txt", REQUIREMENTS.read_text()
    if not stamp.is_file() or stamp.read_text() != pins:
        subprocess.run(["python3", "-m", "venv", "--clear", ENVIRONMENT], check=True)
        subprocess.run([ENVIRONMENT / "bin" / "pip", "install", "--quiet", "--requirement", REQUIREMENTS], check=True)
        stamp.write_text(pins)
    return ENVIRONMENT / "bin" / "python"


class Program:
    """A process that answers each line with a line."""

    def __init__(self, command: Sequence[object], **environment: str) -> None:
        self.process = subprocess.Popen([str(word) for word in command], cwd=ROOT, env={**os.environ, **environment},
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def line(self, request: str) -> str:
        self.process.stdin.write(request + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def answer(self, request: str) -> Any:
        """The answer to a line, which is JSON. Raises Failed when it is a dictionary."""
        answer = json.loads(self.line(request) or '{"failed": "the process has ended"}')
        if isinstance(answer, dict):
            raise Failed(answer["failed"])
        return answer

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()


class Peer(Program):
    """A library in a process of its own."""

    def __init__(self, library: str, threads: int, module: str = "tools.bench.array_peer") -> None:
        super().__init__([python(), "-m", module, library, threads], OMP_NUM_THREADS=str(threads),
                         PYTHONPATH=f"{ROOT}:{ROOT / 'build' / 'release' / 'python'}", CXX="g++-12")

    def ask(self, **request: Any) -> Any:
        return self.answer(json.dumps(request))


class Contest:
    """Vectis and its peers; `with` closes them."""

    def __init__(self, peers: Sequence[str], threads: int = 1) -> None:
        self.sides: dict[str, Any] = {name: Peer(name, threads) for name in ("vectis", *peers)}

    def __enter__(self) -> "Contest":
        return self

    def __exit__(self, *_: object) -> None:
        for side in self.sides.values():
            side.close()

    def times(self, rounds: int, **program: Any) -> dict[str, list[float]]:
        """Nanoseconds of each side in each round. The first computations prepare and say how many make a turn."""
        counts = {}
        for name, side in self.sides.items():
            side.ask(**program)
            first = [side.ask(run=1) for _ in range(4)][-1]
            counts[name] = max(1, math.ceil(TURN_SECONDS * 1e9 / max(first, 1)))
        times: dict[str, list[float]] = {name: [] for name in self.sides}
        for turn in range(rounds):
            order = list(self.sides) if turn % 2 == 0 else list(reversed(self.sides))
            for name in order:
                time.sleep(PAUSE_SECONDS)
                times[name].append(self.sides[name].ask(run=counts[name]))
        return times

    def ratios(self, rounds: int, **program: Any) -> dict[str, float]:
        """Each peer's time over ours: the median over the rounds."""
        times = self.times(rounds, **program)
        return {name: statistics.median(theirs / ours for theirs, ours in zip(values, times["vectis"], strict=True))
                for name, values in times.items() if name != "vectis"}


def geometric_mean(values: Iterable[float]) -> float:
    return math.exp(statistics.fmean(math.log(value) for value in values))
