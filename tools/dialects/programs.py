"""Compilers that are programs: glslc, hipcc, and our own library on PoCL."""

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools.dialects.kernels import Manifest, Outcome, Text, batches, module

AMD_ARCHITECTURES = ("gfx90a", "gfx1030")
POCL = {"OCL_ICD_VENDORS": "/etc/OpenCL/vendors/pocl.icd"}


def plugins_of(program: Path) -> dict[str, str]:
    """Where a program of a build folder finds its plug-ins."""
    return {"VECTIS_BACKEND_PATH": str(program.resolve().parents[1] / "lib" / "vectis" / "backends")}


def run_program(command: list[object], env: dict[str, str] | None = None) -> tuple[int, str]:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, errors="replace",
                          env={**os.environ, **(env or {})}, check=False)
    return done.returncode, done.stdout + done.stderr


def spirv(text: Text) -> Path:
    """Where glslc leaves what it made of a text."""
    return text.file.with_name(text.file.name + ".spv")


def glslc(manifest: Manifest, dialect: str) -> Outcome:
    texts = manifest.of(dialect)
    outcome = Outcome("glslc", dialect, len(texts))

    def one(text: Text) -> tuple[Text, int, str]:
        return text, *run_program(["glslc", *manifest.options(dialect), "-x", "glsl", text.file, "-o", spirv(text)])

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        for text, code, said in threads.map(one, texts):
            if code != 0:
                outcome.failed(text.kernel, said)
    return outcome


def hipcc(manifest: Manifest) -> list[Outcome]:
    """Many kernels in one module: most of the time goes into HIP's headers."""
    texts = manifest.of("hip-c++")
    return [_hipcc(manifest, [text for text in texts if text.runs_on(architecture)], architecture)
            for architecture in AMD_ARCHITECTURES]


def _hipcc(manifest: Manifest, texts: list[Text], architecture: str) -> Outcome:
    outcome = Outcome("hipcc", architecture, len(texts))

    def compile_file(source: Path) -> tuple[int, str]:
        return run_program(["hipcc", "-x", "hip", *manifest.options("hip-c++"), f"--offload-arch={architecture}",
                     "--cuda-device-only", "-w", "-c", source, "-o", source.with_suffix(".o")])

    def one(numbered: tuple[int, list[Text]]) -> None:
        number, batch = numbered
        source = manifest.folder / f"module_{architecture}_{number}.hip"
        source.write_text("#include <hip/hip_runtime.h>\n" + module(batch))
        if compile_file(source)[0] == 0:
            return
        for text in batch:
            alone = manifest.folder / f"{text.kernel}_{architecture}.hip"
            alone.write_text(text.file.read_text())
            code, said = compile_file(alone)
            if code != 0:
                outcome.failed(text.kernel, said)

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        list(threads.map(one, enumerate(batches(texts, 50))))
    return outcome


def pocl(manifest: Manifest, program: Path) -> Outcome:
    texts = manifest.of("opencl-c")
    outcome = Outcome("PoCL", "opencl-c", len(texts))
    cache = manifest.folder / "pocl-cache"
    cache.mkdir(exist_ok=True)
    env = {**POCL, **plugins_of(program), "POCL_CACHE_DIR": str(cache)}
    code, said = run_program([program, "build", manifest.folder], env)
    for kernel, message in build_failures(said, {text.kernel for text in texts}):
        outcome.failed(kernel, message)
    if code != 0 and not outcome.failures:
        outcome.failed("vectis-kernels", said)
    return outcome


def build_failures(said: str, kernels: set[str]) -> list[tuple[str, str]]:
    """Kernels and messages out of what `vectis-kernels build` prints: a kernel, a tab, and lines about it."""
    failures: list[tuple[str, list[str]]] = []
    for line in said.splitlines():
        kernel, tab, rest = line.partition("\t")
        if tab and kernel in kernels:
            failures.append((kernel, [rest]))
        elif failures:
            failures[-1][1].append(line)
    return [(kernel, "\n".join(lines)) for kernel, lines in failures]
