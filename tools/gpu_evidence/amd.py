"""AMD's code objects: compiled by hipcc, read from the notes that the compiler leaves in them."""

import os
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tools.dialects.kernels import Manifest, Text, batches, module
from tools.dialects.programs import AMD_ARCHITECTURES, run_program

READELF = "llvm-readelf-19"


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


def compile_all(manifest: Manifest, texts: list[Text], architecture: str, threads: int) -> dict[str, CodeObject]:
    """By kernel's name."""

    def one(numbered: tuple[int, list[Text]]) -> dict[str, CodeObject]:
        number, batch = numbered
        source = manifest.folder / f"hot_{architecture}_{number}.hip"
        source.write_text("#include <hip/hip_runtime.h>\n" + module(batch))
        target = source.with_suffix(".o")
        code, said = run_program(["hipcc", "-x", "hip", *manifest.options("hip-c++"),
                                  f"--offload-arch={architecture}", "--cuda-device-only",
                                  "--no-gpu-bundle-output", "-O3", "-w", "-c", source, "-o",
                                  target])
        if code != 0:
            raise RuntimeError(f"hipcc for {architecture}: {said[:2000]}")
        code, notes = run_program([READELF, "--notes", target])
        if code != 0:
            raise RuntimeError(f"{READELF}: {notes[:2000]}")
        by_entry = parse(notes)
        return {text.kernel: by_entry[text.entry] for text in batch}

    with ThreadPoolExecutor(threads) as pool:
        parts = pool.map(one, enumerate(batches(texts, 16)))
        return {name: made for part in parts for name, made in part.items()}


def available() -> bool:
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(":")]
    return all(any((folder / name).exists() for folder in folders) for name in ("hipcc", READELF))


ARCHITECTURES = AMD_ARCHITECTURES
