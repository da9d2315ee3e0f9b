"""The whole example against a running cluster: produce, consume, work the cancelled, reconcile.

Addresses come from the environment: KAFKA (host:port,...), AMQP (amqp://..., ...) and ADMIN
(http://host:port,...; may be absent). Exits with 0 only if the reconciliation is right.

    main.py [--members N] [--work DIR] [--at-half COMMAND]
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.request

import flights
import reconcile

HERE = pathlib.Path(__file__).parent
STALLED_S = 120


class Ledger:
    """Counts the distinct first fields of a growing file."""

    def __init__(self, path, fields):
        self.path, self.fields = path, fields
        self.seen, self.position = set(), 0

    def count(self):
        if self.path.exists():
            with open(self.path, encoding="utf-8") as lines:
                lines.seek(self.position)
                for line in iter(lines.readline, ""):
                    if not line.endswith("\n"):
                        break
                    self.seen.add(tuple(line.split("\t")[:self.fields]))
                    self.position = lines.tell()
        return self.seen


def start(program, *arguments):
    return subprocess.Popen([sys.executable, HERE / program, *map(str, arguments)])


def stop(processes):
    for process in processes:
        process.terminate()
    return [process.wait(120) for process in processes]


def wait_until(what, wanted, count, processes, at=None):
    """Waits until `count()` is `wanted`; calls each `at[n]` once it has passed n. Fails when nothing moves."""
    begun = moved = time.monotonic()
    last, at = 0, dict(at or {})
    while True:
        now = count()
        for mark in [m for m in at if now >= m]:
            at.pop(mark)()
        if now >= wanted:
            print(f"{what}: {now:,} after {time.monotonic() - begun:.1f} s", flush=True)
            return
        if now != last:
            last, moved = now, time.monotonic()
        if time.monotonic() - moved > STALLED_S:
            sys.exit(f"{what}: stuck at {now:,} of {wanted:,}")
        if any(process.poll() not in (None, 0) for process in processes):
            sys.exit(f"{what}: a program of the example failed at {now:,} of {wanted:,}")
        time.sleep(0.2)


def dead_letters_counted():
    """Dead letters as the brokers' /metrics count them, or None without ADMIN."""
    if not os.environ.get("ADMIN"):
        return None
    total = 0
    for address in os.environ["ADMIN"].split(","):
        try:
            with urllib.request.urlopen(f"{address}/metrics", timeout=10) as page:
                for line in page.read().decode().splitlines():
                    if line.startswith("millrace_dead_letter_topic_records_total{") \
                            and f'topic="{flights.DEAD_LETTERS}"' in line:
                        total += int(float(line.split("}")[1].split()[0]))
        except OSError as error:
            print(f"{address} gives no metrics: {error}", file=sys.stderr)
    return total


def lag():
    """Lag of the group as the cluster sees it, or None without ADMIN."""
    for address in filter(None, os.environ.get("ADMIN", "").split(",")):
        try:
            with urllib.request.urlopen(f"{address}/v1/groups/{flights.GROUP}", timeout=10) as page:
                return json.load(page)["lag_records"]
        except OSError:
            continue
    return None


def run(options, work):
    members = [Ledger(work / f"member-{n}.tsv", 2) for n in range(options.members)]
    cancelled = Ledger(work / "cancelled.tsv", 1)
    before = dead_letters_counted()
    wanted = sum(flights.is_cancelled(row) for row in flights.rows())

    worker = start("cancelled.py", cancelled.path)
    consumers = [start("consume.py", member.path) for member in members]
    producer = start("produce.py")
    everybody = [worker, producer, *consumers]
    try:
        at = {flights.ROWS // 2: lambda: subprocess.run(options.at_half, shell=True, check=True)} \
            if options.at_half else {}
        wait_until("flights consumed", flights.ROWS,
                   lambda: len(set().union(*(member.count() for member in members))), everybody, at)
        if producer.wait(180) != 0:
            sys.exit("the producer failed")
        wait_until("cancelled flights worked", wanted, lambda: len(cancelled.count()), everybody)
        if any(stop([worker, *consumers])):
            sys.exit("a program of the example did not end well")
    finally:
        for process in everybody:
            process.kill()

    good = reconcile.reconcile([member.path for member in members], cancelled.path)
    if before is not None:
        print(f"  dead letters counted by /metrics: {before:,} before, {dead_letters_counted():,} after")
        print(f"  lag of group {flights.GROUP}: {lag()}")
        good = good and (dead_letters_counted() > before or bool(options.at_half))
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--members", type=int, default=3)
    parser.add_argument("--work", type=pathlib.Path, help="where ledgers go and stay")
    parser.add_argument("--at-half", help="run once half of the flights are consumed")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        work = options.work or pathlib.Path(scratch)
        work.mkdir(parents=True, exist_ok=True)
        good = run(options, work)
    print("everything is accounted for" if good else "SOMETHING IS WRONG", flush=True)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
