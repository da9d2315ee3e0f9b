"""The rows of a comparison: what is done to a server, and what is measured. Each returns {row: {unit: figure}}.

A run whose client reports an error, or does not get back what it put in, does not count: it raises."""

import os
import shlex
import statistics
import subprocess
import tempfile
import time

from meter import Meter, resident_mb
from servers import last_json, script

# Long enough for Kafka, which waits 9 s for a broker that hangs.
PAUSE_S = 15


def kbench(server, mode: str, *args: str, timeout: float = 300) -> dict:
    found = last_json(script("kbench", mode, "-brokers", server.bootstrap, *args, timeout=timeout))
    if found.get("errors") or found.get("complete") is False or found.get("hook_err"):
        raise RuntimeError(f"{server.name}: {mode} {args}: {found}")
    return found


def producing(server, name: str, records: int, size: int, *more: str) -> dict:
    """RF 3, acks=all, 12 partitions; the first pass, twice as long, warms the JIT and is not counted."""
    args = ["-rf", str(min(3, server.nodes)), "-size", str(size), *more, "-topic"]
    kbench(server, "produce", *args, f"{name}-warm", "-records", str(2 * records))
    with Meter(server.pids()) as m:
        r = kbench(server, "produce", *args, name, "-records", str(records))
    return {"MB/s": r["mb_s"], "records/s": r["msgs_s"], "broker CPU s/GB": m.cpu_s / (records * size / 1e9),
            "broker CPU s/M records": m.cpu_s / (records / 1e6)}


def produce(server, scale: float) -> dict:
    return {"W1 produce 1 KB RF 3 acks=all": producing(server, "w1", int(300_000 * scale), 1000)}


def small(server, scale: float) -> dict:
    return {"W2 produce 100 B RF 3 acks=all": producing(server, "w2", int(1_000_000 * scale), 100)}


def compressed(server, scale: float) -> dict:
    return {f"W4 produce 1 KB {codec} RF 3 acks=all":
            producing(server, f"w4-{codec}", int(300_000 * scale), 1000, "-compression", codec, "-payload", "json")
            for codec in ("lz4", "zstd")}


def fanout(server, scale: float) -> dict:
    """20 MB/s that 1, 10 groups read along, 4 MB/s for 50: the clients share the machine."""
    found = {}
    for groups, rate in ((1, 20_000), (10, 10_000), (50, 2_000)):
        topic = f"w5-{groups}"
        seconds = max(2, int(8 * scale))
        with Meter(server.pids()) as m:
            r = kbench(server, "fanout", "-topic", topic, "-rf", "1", "-groups", str(groups), "-rate", str(rate),
                       "-duration", f"{seconds}s", "-timeout", "120s")
        found[f"W5 {groups} groups read along"] = {"broker CPU s/GB out": m.cpu_s / r["delivered_gb"], "MB/s": r["mb_s"]}
    return found


def latency(server, scale: float) -> dict:
    found = {}
    for rate in (5_000, 10_000):
        args = ["-topic", f"w10-{rate}", "-rf", str(min(3, server.nodes)), "-rate", str(rate), "-linger", "0s"]
        kbench(server, "latency", *args, "-duration", f"{max(4, int(8 * scale))}s")
        r = kbench(server, "latency", *args, "-duration", f"{max(5, int(12 * scale))}s")
        found[f"W10 end to end at {rate}/s, 1 KB RF 3"] = {"p50 ms": r["e2e"]["p50_ms"], "p99 ms": r["e2e"]["p99_ms"]}
    return found


def catch_up(server, scale: float) -> dict:
    """Old records are read from the disk while 20 MB/s are produced to another topic."""
    records = int(4_000_000 * scale)
    kbench(server, "produce", "-topic", "w6-old", "-rf", "1", "-records", str(records), timeout=900)
    args = ["-topic", "w6-new", "-rf", "1", "-rate", "20000"]
    quiet = kbench(server, "latency", *args, "-duration", "12s")
    subprocess.run(["sync"], check=True)
    with open("/proc/sys/vm/drop_caches", "w") as f:
        f.write("3")
    with tempfile.TemporaryFile("w+") as out:
        reading = subprocess.Popen([os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin/kbench"), "consume",
                                    "-brokers", server.bootstrap, "-topic", "w6-old", "-timeout", "300s"], stdout=out)
        busy = kbench(server, "latency", *args, "-duration", "12s")
        if reading.wait(300):
            raise RuntimeError(f"{server.name}: old records were not read to their end")
        out.seek(0)
        read = last_json(out.read())
    return {"W6 cold read beside 20 MB/s": {"MB/s": read["mb_s"], "produce p99 ms meanwhile": busy["ack"]["p99_ms"],
                                            "produce p99, of its quiet value": busy["ack"]["p99_ms"] / quiet["ack"]["p99_ms"]}}


def outages(server, scale: float) -> dict:
    """Longest time without an acknowledged produce over the partitions that the fault concerns."""
    kbench(server, "produce", "-topic", "x1", "-rf", "3", "-records", str(int(200_000 * scale)))
    found = {}
    for how, whom in (("killed", "leader"), ("killed", "follower"), ("killed", "controller"),
                      ("paused", "leader"), ("paused", "controller")):
        state = kbench(server, "leaders", "-topic", "x1")
        leaders = {int(p): broker for p, broker in state["leaders"].items()}
        controller = state["quorum_leader"]
        victim = controller if whom == "controller" else next(b for b in leaders.values() if b != controller)
        r = kbench(server, "failover", "-topic", "x1", "-fast-metadata", "-patience", "500ms", "-rate", "50",
                   "-hook-after", "3s", "-duration", "22s", "-hook", fault(server, how, victim), timeout=120)
        # A follower is of concern to those whose leader lives.
        rows = [row["max_gap_s"] for row in r["rows"] if (row["old_leader"] == victim) == (whom != "follower")]
        found[f"X1 {whom} {how}"] = {"s without ack": max(rows)}
        server.revive(victim)
        kbench(server, "wait", "-n", str(server.nodes), "-topic", "x1-ready", timeout=120)
        server.whole("x1")
    return found


def fault(server, how: str, broker: int) -> str:
    pid = server.pid(broker)
    if how == "killed":
        return f"kill -9 {pid}"
    later = shlex.quote(f"sleep {PAUSE_S}; kill -CONT {pid}")
    return f"kill -STOP {pid}; setsid sh -c {later} >/dev/null 2>&1 &"


def idle(server, scale: float) -> dict:
    time.sleep(8)
    before = Meter(server.pids())
    with before as m:
        time.sleep(10 * min(1.0, scale))
    return {"X2 idle broker, resident": {"MB": statistics.mean(resident_mb(p) for p in server.pids())},
            "X2 idle brokers": {"CPU % of a core, each": m.cpu_s / (10 * min(1.0, scale)) * 100 / server.nodes}}


def unclean(server, scale: float) -> dict:
    """10 GB in one broker that is killed: from its next start to the first acknowledged produce."""
    kbench(server, "produce", "-topic", "x2", "-rf", "1", "-records", str(int(10_000_000 * scale)), timeout=900)
    return {f"X2 start over {10 * scale:.0f} GB after kill -9": {"s": server.kill_and_start()}}


def floor() -> dict:
    """CPU seconds that kernel and memory ask for, whoever the server is: see `kbench floor`."""
    r = last_json(script("kbench", "floor"))
    hop, store = r["loopback_cpu_s_gb"], r["append_cpu_s_gb"] + r["crc_cpu_s_gb"]
    return {"W1, W2 produce RF 3 (half a client hop, 2 hops, 3 stores)": f"{2.5 * hop + 3 * store:.2f} broker CPU s/GB",
            "W5 a group more (half a hop)": f"{hop / 2:.2f} broker CPU s/GB out",
            "W10 end to end (4 hops, 3 of them by another thread)": f"{2 * r['round_trip']['p50_ms']:.3f} ms at p50",
            "fdatasync of 4 KiB": f"{r['fdatasync']['p50_ms']:.2f} ms at p50"}


# Those on three brokers in the order in which one cluster goes through them, and those on one.
THREE = {"idle": idle, "produce": produce, "small": small, "compressed": compressed, "fanout": fanout,
         "latency": latency, "outages": outages}
ONE = {"catch-up": catch_up, "unclean": unclean}
