"""Vectis beside PyTorch in training networks, in turns: `python3 -m tools.bench.network_contest [NETWORK...]`.

Each side is a process: ours of the named networks is a program in C++ (networks_bench), of random ones Python."""

import sys
from typing import Any

from tools.bench.array_contest import ROOT, Contest, Peer, Program

PEER = "tools.bench.network_peer"
NETWORKS = ("mlp", "lstm", "lstm16", "cnn", "transformer")
ROUNDS = 41


class Native(Program):
    """networks_bench, which knows networks by their names."""

    def __init__(self, threads: int) -> None:
        super().__init__([ROOT / "build" / "release" / "bin" / "networks_bench", threads], OMP_NUM_THREADS=str(threads))

    def ask(self, *, prepare: str = "", run: int = 0) -> Any:
        return self.answer(prepare or f"run {run}")


class NetworkContest(Contest):
    """Vectis, in C++ or in Python, and PyTorch."""

    def __init__(self, threads: int = 1, is_native: bool = False) -> None:
        self.sides = {"vectis": Native(threads) if is_native else Peer("vectis", threads, PEER),
                      "torch": Peer("torch", threads, PEER)}


def ratio(network: str, threads: int = 1) -> float:
    """PyTorch's time of a step over ours: the median over the rounds."""
    with NetworkContest(threads, is_native=True) as contest:
        return contest.ratios(ROUNDS, prepare=network)["torch"]


if __name__ == "__main__":
    for chosen in sys.argv[1:] or NETWORKS:
        print(f"{chosen:<16}{ratio(chosen):6.2f} of PyTorch", flush=True)
