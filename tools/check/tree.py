"""The files of the repository, each read once."""

import subprocess
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path

from tools.check.source import Include, blank_comments_and_strings, find_includes

CODE_SUFFIXES = (".h", ".hpp", ".c", ".cpp", ".inc")


@dataclass(frozen=True)
class Tree:
    root: Path
    all_files: bool = False  # clang-tidy: every file instead of the changed ones
    _texts: dict[str, str] = field(default_factory=dict, compare=False, hash=False, repr=False)

    @cached_property
    def files(self) -> list[str]:
        """Tracked files and untracked files that are not ignored, relative to the root, sorted."""
        listed = self.git("ls-files", "--cached", "--others", "--exclude-standard")
        if listed is None:
            paths = (path.relative_to(self.root) for path in self.root.rglob("*"))
            listed = [str(path) for path in paths if path.parts[0] not in ("build", ".git")]
        return sorted(name for name in set(listed) if (self.root / name).is_file())

    @cached_property
    def code(self) -> list[str]:
        return [name for name in self.files if name.endswith(CODE_SUFFIXES)]

    def text(self, name: str) -> str:
        if name not in self._texts:
            self._texts[name] = (self.root / name).read_text(encoding="utf-8", errors="replace")
        return self._texts[name]

    def is_text(self, name: str) -> bool:
        with (self.root / name).open("rb") as file:
            return b"\0" not in file.read(4096)

    def bare_code(self, name: str) -> str:
        """The text with comments and literals replaced by spaces; line numbers stay the same."""
        return _bare(self.text(name))

    def includes(self, name: str) -> list[Include]:
        return _includes(self.text(name))

    def git(self, *arguments: str) -> list[str] | None:
        """The output lines of a git command, or None outside a repository or when git fails."""
        command = ["git", "-c", "safe.directory=*", "-c", "core.quotePath=off", *arguments]
        try:
            done = subprocess.run(command, cwd=self.root, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            return None
        return done.stdout.splitlines() if done.returncode == 0 else None


_bare = lru_cache(maxsize=None)(blank_comments_and_strings)
_includes = lru_cache(maxsize=None)(find_includes)


def is_test(name: str) -> bool:
    """Whether the file is a test, an example or a benchmark."""
    stem = Path(name).stem
    return name.startswith(("tests/", "examples/", "bench/")) or stem.endswith(("_test", "_test_support"))


def line_of(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1
