"""CUDA C++ by NVRTC, which needs no GPU."""

import ctypes
from pathlib import Path

from tools.dialects.kernels import Manifest, Outcome, Text, batches, module

ARCHITECTURES = ("sm_75", "sm_80", "sm_90", "sm_100", "sm_120")
OLD_ARCHITECTURES = ("sm_70",)  # CUDA 13 refuses them, CUDA 12 compiles for them


class CannotCompile(Exception):
    """The compiler's log."""


class Nvrtc:
    def __init__(self, library: Path):
        self._library = ctypes.CDLL(str(library))

    def compile(self, text: str, options: list[str]) -> str | None:
        """The compiler's log when it failed, otherwise nothing."""
        try:
            self.machine_code(text, options)
        except CannotCompile as reason:
            return str(reason)
        return None

    def machine_code(self, text: str, options: list[str]) -> tuple[bytes, str]:
        """The cubin, and the compiler's log."""
        program = ctypes.c_void_p()
        created = self._library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None)
        if created != 0:
            raise CannotCompile(f"nvrtcCreateProgram gave {created}")
        words = [option.encode() for option in options]
        try:
            failed = self._library.nvrtcCompileProgram(program, len(words), (ctypes.c_char_p * len(words))(*words))
            log = self._bytes(program, "ProgramLog").rstrip(b"\0").decode(errors="replace")
            if failed != 0:
                raise CannotCompile(log)
            return self._bytes(program, "CUBIN"), log
        finally:
            self._library.nvrtcDestroyProgram(ctypes.byref(program))

    def _bytes(self, program: ctypes.c_void_p, what: str) -> bytes:
        size = ctypes.c_size_t()
        self._library[f"nvrtcGet{what}Size"](program, ctypes.byref(size))
        content = ctypes.create_string_buffer(size.value)
        self._library[f"nvrtcGet{what}"](program, content)
        return content.raw


def run(manifest: Manifest, library: Path, old_library: Path) -> list[Outcome]:
    new, old = Nvrtc(library), Nvrtc(old_library)
    return [*(_target(manifest, new, architecture) for architecture in ARCHITECTURES),
            *(_target(manifest, old, architecture) for architecture in OLD_ARCHITECTURES)]


def _target(manifest: Manifest, compiler: Nvrtc, architecture: str) -> Outcome:
    texts = [text for text in manifest.of("cuda-c++") if text.runs_on(architecture)]
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
