"""What every rule of `./dev check` is made of."""

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
    summary: str = ""  # what was looked at, for the closing line


@dataclass(frozen=True)
class Rule:
    name: str
    promise: str  # what holds when the rule is silent
    mend: str  # the command or the step that mends a finding
    run: Callable[[Tree], Report] = field(repr=False)
