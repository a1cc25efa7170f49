"""AMD's code objects: compiled by hipcc, read from the notes that the compiler leaves in them.

Debian's hipcc is older than some GPUs. For those a newer clang compiles with the same library of device functions, which
lacks nothing but the number of the GPU's instruction set, and its assembly text has the notes.
"""

import os
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tools.dialects.kernels import Manifest, Text, batches, module
from tools.dialects.programs import AMD_ARCHITECTURES, run_program

READELF = "llvm-readelf-19"
CLANG = "clang-19"
BITCODE = Path("/usr/lib/x86_64-linux-gnu/amdgcn/bitcode")
NEWER = {"gfx942": 9402, "gfx1100": 11000, "gfx1201": 12001}  # the version that device functions ask for


@dataclass(frozen=True)
class CodeObject:
    """One kernel for one architecture."""
    entry: str
    vgprs: int
    sgprs: int
    lds: int  # bytes
    scratch: int  # bytes of private memory, spills among them
    spilled: int  # registers, of both kinds
    wave: int  # lanes


_FIELDS = {"vgprs": "vgpr_count", "sgprs": "sgpr_count", "lds": "group_segment_fixed_size",
           "scratch": "private_segment_fixed_size", "wave": "wavefront_size"}


def parse(notes: str) -> dict[str, CodeObject]:
    """By entry point, from what readelf prints of the notes: a list with one entry for each kernel."""

    def number(part: str, word: str) -> int:
        return int(re.search(rf"\.{word}:\s+(\d+)", part).group(1))

    found = {}
    listed = notes[notes.index("amdhsa.kernels:"):notes.index("amdhsa.target:")]
    for part in re.split(r"^  - ", listed, flags=re.MULTILINE)[1:]:
        entry = re.search(r"^    \.name:\s+'?(\w+)'?", part, re.MULTILINE).group(1)
        spilled = number(part, "vgpr_spill_count") + number(part, "sgpr_spill_count")
        found[entry] = CodeObject(entry, spilled=spilled, **{key: number(part, word) for key, word in _FIELDS.items()})
    return found


def _by_hipcc(manifest: Manifest, source: Path, architecture: str) -> str:
    target = source.with_suffix(".o")
    _run(["hipcc", "-x", "hip", *manifest.options("hip-c++"), f"--offload-arch={architecture}", "--cuda-device-only",
          "--no-gpu-bundle-output", "-O3", "-w", "-c", source, "-o", target])
    return _run([READELF, "--notes", target])


def _by_clang(manifest: Manifest, source: Path, architecture: str) -> str:
    target = source.with_suffix(".s")
    _run([CLANG, "-x", "hip", *manifest.options("hip-c++"), f"--offload-arch={architecture}", "--cuda-device-only",
          "--rocm-path=/usr", f"--hip-device-lib-path={manifest.folder / 'bitcode'}", "-O3", "-w", "-S", source, "-o",
          target])
    return target.read_text()


def _run(command: list[object]) -> str:
    code, said = run_program(command)
    if code != 0:
        raise RuntimeError(f"{command[0]}: {said[:2000]}")
    return said


def _complete_library(folder: Path) -> None:
    """The library of device functions, and what it lacks for newer GPUs."""
    folder.mkdir(exist_ok=True)
    for file in BITCODE.glob("*.bc"):
        shutil.copy(file, folder)
    for architecture, version in NEWER.items():
        source = folder / f"{architecture}.cl"
        source.write_text(f"__constant int __oclc_ISA_version = {version};\n")
        _run([CLANG, "-x", "cl", "-cl-std=CL2.0", "--target=amdgcn-amd-amdhsa", "-nogpulib", "-emit-llvm", "-c", source,
              "-o", folder / f"oclc_isa_version_{architecture.removeprefix('gfx')}.bc"])


def compile_all(manifest: Manifest, texts: list[Text], architecture: str, threads: int) -> dict[str, CodeObject]:
    """By kernel's name."""
    if architecture in NEWER:
        _complete_library(manifest.folder / "bitcode")
    notes_of = _by_clang if architecture in NEWER else _by_hipcc

    def one(numbered: tuple[int, list[Text]]) -> dict[str, CodeObject]:
        number, batch = numbered
        source = manifest.folder / f"hot_{architecture}_{number}.hip"
        source.write_text("#include <hip/hip_runtime.h>\n" + module(batch))
        by_entry = parse(notes_of(manifest, source, architecture))
        return {text.kernel: by_entry[text.entry] for text in batch}

    with ThreadPoolExecutor(threads) as pool:
        parts = pool.map(one, enumerate(batches(texts, 16)))
        return {name: made for part in parts for name, made in part.items()}


def assembly(manifest: Manifest, text: Text, architecture: str) -> str:
    """One kernel's, by clang."""
    _complete_library(manifest.folder / "bitcode")
    source = manifest.folder / f"alone_{architecture}.hip"
    source.write_text("#include <hip/hip_runtime.h>\n" + module([text]))
    return _by_clang(manifest, source, architecture)


def available() -> bool:
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(":")]
    return all(any((folder / name).exists() for folder in folders) for name in ("hipcc", READELF, CLANG))


ARCHITECTURES = (*AMD_ARCHITECTURES, *NEWER)
