"""What many partitions cost: a topic of 12 and one of thousands beside each other on the same servers."""

import json
import time

from meter import Meter, resident_mb
from servers import script


def kbench(*args: str) -> dict:
    return json.loads(script("kbench", *args, timeout=600).strip().splitlines()[-1])


def partitions(server, count: int, records: int, idle_s: float = 20) -> dict:
    """On `server`, which runs: creation, 1 KB records with acks=all into 12 and into `count` partitions, what
    a server costs when nothing happens, and the loss of a broker."""
    everywhere = ["-brokers", server.bootstrap, "-rf", str(min(3, server.nodes))]

    def produce(topic: str) -> dict:
        args = ["produce", *everywhere, "-topic", topic, "-size", "1000", "-records"]
        # The first pass opens files and warms the JIT.
        kbench(*args, str(2 * records))
        with Meter(server.pids()) as m:
            rate = kbench(*args, str(records))["mb_s"]
        return {"MB/s": rate, "broker CPU s/GB": m.cpu_s / (records * 1000 / 1e9)}

    kbench("topics", *everywhere, "-count", "1", "-partitions", "12", "-prefix", "narrow")
    narrow = produce("narrow-0")
    created = kbench("topics", *everywhere, "-count", "1", "-partitions", str(count), "-prefix", "wide")
    # Once nothing of the creation is left to do; before records are in memory.
    time.sleep(10)
    with Meter(server.pids()) as idle:
        time.sleep(idle_s)
    resident = max(resident_mb(p) for p in server.pids())
    wide = produce("wide-0")
    found = {
        "partitions": count,
        "created s": created["usable_s"],
        "idle CPU % of a core": 100 * idle.cpu_s / idle_s / server.nodes,
        "idle resident MB": resident,
        "12 partitions": narrow,
        f"{count} partitions": wide,
        "throughput kept": wide["MB/s"] / narrow["MB/s"],
    }
    if server.nodes > 1:
        leaders = kbench("leaders", "-brokers", server.bootstrap, "-topic", "wide-0")["leaders"]
        victim = leaders["0"]
        led = kbench(
            "led", "-brokers", server.bootstrap, "-topic", "wide-0", "-not", str(victim),
            "-hook", server.kill_command(victim),
        )
        if led["hook_err"]:
            raise RuntimeError(led["hook_err"])
        found["failed over s"] = led["usable_s"]
    return found
