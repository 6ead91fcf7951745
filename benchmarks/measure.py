"""Seconds and peak memory of a whole command, with all its processes (Linux)."""

import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Cost:
    seconds: float
    peak_bytes: int  # of the resident memory of all processes together

    def row(self) -> str:
        return f"{self.seconds:.1f} s | {self.peak_bytes / 1e9:.1f} GB"


def measure(*command: object) -> Cost:
    start, peak = time.perf_counter(), 0
    process = subprocess.Popen([str(part) for part in command], start_new_session=True, stdout=subprocess.DEVNULL)
    while process.poll() is None:
        peak = max(peak, _resident(process.pid))
        time.sleep(0.1)
    if process.returncode:
        raise SystemExit(f"{command[0]} failed with {process.returncode}")
    return Cost(time.perf_counter() - start, peak)


def _resident(session: int) -> int:
    total = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended since
        if int(fields[3]) == session:
            total += int(fields[21]) * PAGE
    return total
