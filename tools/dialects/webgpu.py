"""WGSL and WebGPU's SPIR-V by naga, inside wgpu-native, which the PyPI wheel `wgpu` brings.

Modules are validated when they are made, and wgpu's Python turns what naga says into an exception. The device is
lavapipe, the software driver of Mesa. Run with the interpreter of build/compilers:
`python -m tools.dialects.webgpu FILE...` prints one JSON line for each file.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from tools.dialects import environment
from tools.dialects.kernels import Manifest, Outcome, Text
from tools.dialects.programs import spirv

LAVAPIPE = "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json"


def run(manifest: Manifest) -> list[Outcome]:
    return [_validate("wgsl", [(text, text.file, text.entry) for text in manifest.of("wgsl")]),
            _validate("glsl-webgpu as SPIR-V", [(text, spirv(text), "main") for text in manifest.of("glsl-webgpu")])]


def _validate(target: str, files: list[tuple[Text, Path, str]]) -> Outcome:
    outcome = Outcome("naga", target, len(files))
    env = {**os.environ, "VK_ICD_FILENAMES": LAVAPIPE, "XDG_RUNTIME_DIR": os.environ.get("XDG_RUNTIME_DIR", "/tmp")}
    asked = "".join(json.dumps({"file": str(file), "entry": entry}) + "\n" for _, file, entry in files)
    done = subprocess.run([environment.python(), "-m", "tools.dialects.webgpu"], input=asked, capture_output=True,
                          text=True, env=env, cwd=environment.ROOT, check=False)
    answers = {answer["file"]: answer["message"] for answer in map(json.loads, done.stdout.splitlines())}
    for text, file, _ in files:
        message = answers.get(str(file), f"no answer: {done.stderr[-2000:]}")
        if message is not None:
            outcome.failed(text.kernel, message)
    return outcome


def _answer() -> None:
    import wgpu  # pylint: disable=import-outside-toplevel; only the interpreter of build/compilers has it

    device = wgpu.gpu.request_adapter_sync().request_device_sync()
    for line in sys.stdin:
        asked = json.loads(line)
        file, message = Path(asked["file"]), None
        try:
            code = file.read_bytes() if file.suffix == ".spv" else file.read_text()
            module = device.create_shader_module(code=code)
            device.create_compute_pipeline(layout="auto", compute={"module": module, "entry_point": asked["entry"]})
        except (wgpu.GPUError, OSError) as error:
            message = str(error)
        print(json.dumps({"file": str(file), "message": message}), flush=True)


if __name__ == "__main__":
    _answer()
