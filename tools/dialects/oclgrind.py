"""Every OpenCL kernel once under Oclgrind, with checks of races and bounds, one launch at a time.

Oclgrind ends with 0 whatever it finds, so its log decides.
"""

import os
import re
import subprocess
from pathlib import Path

from tools.dialects.kernels import Outcome
from tools.dialects.programs import plugins_of

DRIVER = "/usr/lib/oclgrind/liboclgrind-rt-icd.so"

def environment(folder: Path, log: Path) -> dict[str, str]:
    """What makes the OpenCL loader use Oclgrind alone."""
    driver = folder / "oclgrind.icd"
    driver.write_text(DRIVER + "\n")
    # No check of uninitialised values: Oclgrind 21.10 keeps the old size for a buffer that takes a released one's place,
    # and takes what lies beyond it for uninitialised.
    return {"OCL_ICD_VENDORS": str(driver), "OCLGRIND_DATA_RACES": "1", "OCLGRIND_MAX_ERRORS": "20",
            "OCLGRIND_LOG": str(log)}


def findings(log: str) -> list[str]:
    """The findings of a log: each begins at the margin, and its details are indented. An empty log has none."""
    return [part.strip() for part in re.split(r"\n(?=\S)", "\n" + log) if part.strip()]


def run(program: Path, folder: Path, options: list[str]) -> Outcome:
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "oclgrind.log"
    log.write_text("")
    env = {**os.environ, **plugins_of(program), **environment(folder, log)}
    spoken = folder / "launches.log"  # written as it goes, so that a long run can be watched
    with spoken.open("w") as out:
        done = subprocess.run([program, "launch", *options], stdout=out, stderr=subprocess.PIPE, text=True, env=env,
                              errors="replace", check=False)
    lines = spoken.read_text(errors="replace").splitlines()
    launches = [line.removeprefix("launch ") for line in lines if line.startswith("launch ")]
    kernels = next((line.split()[-1] for line in lines if line.startswith("built-in kernels")), "some")
    outcome = Outcome("Oclgrind", f"{kernels} kernels", len(launches))
    for line in lines:
        if line.startswith("failed "):
            outcome.failed("launch", line)
    if done.returncode != 0 and not outcome.failures:
        outcome.failed(launches[-1] if launches else "launch", f"ended with {done.returncode}: {done.stderr[-2000:]}")
    for finding in findings(log.read_text(errors="replace")):
        outcome.failed("finding", finding)
    return outcome
