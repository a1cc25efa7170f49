"""The seed of a test run: VECTIS_TEST_SEED, or derived from the commit, so that every commit tests another seed and can be reproduced."""

import os
import subprocess
from pathlib import Path

WITHOUT_COMMIT = 1


def of_commit(commit: str) -> int:
    """The first 16 hexadecimal digits as a number."""
    return int(commit[:16], 16)


def head(root: Path) -> str:
    """The checked-out commit, or "" outside a repository."""
    command = ["git", "-c", "safe.directory=*", "rev-parse", "--verify", "--quiet", "HEAD"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def chosen(root: Path) -> int:
    given = os.environ.get("VECTIS_TEST_SEED", "")
    if given:
        return int(given)
    commit = head(root)
    return of_commit(commit) if commit else WITHOUT_COMMIT
