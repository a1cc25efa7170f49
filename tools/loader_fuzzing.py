"""The full-count run of the index loader's fuzz target, a cell of index soaks."""

import os
import re
import subprocess
from pathlib import Path

from tools import suite
from tools.evidence import Figure

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"
EXECUTIONS = 10_000_000


def loader() -> list[Figure]:
    suite.build("asan")
    corpus = BUILD / "soak" / "load_index"
    corpus.mkdir(parents=True, exist_ok=True)
    command = [BUILD / "asan" / "bin" / "load_index_fuzz", f"-runs={EXECUTIONS}", "-max_len=4096",
               "-print_final_stats=1", f"-artifact_prefix={corpus.parent}/load_index-", corpus]
    done = subprocess.run([str(word) for word in command], cwd=ROOT, stderr=subprocess.PIPE, text=True,
                          errors="replace", env={**os.environ, **suite.sanitizer_environment()}, check=False)
    print(done.stderr[-3000:], flush=True)
    executed = re.search(r"stat::number_of_executed_units:\s*(\d+)", done.stderr)
    return [Figure.measured("executions of the loader's fuzzer", int(executed.group(1)) if executed else 0,
                            "executions", f">= {EXECUTIONS}"),
            Figure.measured("findings of the loader's fuzzer", int(done.returncode != 0), "findings", "== 0")]
