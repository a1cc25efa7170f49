"""CUDA C++ by NVRTC, which needs no GPU."""

import ctypes
from pathlib import Path

from tools.dialects.kernels import Manifest, Outcome, Text, batches, module

ARCHITECTURES = ("sm_75", "sm_80", "sm_90", "sm_100", "sm_120")


class Nvrtc:
    def __init__(self, library: Path):
        self._library = ctypes.CDLL(str(library))

    def compile(self, text: str, options: list[str]) -> str | None:
        """What the compiler said when it failed, else nothing."""
        program = ctypes.c_void_p()
        created = self._library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None)
        if created != 0:
            return f"nvrtcCreateProgram gave {created}"
        words = [option.encode() for option in options]
        try:
            if self._library.nvrtcCompileProgram(program, len(words), (ctypes.c_char_p * len(words))(*words)) == 0:
                return None
            size = ctypes.c_size_t()
            self._library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
            log = ctypes.create_string_buffer(size.value)
            self._library.nvrtcGetProgramLog(program, log)
            return log.value.decode(errors="replace")
        finally:
            self._library.nvrtcDestroyProgram(ctypes.byref(program))


def run(manifest: Manifest, library: Path) -> list[Outcome]:
    compiler = Nvrtc(library)
    return [_target(manifest, compiler, architecture) for architecture in ARCHITECTURES]


def _target(manifest: Manifest, compiler: Nvrtc, architecture: str) -> Outcome:
    texts = manifest.of("cuda-c++")
    outcome = Outcome("NVRTC", architecture, len(texts))
    options = [f"--gpu-architecture={architecture}", *manifest.options("cuda-c++")]

    def one_by_one(batch: list[Text]) -> None:
        for text in batch:
            message = compiler.compile(text.file.read_text(), options)
            if message is not None:
                outcome.failed(text.kernel, message)

    for batch in batches(texts, 25):
        if compiler.compile(module(batch), options) is not None:
            one_by_one(batch)
    return outcome
