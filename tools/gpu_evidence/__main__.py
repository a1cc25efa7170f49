"""`python3 -m tools.gpu_evidence`: compiles the hot kernels for GPUs that are not here, reads the machine code, and
writes docs/gpu-evidence.md and the tables of `vectis report`; `--check` only compares. Fails when a hot kernel spills."""

import argparse
import sys
from pathlib import Path

from tools.dialects import environment
from tools.gpu_evidence import collect, page, table

PAGE = Path("docs") / "gpu-evidence.md"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python3 -m tools.gpu_evidence", description=__doc__)
    parser.add_argument("--program", type=Path, default=environment.ROOT / "build" / "release" / "bin" / "vectis-kernels")
    parser.add_argument("--folder", type=Path, default=environment.ROOT / "build" / "gpu-evidence")
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a file would change")
    asked = parser.parse_args()
    evidence = collect.collect(asked.program, asked.folder)
    current = True
    for name, text in {PAGE: page.write(evidence), **table.write(evidence)}.items():
        target = environment.ROOT / name
        current = current and target.is_file() and target.read_text() == text
        if not asked.check:
            target.write_text(text)
    print(f"gpu_evidence: {len(evidence.kernels)} kernels, {len(evidence.rows)} compilations, {PAGE} and tables "
          f"{'are current' if current else 'differ' if asked.check else 'written'}")
    for row in evidence.unexplained():
        print(f"gpu_evidence: {row.label} for {row.architecture} spills", file=sys.stderr)
    return 1 if evidence.unexplained() or (asked.check and not current) else 0


if __name__ == "__main__":
    sys.exit(main())
