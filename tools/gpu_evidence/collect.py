"""Compiles the hot kernels for every architecture and analyzes the machine code."""

import hashlib
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tools.dialects import environment
from tools.dialects.kernels import Manifest, batches, module
from tools.dialects.nvrtc import OLD_ARCHITECTURES, Nvrtc
from tools.gpu_evidence import amd, cubin, mix
from tools.gpu_evidence.hot import Hot, hot_kernels
from tools.gpu_evidence.occupancy import AMD, NVIDIA, occupancy

READ = ("sm_80", "sm_89", "sm_90", "sm_100")  # their instructions are counted
COMPILED = ("sm_75", "sm_120")  # for registers and spills alone
# Why kernels may spill on an architecture; on all others none may.
REASONS = {"sm_70": "CUDA 12.9's compiler keeps a few values in memory rather than hold fewer groups of the largest tile; "
                    "to forbid it would cost newer devices a quarter of their occupancy"}
THREADS = min(2, os.cpu_count() or 1)


@dataclass(frozen=True)
class Row:
    """One kernel for one architecture."""
    label: str
    family: str
    architecture: str
    registers: int  # of a lane
    shared: int  # bytes of a group
    local: int  # bytes of a lane that lie in memory: spills, and arrays that registers cannot hold
    spilled: int  # bytes on NVIDIA, registers on AMD
    occupancy: float
    counts: dict[str, int] = field(default_factory=dict)  # NVIDIA: instructions by name, "" for all of them
    loads: dict[int, int] = field(default_factory=dict)  # NVIDIA: loads from memory by width in bits
    cost: mix.Cost | None = None  # NVIDIA: of one distance


@dataclass
class Evidence:
    checksum: str  # of the kernel texts
    kernels: list[Hot]
    rows: list[Row]

    def of(self, architecture: str) -> dict[str, Row]:
        return {row.label: row for row in self.rows if row.architecture == architecture}

    def spilling(self) -> list[Row]:
        return [row for row in self.rows if row.spilled or row.counts.get("LDL", 0) + row.counts.get("STL", 0)]

    def unexplained(self) -> list[Row]:
        """Spills without an accepted reason, which fail the check."""
        return [row for row in self.spilling() if row.architecture not in REASONS]


def nvidia_row(one: Hot, architecture: str, kernel: cubin.Kernel) -> Row:
    counts = {name: kernel.count(name) for name in ("FFMA", "IDP", "IMMA", "IMAD", "HMMA", "LDG", "LDS", "LDL", "STL")}
    counts[""] = len(kernel.code)
    price = mix.cost(one, kernel, split=int(architecture[3:]) >= 90) if architecture in READ else None
    share = occupancy(NVIDIA[architecture], kernel.registers, kernel.shared, one.text.group)
    return Row(one.label, one.family, architecture, kernel.registers, kernel.shared, kernel.stack, kernel.spilled, share,
               counts, kernel.widths("LDG"), price)


def nvidia(manifest: Manifest, kernels: list[Hot], architecture: str, compiler: Nvrtc) -> list[Row]:
    options = [f"--gpu-architecture={architecture}", "--ptxas-options=-v", *manifest.options("cuda-c++")]
    kernels = [one for one in kernels if one.text.runs_on(architecture)]
    by_kernel = {one.text.kernel: one for one in kernels}
    rows = {}
    for batch in batches([one.text for one in kernels], 16):
        made = cubin.kernels(*compiler.machine_code(module(batch), options))
        for text in batch:
            rows[text.kernel] = nvidia_row(by_kernel[text.kernel], architecture, made[text.entry])
    return [rows[one.text.kernel] for one in kernels]


def amd_rows(manifest: Manifest, architecture: str) -> list[Row]:
    kernels = [one for one in hot_kernels(manifest, "hip-c++") if one.text.runs_on(architecture)]
    made = amd.compile_all(manifest, [one.text for one in kernels], architecture, THREADS)
    rows = []
    for one in kernels:
        read = made[one.text.kernel]
        share = occupancy(AMD[architecture], read.vgprs, read.lds, one.text.group)
        rows.append(Row(one.label, one.family, architecture, read.vgprs, read.lds, read.scratch, read.spilled, share))
    return rows


def printed(program: Path, folder: Path) -> Manifest:
    subprocess.run([program, "print", folder], check=True)
    return Manifest(folder)


def checksum(manifest: Manifest) -> str:
    """Changes with every text on the page and with the compiler options."""
    total = hashlib.sha256()
    for dialect in ("cuda-c++", "hip-c++"):
        total.update(" ".join(manifest.options(dialect)).encode())
        for one in hot_kernels(manifest, dialect):
            total.update(one.label.encode() + one.text.file.read_bytes())
    return total.hexdigest()[:16]


def collect(program: Path, folder: Path) -> Evidence:
    manifest = printed(program, folder)
    kernels = hot_kernels(manifest, "cuda-c++")
    compiler = Nvrtc(environment.nvrtc_library())
    old_compiler = Nvrtc(environment.old_nvrtc_library())
    targets = [*((name, compiler) for name in (*READ, *COMPILED)), *((name, old_compiler) for name in OLD_ARCHITECTURES)]
    with ThreadPoolExecutor(THREADS) as pool:  # NVRTC compiles in several threads, and lets Python's go on meanwhile
        parts = pool.map(lambda target: nvidia(manifest, kernels, *target), targets)
        rows = [row for part in parts for row in part]
    for architecture in amd.ARCHITECTURES:
        rows += amd_rows(manifest, architecture)
    return Evidence(checksum(manifest), kernels, rows)
