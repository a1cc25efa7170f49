"""Assembles the PTX embedded in the CUDA plug-in with CUDA 12.9's ptxas: each states a version that old drivers accept, and
must need no newer one."""

import os
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools.dialects.kernels import Outcome
from tools.dialects.programs import run_program

ARCHITECTURES = ("sm_70", "sm_80", "sm_90")
STATED = re.compile(r"^\.version 7\.2$", re.MULTILINE)
TARGET = re.compile(r"^\.target sm_(\d+)$", re.MULTILINE)


def texts_of(program: Path) -> Path:
    """Where the build folder of a program keeps the texts and the PTX of built-in kernels."""
    return program.resolve().parents[1] / "backends" / "cuda_hip" / "cuda" / "ptx" / "texts"


def run(texts: Path, assembler: Path) -> list[Outcome]:
    modules = sorted(texts.glob("*.ptx"))
    if not modules:
        raise FileNotFoundError(f"no PTX in {texts}; run ./dev setup and ./dev build")
    return [_target(modules, assembler, architecture) for architecture in ARCHITECTURES]


def runs_on(ptx: str, architecture: str) -> bool:
    """Whether the architecture is not older than the one the PTX is for."""
    return int(TARGET.search(ptx).group(1)) <= int(architecture.removeprefix("sm_"))


def _target(all_modules: list[Path], assembler: Path, architecture: str) -> Outcome:
    modules = [module for module in all_modules if runs_on(module.read_text(), architecture)]
    outcome = Outcome("ptxas", architecture, len(modules))

    def one(module: Path) -> tuple[Path, int, str]:
        return module, *run_program([assembler, f"-arch={architecture}", module, "-o", "/dev/null"])

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        for module, code, said in threads.map(one, modules):
            if code != 0:
                outcome.failed(module.name, said)
            elif not STATED.search(module.read_text()):
                outcome.failed(module.name, "it does not state version 7.2")
    return outcome
