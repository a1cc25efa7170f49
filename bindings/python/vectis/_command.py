"""The command `vectis` of the wheel: the program in _install/bin."""

import os
import sys
from pathlib import Path
from typing import NoReturn


def main() -> NoReturn:
    program = str(Path(__file__).with_name("_install") / "bin" / "vectis")
    os.execv(program, [program, *sys.argv[1:]])
