"""Metal's language by SPIRV-Cross, from the SPIR-V embedded in the WebGPU plug-in. Texts only: nothing here compiles them.

Buffers keep the numbers of their bindings, so a host binds the same way everywhere.
"""

import os
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools.dialects.kernels import Outcome
from tools.dialects.programs import run_program

MSL_VERSION = "20100"
_BINDING = re.compile(r"layout\(std\d+, set = 0, binding = (\d+)\)")
_ARGUMENT = re.compile(r"\[\[buffer\((\d+)\)\]\]")
_HASH = re.compile(r"-([0-9a-f]{16})\.comp$")


def texts_of(program: Path) -> Path:
    """Where the build folder of a program keeps the texts and modules of built-in kernels."""
    return program.resolve().parents[1] / "backends" / "webgpu" / "spirv" / "texts"


def pinned(glsl: str, metal: str) -> str | None:
    """What is wrong with the bindings of a translated kernel, if anything."""
    if "kernel void" not in metal:
        return "the text has no kernel"
    wanted, found = sorted(map(int, _BINDING.findall(glsl))), sorted(map(int, _ARGUMENT.findall(metal)))
    return None if wanted == found else f"bindings {wanted} became buffers {found}"


def run(texts: Path, folder: Path) -> Outcome:
    folder.mkdir(parents=True, exist_ok=True)
    sources = sorted(texts.glob("*.comp"))
    outcome = Outcome("SPIRV-Cross", "MSL, translated", len(sources))
    translated = []

    def one(source: Path) -> tuple[Path, str | None]:
        target = folder / f"{source.stem}.metal"
        code, said = run_program(["spirv-cross", f"{source}.spv", "--msl", "--msl-version", MSL_VERSION,
                           "--msl-decoration-binding", "--output", target])
        return source, said or "failed" if code != 0 else pinned(source.read_text(), target.read_text())

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        for source, wrong in threads.map(one, sources):
            if wrong is None:
                translated.append(_HASH.search(source.name).group(1))
            else:
                outcome.failed(source.stem, wrong)
    (folder / "translated.txt").write_text("\n".join(sorted(translated)) + "\n")
    if not sources:
        outcome.failed("built-in kernels", f"no texts in {texts}; build the WebGPU plug-in first")
    return outcome
