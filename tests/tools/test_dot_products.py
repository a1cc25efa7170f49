"""DOT4_I8 becomes the one instruction that a device has for it, by the compilers of HIP and OpenCL C."""

import re
import shutil

import pytest

from tools.dialects import environment
from tools.dialects.programs import run_program
from tools.gpu_evidence import collect

ROOT = environment.ROOT
STEPS = 512  # dot products of the largest tile: eight words of eight rows and eight queries
AMD = ("--target=amdgcn-amd-amdhsa", "-nogpulib", "-cl-std=CL1.2", "-S")


@pytest.fixture(scope="module")
def manifest(tmp_path_factory):
    program = ROOT / "build" / "release" / "bin" / "vectis-kernels"
    if not program.is_file():
        pytest.skip("vectis-kernels is not built; run ./dev build")
    return collect.printed(program, tmp_path_factory.mktemp("texts"))


def largest_tile(manifest, dialect):
    """The scan of int8 rows that are whole words."""
    return next(text for text in manifest.of(dialect) if text.entry == "vt_scan_bounds" and text.elements[0] == "i8"
                and text.defines["QUERIES"] == "128u" and "lane + left" not in text.file.read_text())


def compiled(command):
    if shutil.which(command[0]) is None:
        pytest.skip(f"no {command[0]}")
    code, said = run_program([*command, "-O2", "-w", "-o", "-"])
    assert code == 0, said[:2000]
    return said


@pytest.mark.parametrize("architecture, steps", [("gfx900", 0), ("gfx90a", STEPS), ("gfx1030", STEPS)])
def test_hip_uses_the_instruction_of_the_target(manifest, architecture, steps):
    text = largest_tile(manifest, "hip-c++")
    made = compiled(["hipcc", "-x", "hip", *manifest.options("hip-c++"), f"--offload-arch={architecture}",
                     "--cuda-device-only", "--no-gpu-bundle-output", "-S", text.file])
    assert made.count("v_dot4") == steps


@pytest.mark.parametrize("architecture, steps", [("gfx900", 0), ("gfx1030", STEPS), ("gfx1100", STEPS)])
def test_opencl_uses_the_instruction_of_amd(manifest, architecture, steps):
    text = largest_tile(manifest, "opencl-c")
    made = compiled(["clang-19", "-x", "cl", *AMD, f"-mcpu={architecture}", text.file])
    assert made.count("v_dot4") == steps


@pytest.mark.parametrize("version, steps", [("CL1.2", 0), ("CL3.0", STEPS)])
def test_opencl_uses_the_extension_where_it_is_defined(manifest, version, steps):
    """Clang's SPIR-V target defines it for OpenCL C 3.0."""
    text = largest_tile(manifest, "opencl-c")
    made = compiled(["clang-19", "-x", "cl", f"-cl-std={version}", "--target=spir64", "-S", "-emit-llvm", text.file])
    assert len(re.findall(r"call .*dot_4x8packed_ss_int", made)) == steps
