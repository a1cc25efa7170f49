"""The texts that vectis-kernels printed, and the outcome of compiling them."""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

MFMA = ("gfx908", "gfx90a", "gfx940", "gfx941", "gfx942")  # AMD's GPUs whose matrix cores kernels use


@dataclass(frozen=True)
class Text:
    kernel: str
    kind: str  # "built-in" or "random"
    dialect: str
    entry: str
    file: Path
    # Of built-in kernels:
    elements: list[str] = field(default_factory=list)  # of the buffers
    group: int = 0  # work-items
    defines: dict[str, str] = field(default_factory=dict)

    def runs_on(self, architecture: str) -> bool:
        """Whether NVIDIA's "sm_75" is none too old: a kernel may define the architectures for which its text differs. Such
        kernels use matrix units of int8, for which AMD's "gfx90a" must have the instruction."""
        stated = self.defines.get("CUDA_ARCHITECTURES")
        if stated is None:
            return True
        if architecture.startswith("gfx"):
            return architecture in MFMA
        return int(architecture.removeprefix("sm_")) >= int(stated.split(",")[0])


@dataclass
class Outcome:
    """One row of the table: a compiler and a target, and the texts it accepted."""
    compiler: str
    target: str
    texts: int = 0
    failures: list[tuple[str, str]] = field(default_factory=list)  # kernel, what the compiler said

    def failed(self, kernel: str, message: str) -> None:
        self.failures.append((kernel, message.strip()))


class Manifest:
    def __init__(self, folder: Path):
        content = json.loads((folder / "manifest.json").read_text())
        self.folder = folder
        self._options = content["options"]
        self.texts = [Text(**{**text, "file": folder / text["file"]}) for text in content["texts"]]

    def of(self, dialect: str) -> list[Text]:
        return [text for text in self.texts if text.dialect == dialect]

    def options(self, dialect: str) -> list[str]:
        return self._options[dialect].split()


def batches(texts: list[Text], size: int) -> list[list[Text]]:
    """Groups of at most `size` texts with different entry points, so that they may share a module."""
    result: list[list[Text]] = []
    for text in texts:
        open_batch = next((batch for batch in result
                           if len(batch) < size and all(other.entry != text.entry for other in batch)), None)
        if open_batch is None:
            result.append(open_batch := [])
        open_batch.append(text)
    return result


_DEFINE = re.compile(r"^#define\s+(\w+)", re.MULTILINE)


def module(batch: list[Text]) -> str:
    """Many C++ kernels as one text: each in a namespace, with its macros undefined after it."""
    parts = []
    for number, text in enumerate(batch):
        source = text.file.read_text()
        undefine = "\n".join(f"#undef {name}" for name in sorted(set(_DEFINE.findall(source))))
        parts.append(f"namespace kernel_{number} {{\n{source}\n}}\n{undefine}\n")
    return "\n".join(parts)
