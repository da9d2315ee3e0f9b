"""What many partitions cost: a topic of 12 and one of thousands beside each other on the same servers."""

import time

from meter import Meter, resident_mb
from workloads import fault, kbench

# A created topic is left alone for so long before anything is measured: a tail in memory rests after 10 s.
SETTLE_S = 15


def partitions(server, scale: float) -> dict:
    """W7, on servers started anew: creation, 1 KB records with acks=all into 12 and into 10,000 partitions, what a
    broker costs when nothing happens, before and after that load, and the loss of a broker that leads a third."""
    server.stop()
    server.start()
    count, records = int(10_000 * min(1.0, scale)), int(300_000 * scale)
    rf = min(3, server.nodes)

    def produce(topic: str) -> tuple[float, float]:
        args = ["-topic", topic, "-rf", str(rf), "-size", "1000", "-timeout", "300s", "-records"]
        # The first pass opens files and warms the JIT.
        kbench(server, "produce", *args, str(2 * records))
        with Meter(server.pids()) as m:
            rate = kbench(server, "produce", *args, str(records))["mb_s"]
        return rate, m.cpu_s / (records * 1000 / 1e9)

    def create(prefix: str, partitions: int) -> float:
        args = ["-count", "1", "-partitions", str(partitions), "-prefix", prefix, "-rf", str(rf)]
        return kbench(server, "topics", *args, timeout=600)["usable_s"]

    def resident() -> float:
        return max(resident_mb(p) for p in server.pids())

    create("narrow", 12)
    narrow, narrow_cpu = produce("narrow-0")
    created = create("wide", count)
    time.sleep(SETTLE_S)
    fresh = resident()
    with Meter(server.pids()) as idle:
        time.sleep(20)
    wide, wide_cpu = produce("wide-0")
    time.sleep(SETTLE_S)
    with Meter(server.pids()) as after:
        time.sleep(20)
    row = f"W7 {count} partitions RF {rf}"
    found = {
        f"{row}, created": {"s": created},
        f"{row}, idle": {"CPU % of a core, each": 100 * idle.cpu_s / 20 / server.nodes, "resident MB": fresh},
        f"{row}, idle after load": {"CPU % of a core, each": 100 * after.cpu_s / 20 / server.nodes, "resident MB": resident()},
        f"{row}, produce 1 KB": {"MB/s": wide, "MB/s, of 12 partitions": wide / narrow, "broker CPU s/GB": wide_cpu,
                                 "CPU, of 12 partitions": wide_cpu / narrow_cpu},
    }
    if server.nodes > 1:
        victim = int(kbench(server, "leaders", "-topic", "wide-0")["leaders"]["0"])
        led = kbench(server, "led", "-topic", "wide-0", "-not", str(victim), "-hook", fault(server, "killed", victim))
        found[f"{row}, leader killed"] = {"s until all are served": led["usable_s"]}
    return found
