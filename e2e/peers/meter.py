"""What a set of processes used while something ran: CPU seconds and resident memory, from /proc."""

import os
import re

TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    """User plus system time of a process so far; 0 once it has gone."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            fields = f.read().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / TICKS


def resident_mb(pid: int) -> float:
    try:
        with open(f"/proc/{pid}/status") as f:
            found = re.search(r"VmRSS:\s+(\d+)", f.read())
    except OSError:
        return 0.0
    return int(found[1]) / 1024 if found else 0.0


class Meter:
    """`with Meter(pids) as m: ...; m.cpu_s` - CPU seconds that the processes used inside the block."""

    def __init__(self, pids: list[int]):
        self.pids = pids
        self.cpu_s = 0.0

    def __enter__(self):
        self.before = {p: cpu_seconds(p) for p in self.pids}
        return self

    def __exit__(self, *_):
        self.cpu_s = sum(max(0.0, cpu_seconds(p) - self.before[p]) for p in self.pids)
