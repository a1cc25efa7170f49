"""The speed of this build against that of an earlier commit, a cell of soaks."""

import json
import statistics
from pathlib import Path

from tools import suite
from tools.evidence import Figure

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"


def speed(commit: str, *only: str) -> list[Figure]:
    """Builds `commit` in build/baseline and runs both side by side (tools/bench/versions.py), all workloads or only those
    whose name contains one of the words."""
    folder = BUILD / "baseline"
    if not folder.is_dir():
        suite.run("git", "worktree", "add", "--detach", folder, commit)
        (folder / "build").mkdir()
        (folder / "build" / "venv").symlink_to(BUILD / "venv")
    suite.run("git", "-C", folder, "checkout", "--detach", commit)
    suite.run("cmake", "-S", folder, "-B", folder / "build" / "release", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
              "-DCMAKE_CXX_COMPILER=g++-12", "-DCMAKE_C_COMPILER=gcc-12", "-DCMAKE_UNITY_BUILD=ON",
              "-DCMAKE_UNITY_BUILD_BATCH_SIZE=10")
    suite.run("cmake", "--build", folder / "build" / "release", "--target", "exact_bench")
    words = ["--only", *only] if only else []
    suite.run(ROOT / "bench" / "versions", folder / "build" / "release" / "bin" / "exact_bench", *words)
    results = json.loads((BUILD / "soak" / "versions.json").read_text())["results"]
    return [Figure.measured(f"{one['name']} ({min(one['ratios']):.3f} to {max(one['ratios']):.3f}; {one['found']})",
                            round(statistics.median(one["ratios"]), 3), "times the speed before", ">= 0.97")
            for one in results]
