"""Counts, by callgrind, what the profiler's hook costs a call when nobody looks: one branch and few instructions.

    overhead.py WITH_HOOK WITHOUT_HOOK BACKEND_FOLDER

Both programs are launch_path.cpp; the second was compiled without the hook. Prints a line for each kind of work.
"""

import os
import re
import subprocess
import sys
import tempfile

KINDS = ["launch", "operation", "fill"]
SKIPPED = 77  # ctest's SKIP_RETURN_CODE
RUNS = 3
BRANCHES_MAX = 1
INSTRUCTIONS_MAX = 16  # a load, a test and the branch, and the registers the compiler saves and moves for them


def min_counts(program: str, kind: str, folder: str) -> tuple[float, float]:
    """The least of several runs: a thread that happens to wait for a lock adds instructions that are not the hook's."""
    runs = [counts(program, kind, folder) for _ in range(RUNS)]
    return min(run[0] for run in runs), min(run[1] for run in runs)


def counts(program: str, kind: str, folder: str) -> tuple[float, float]:
    """Instructions and conditional branches of one call."""
    with tempfile.NamedTemporaryFile(prefix="callgrind.") as output:
        command = ["valgrind", "--vgdb=no", "--tool=callgrind", "--branch-sim=yes", "--collect-atstart=no",
                   "--toggle-collect=counted", f"--callgrind-out-file={output.name}", program, kind, folder]
        environment = {**os.environ, "OCL_ICD_VENDORS": "/nonexistent"}  # a driver takes seconds to load under valgrind
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        if done.returncode != 0:
            print(f"{' '.join(command)} ended with {done.returncode}\n{done.stdout}\n{done.stderr}", flush=True)
            subprocess.run([program, kind, folder], env=environment, check=True)
            print("skipped: the program runs, but not under this machine's valgrind", flush=True)
            sys.exit(SKIPPED)
        functions = subprocess.run(["callgrind_annotate", "--threshold=100", "--auto=no", "--show=Ir,Bc", output.name],
                                   capture_output=True, text=True, check=True).stdout
    instructions, branches = sum_of_functions(functions)
    if instructions == 0:
        sys.exit(f"callgrind counted nothing:\n{functions}")
    calls = int(done.stdout)
    return instructions / calls, branches / calls


def sum_of_functions(annotated: str) -> tuple[int, int]:
    """The self costs of all functions but memcmp.

    The null backend compares strings; how many branches memcmp takes depends on whether an address is near the end of
    a page, and the addresses differ between the two programs and between machines.
    """
    instructions = branches = 0
    for line in annotated.splitlines():
        cost = re.match(r"\s*([\d,.]+) (?:\([ \d.]+%\))?\s+([\d,.]+) (?:\([ \d.]+%\))?\s+(\S+:.*)", line)
        if cost is None or "memcmp" in cost[3]:
            continue
        instructions += int(re.sub(r"\D", "", cost[1]) or 0)
        branches += int(re.sub(r"\D", "", cost[2]) or 0)
    return instructions, branches


def main() -> None:
    with_hook, without_hook, folder = sys.argv[1:]
    failed = False
    for kind in KINDS:
        instructions, branches = min_counts(with_hook, kind, folder)
        bare_instructions, bare_branches = min_counts(without_hook, kind, folder)
        more = instructions - bare_instructions
        more_branches = branches - bare_branches
        print(f"{kind}: {instructions:.1f} instructions with the hook, {bare_instructions:.1f} without: {more:+.2f}, "
              f"conditional branches {more_branches:+.2f}", flush=True)
        failed |= more_branches > BRANCHES_MAX + 0.01 or more > INSTRUCTIONS_MAX + 0.01
        if branches == 0 or instructions == bare_instructions:
            sys.exit(f"{kind}: the hook cost nothing at all; the two programs are the same, or it was not called")
    if failed:
        sys.exit(f"the hook may cost a call {BRANCHES_MAX} branch and {INSTRUCTIONS_MAX} instructions when nobody looks")


if __name__ == "__main__":
    main()
