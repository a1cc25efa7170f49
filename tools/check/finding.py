"""The types shared by all rules of `./dev check`."""

from collections.abc import Callable
from dataclasses import dataclass, field

from tools.check.tree import Tree


@dataclass(frozen=True, order=True)
class Finding:
    file: str
    line: int
    rule: str
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.rule}: {self.message}"


@dataclass(frozen=True)
class Report:
    findings: list[Finding]
    summary: str = ""  # what was checked, for the closing line


@dataclass(frozen=True)
class Rule:
    name: str
    promise: str  # what holds when the rule has no findings
    fix: str  # the command or the step that fixes a finding
    run: Callable[[Tree], Report] = field(repr=False)
