"""The fuzz targets of the readers of files at full count: cells of soaks.

A run of a target ends after 25 minutes. Its corpus and the number of its executions stay in build/soak, and the next run
continues there. A change of the reader starts the count again."""

import json
import os
import re
import subprocess
from pathlib import Path

from tools import suite
from tools.evidence import Figure, Unfinished

ROOT = Path(__file__).resolve().parents[1]
SOAK = ROOT / "build" / "soak"
EXECUTIONS = 10_000_000
SECONDS = 25 * 60
# The sources of the reader that each target of tests/fuzz runs.
READERS = {
    "load_index": ("src/search/make_index.cpp", "src/search/auto_index.cpp", "src/search/exact/exact_format.cpp",
                   "src/search/graph/format.cpp"),
    "load_store": ("src/store/store_format.cpp",),
    "load_checkpoint": ("src/nn/training/checkpoint.cpp",),
    "read_idx": ("src/nn/data/idx.cpp",),
    "read_npy": ("src/nn/data/npy.cpp",),
    "read_csv": ("src/nn/data/csv.cpp",),
    "read_pnm": ("src/nn/data/pnm.cpp",),
    "read_safetensors": ("src/nn/data/safetensors.cpp", "src/nn/text/json_value.cpp"),
    "read_tokenizer": ("src/nn/text/tokenizer_json.cpp", "src/nn/text/added_tokens.cpp", "src/nn/text/word_piece.cpp",
                       "src/nn/text/unicode.cpp"),
    "read_bert_config": ("src/nn/text/bert_config.cpp", "src/nn/text/config_fields.cpp"),
    "read_memory_snapshot": ("src/memory/snapshot_read.cpp",),
    "read_allocation_log": ("src/memory/log.cpp",),
    "parse_ir": ("src/kernel/ir/text.cpp", "src/kernel/ir/verify.cpp"),
    "load_settings": ("src/base/settings.cpp",),
    "read_cache_entry": ("src/kernel/cache/disk_cache.cpp", "src/plan/profile_store.cpp"),
}


def reader_commit(target: str) -> str:
    """The last commit that changed the reader."""
    command = ["git", "-c", "safe.directory=*", "log", "-1", "--format=%h", "--", *READERS[target]]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def findings(target: str) -> list[Path]:
    """The inputs with which the reader failed."""
    return sorted(SOAK.glob(f"{target}-*"))


def environment() -> dict[str, str]:
    """That of sanitizers, without the detection of returned stack frames, which a few seconds of fuzzing in ctest have:
    after each exception it looks through all frames, and takes two thirds of the time of readers that reject."""
    sanitizer = suite.sanitizer_environment()
    options = sanitizer["ASAN_OPTIONS"].replace("detect_stack_use_after_return=1", "detect_stack_use_after_return=0")
    return {**os.environ, **sanitizer, "ASAN_OPTIONS": options}


def run(target: str, *arguments: object) -> subprocess.CompletedProcess:
    command = [ROOT / "build" / "asan" / "bin" / f"{target}_fuzz", *arguments]
    return subprocess.run([str(word) for word in command], cwd=ROOT, stderr=subprocess.PIPE, text=True,
                          errors="replace", env=environment(), check=False)


def retry_findings(target: str) -> None:
    """Moves inputs with which the reader no longer fails to the corpus."""
    for finding in findings(target):
        if run(target, finding).returncode == 0:
            finding.rename(SOAK / target / finding.name)


def execute(target: str, executions: int) -> int:
    """Fuzzes until the executions or the seconds are over, or the reader fails; returns the executions."""
    done = run(target, f"-runs={executions}", f"-max_total_time={SECONDS}", "-max_len=4096", "-print_final_stats=1",
               f"-artifact_prefix={SOAK}/{target}-", SOAK / target)
    print(done.stderr[-3000:], flush=True)
    if done.returncode != 0 and not findings(target):
        raise SystemExit(f"soak: {target}_fuzz ended with {done.returncode} and wrote no input")
    executed = re.search(r"stat::number_of_executed_units:\s*(\d+)", done.stderr)
    return int(executed.group(1)) if executed else 0


def fuzz(target: str, executions: int = EXECUTIONS) -> list[Figure]:
    suite.build("asan", f"{target}_fuzz")
    (SOAK / target).mkdir(parents=True, exist_ok=True)
    retry_findings(target)
    reader, record = reader_commit(target), SOAK / f"{target}.json"
    before = json.loads(record.read_text()) if record.is_file() else {}
    total = before["executions"] if before.get("reader") == reader else 0
    if total < executions and not findings(target):
        total += execute(target, executions - total)
        record.write_text(json.dumps({"reader": reader, "executions": total}))
    name = f"of the fuzzer of {target}, reader of commit {reader}"
    figures = [Figure.measured(f"executions {name}", total, "executions", f">= {executions}"),
               Figure.measured(f"findings {name}", len(findings(target)), "findings", "== 0")]
    if not all(figure.met for figure in figures):
        raise Unfinished(figures)
    return figures
