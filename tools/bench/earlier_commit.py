"""Programs of an earlier commit, built in a worktree beside the present build, to search in turns with it."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def built(commit: str, name: str, program: str, targets: Sequence[str], options: Sequence[str] = ()) -> Path:
    """The program of the commit, built in build/NAME unless it exists."""
    folder = ROOT / "build" / name
    path = folder / "build" / "release" / "bin" / program
    if not path.is_file():
        print(f"bench: building {commit[:12]}", file=sys.stderr, flush=True)
        if not folder.is_dir():
            subprocess.run(["git", "worktree", "prune"], cwd=ROOT, check=True)
            subprocess.run(["git", "worktree", "add", "--detach", str(folder), commit], cwd=ROOT, check=True)
        venv = folder / "build" / "venv"  # holds the headers of wgpu
        if not venv.exists():
            venv.parent.mkdir(exist_ok=True)
            venv.symlink_to(ROOT / "build" / "venv")
        for words in (["--preset", "release", *options], ["--build", "--preset", "release", "--target", *targets]):
            subprocess.run(["cmake", *words], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return path
