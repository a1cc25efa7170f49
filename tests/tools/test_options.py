"""What a build answers that was asked for something it cannot make."""

import shutil
import subprocess
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COMPILERS = ["-DCMAKE_C_COMPILER=gcc-12", "-DCMAKE_CXX_COMPILER=g++-12"]  # a bare machine has no `c++`
OTHERS = [f"-DVECTIS_{name}=OFF" for name in ("TESTS", "BACKEND_OPENCL", "BACKEND_CUDA", "BACKEND_HIP", "ONEDNN")]


@pytest.mark.skipif(shutil.which("cmake") is None, reason="there is no cmake")
@pytest.mark.parametrize("wanted, passes", [("ON", False), ("AUTO", True)])
def test_webgpu_without_its_headers(tmp_path, wanted, passes):
    words = ["cmake", "-S", ROOT, "-B", tmp_path, "-G", "Ninja", *COMPILERS, *OTHERS,
             f"-DVECTIS_BACKEND_WEBGPU={wanted}", "-DWEBGPU_HEADERS="]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    said = " ".join((done.stdout + done.stderr).split())
    assert (done.returncode == 0) == passes, said
    assert "wgpu.h is not found: run ./dev setup" in said
    assert ("VECTIS_BACKEND_WEBGPU=ON:" in said) != passes


@pytest.mark.skipif(shutil.which("cmake") is None, reason="there is no cmake")
@pytest.mark.parametrize("wanted, passes", [("ON", False), ("AUTO", True)])
def test_python_without_nanobind(tmp_path, wanted, passes):
    bare = tmp_path / "bare"
    venv.create(bare, symlinks=True)
    words = ["cmake", "-S", ROOT, "-B", tmp_path / "build", "-G", "Ninja", *COMPILERS, *OTHERS,
             "-DVECTIS_BACKEND_WEBGPU=OFF", f"-DVECTIS_PYTHON={wanted}", f"-DPython_EXECUTABLE={bare}/bin/python"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    said = " ".join((done.stdout + done.stderr).split())
    assert (done.returncode == 0) == passes, said
    assert "has no nanobind: run ./dev setup" in said
    assert ("VECTIS_PYTHON=ON:" in said) != passes


@pytest.mark.skipif(shutil.which("cmake") is None, reason="there is no cmake")
def test_the_configuration_ends_with_what_is_built_and_why_not(tmp_path):
    words = ["cmake", "-S", ROOT, "-B", tmp_path, "-G", "Ninja", *COMPILERS, "-DVECTIS_TESTS=OFF", "-DVECTIS_ONEDNN=OFF",
             "-DVECTIS_BACKEND_WEBGPU=OFF", "-DVECTIS_PYTHON=OFF", "-DCUDA_HEADERS=", "-DHIP_HEADERS="]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    summary = done.stdout[done.stdout.index("will have these backends:"):]
    lines = [line.removeprefix("--").split(maxsplit=1) for line in summary.splitlines()[1:7]]
    reasons = dict(lines)
    assert reasons["cpu"] == "built in"
    assert reasons["opencl"] == "built"
    assert reasons["webgpu"] == "not built: VECTIS_BACKEND_WEBGPU is OFF"
    assert reasons["cuda"].startswith("not built: cuda.h is not found") and "nvidia-cuda-dev" in reasons["cuda"]
    assert reasons["hip"].startswith("not built: hip/hip_runtime_api.h") and "libamdhip64-dev" in reasons["hip"]
    assert reasons["python"] == "not built: VECTIS_PYTHON is OFF"
