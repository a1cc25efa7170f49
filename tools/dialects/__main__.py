"""`python3 -m tools.dialects`: compiles every built-in kernel and random programs in every dialect,
and translates the built-in ones for Metal, where nothing here compiles them."""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tools.dialects import environment, metal, nvrtc, oclgrind, programs, ptxas, webgpu
from tools.dialects.kernels import Manifest, Outcome

STEPS: dict[str, Callable[[Manifest, Path], list[Outcome]]] = {
    "opencl": lambda manifest, program: [programs.pocl(manifest, program)],
    "vulkan": lambda manifest, _: [programs.glslc(manifest, "glsl-vulkan")],
    "webgpu": lambda manifest, _: [programs.glslc(manifest, "glsl-webgpu"), *webgpu.run(manifest)],
    "metal": lambda manifest, program: [metal.run(metal.texts_of(program), manifest.folder / "metal")],
    "cuda": lambda manifest, program: [*nvrtc.run(manifest, environment.nvrtc_library(),
                                                  environment.old_nvrtc_library()),
                                       *ptxas.run(ptxas.texts_of(program), environment.ptxas())],
    "hip": lambda manifest, _: programs.hipcc(manifest),
}


def prove(program: Path, folder: Path, count: int, seed: int, steps: list[str]) -> list[Outcome]:
    """One row for each compiler and target."""
    subprocess.run([program, "print", folder, "--programs", str(count), "--seed", str(seed)], check=True)
    manifest = Manifest(folder)
    outcomes = []
    for step in steps:
        begin = time.monotonic()
        outcomes += STEPS[step](manifest, program)
        print(f"{step}: {time.monotonic() - begin:.0f} s", file=sys.stderr)
    return outcomes


def table(outcomes: list[Outcome]) -> str:
    lines = [f"{'compiler':10} {'target':24} {'texts':>6} {'failed':>6}"]
    lines += [f"{row.compiler:10} {row.target:24} {row.texts:6} {len(row.failures):6}" for row in outcomes]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python3 -m tools.dialects", description=__doc__)
    parser.add_argument("--program", type=Path, default=environment.ROOT / "build" / "release" / "bin" / "vectis-kernels")
    parser.add_argument("--folder", type=Path, default=environment.ROOT / "build" / "dialects")
    parser.add_argument("--programs", type=int, default=200, help="random programs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", nargs="*", choices=[*STEPS, "oclgrind"], default=[*STEPS, "oclgrind"])
    parser.add_argument("--operations", default=".*", help="which to launch under Oclgrind, as a regular expression")
    parser.add_argument("--json", type=Path, help="where the rows go as JSON")
    asked = parser.parse_args()
    steps = [step for step in asked.steps if step != "oclgrind"]
    outcomes = prove(asked.program, asked.folder, asked.programs, asked.seed, steps) if steps else []
    if "oclgrind" in asked.steps:
        launched = ["--programs", str(min(asked.programs, 20)), "--seed", str(asked.seed), "--operations",
                    asked.operations]
        outcomes.append(oclgrind.run(asked.program, asked.folder, launched))
    print(table(outcomes))
    for row in outcomes:
        for kernel, message in row.failures[:5]:
            print(f"\n{row.compiler} {row.target}, {kernel}:\n{message[:2000]}")
    if asked.json:
        asked.json.write_text(json.dumps([vars(row) for row in outcomes], indent=1) + "\n")
    return 1 if any(row.failures for row in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
