"""The generated pages of docs/ and the commands that print them.

`python3 -m tools.docs` writes them, `--check` only compares.
"""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

PROGRAM = "build/release/bin/vectis-docs"


@dataclass(frozen=True)
class Page:
    path: str
    command: tuple[str, ...]


PAGES = (
    Page("docs/errors.md", (PROGRAM, "errors")),
    Page("docs/configuration.md", (PROGRAM, "configuration")),
    Page("docs/operations.md", (PROGRAM, "operations")),
)


class CannotGenerate(Exception):
    """The program of a page is missing or failed; the message says what to do."""


def refresh_program(root: Path) -> None:
    """Rebuilds the program if its build folder exists, so that pages are never compared with stale output."""
    folder = root / "build" / "release"
    if (folder / "build.ninja").is_file():
        target = PROGRAM.removeprefix("build/release/")
        done = subprocess.run(["ninja", "-C", folder, target], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise CannotGenerate(f"{PROGRAM} does not build; run ./dev build: {done.stdout.strip()[-300:]}")


def generate(root: Path, page: Page) -> str:
    refresh_program(root)
    if not (root / page.command[0]).is_file():
        raise CannotGenerate(f"{page.command[0]} is not built; run ./dev build")
    done = subprocess.run([root / page.command[0], *page.command[1:]], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CannotGenerate(f"{' '.join(page.command)} ended with {done.returncode}: {done.stderr.strip()[:200]}")
    return done.stdout


def first_difference(root: Path, page: Page) -> int | None:
    """The first line that differs from the program's output, or None."""
    file = root / page.path
    there = file.read_text().splitlines(keepends=True) if file.is_file() else []
    wanted = generate(root, page).splitlines(keepends=True)
    if there == wanted:
        return None
    same = sum(1 for _ in _common_prefix(there, wanted))
    return same + 1


def _common_prefix(left: list[str], right: list[str]):
    for one, other in zip(left, right):
        if one != other:
            return
        yield one


def write(root: Path, page: Page) -> None:
    changed = first_difference(root, page) is not None
    if changed:
        (root / page.path).write_text(generate(root, page))
    print(f"docs: {page.path} {'written' if changed else 'is current'}")


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print("usage: ./dev docs [--check]", file=sys.stderr)
        return 2
    root = Path.cwd()
    stale = False
    try:
        for page in PAGES:
            if not arguments:
                write(root, page)
            elif line := first_difference(root, page):
                stale = True
                print(f"{page.path}:{line}: generated: differs from what the program prints; run ./dev docs")
    except CannotGenerate as reason:
        print(f"docs: {reason}", file=sys.stderr)
        return 1
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
