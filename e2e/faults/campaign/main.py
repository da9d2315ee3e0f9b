"""crash [--seconds 120] [--seed N] [--faults NAME,NAME]: brokers die, hang and are cut off under load; nothing is lost.

Runs three brokers, each in a network of its own; idempotent producers, readers, and publishers with confirms on a quorum and
a classic queue, which write down what they do and see. Meanwhile brokers are killed (SIGKILL), stopped (SIGSTOP) and cut off
from each other in one direction or both, and their disks change bits. In the end everything is killed once more, started,
and read back. Fails when

- the history breaks one of the checker's rules: an acknowledged record is lost, moved, twice or out of order, two clients
  saw different records at one offset, a reader skipped or went back, a confirmed message does not come out of its queue,
- replicas differ in a byte,
- the cluster does not serve while a minority is faulty, or again within --heal seconds of a fault,
- a broker does not start by itself from what its death left, or does not find and mend what its disk changed."""

import argparse
import os
import pathlib
import random
import shutil
import statistics
import sys
import tempfile
import time

import pika
from confluent_kafka.admin import AdminClient, NewTopic

import checker
import faults
import replicas
from brokers import Brokers, Failure, wait_for
from history import History
from load import (DELIVERY_TIMEOUT_S, PARTITIONS, PRODUCERS, QUEUES, READERS, SEGMENT_S, TOPIC, Observing, Producing,
                  Publishing, Reading, drain, read_to_the_end)


def prepare(brokers: Brokers) -> None:
    admin = AdminClient({"bootstrap.servers": brokers.bootstrap()})
    config = {"min.insync.replicas": "2", "segment.ms": str(SEGMENT_S * 1000)}
    new = NewTopic(TOPIC, PARTITIONS, brokers.count, config=config)
    admin.create_topics([new])[TOPIC].result(20)
    connection = pika.BlockingConnection(pika.URLParameters(brokers.amqp(0)))
    for queue in QUEUES:
        connection.channel().queue_declare(queue, durable=True, arguments={"x-queue-type": queue})
    connection.close()


def campaign(brokers: Brokers, history: History, a, dice: random.Random) -> list[str]:
    brokers.start()
    prepare(brokers)
    producing = [Producing(brokers, history, i, a.rate / PRODUCERS) for i in range(PRODUCERS)]
    publishing = [Publishing(brokers, history, q) for q in QUEUES]
    reading = [Reading(brokers, history, f"reader-{i}", f"zone-{i}", random.Random(dice.random())) for i in range(READERS)]
    clients = [*producing, *publishing, *reading, Observing(brokers, history)]
    for client in clients:
        client.start()
    inflicted = faults.Faults(brokers, clients, a.heal, dice)
    until = time.monotonic() + a.seconds
    try:
        wait_for("every partition acknowledges", a.heal, lambda: all(p.acknowledged > PARTITIONS for p in producing))
        turn: list[str] = []
        while time.monotonic() < until:
            # Every fault once before any comes again, in an order of its own each time.
            turn = turn or dice.sample(a.faults, len(a.faults))
            inflicted.inject(turn.pop())
    finally:
        for client in clients:
            client.ended.set()
        for client in clients:
            client.join(DELIVERY_TIMEOUT_S + 10)
    wait_for("all replicas are in sync at the end", a.heal, brokers.whole)
    for broker in range(brokers.count):
        brokers.signal(broker, faults.signal.SIGKILL)
    deaths = brokers.deaths
    wait_for("all brokers are dead", 5, lambda: brokers.deaths >= deaths + brokers.count)
    wait_for("everything serves again after the last death", a.heal, brokers.whole)
    found = read_to_the_end(brokers, history)
    delivered = {queue: drain(brokers, history, queue) for queue in QUEUES}
    wait_for("all replicas are in sync after the last death", a.heal, brokers.whole)
    brokers.stop()
    history.close()
    tell(producing, publishing, found, delivered, inflicted, brokers)
    wrong, events = checker.check(history.path)
    print(f"judged {sum(events.values())} events: {dict(sorted(events.items()))}")
    differing, compared = replicas.differences(brokers.directory / "data")
    print(f"{compared} partitions compared byte by byte over {brokers.count} brokers")
    return wrong + differing + ([] if compared else ["no partition was compared"])


def tell(producing, publishing, found, delivered, inflicted, brokers) -> None:
    refused = sum((p.refused for p in producing), start=producing[0].refused.__class__())
    print(f"{sum(p.sent for p in producing)} records sent, {sum(p.acknowledged for p in producing)} acknowledged, "
          f"{found} found, refused {dict(refused)}, unanswered {sum(p.left for p in producing)}")
    for p in publishing:
        print(f"{p.queue}: {p.sent} sent, {p.confirmed} confirmed, {delivered[p.queue]} delivered, "
              f"failures {dict(p.failures)}")
    print(f"{sum(map(len, inflicted.gaps.values()))} faults, {brokers.deaths} deaths; "
          "longest time in which some partition acknowledged nothing, in seconds:")
    for name, gaps in sorted(inflicted.gaps.items()):
        print(f"  {name:<18} {len(gaps):3} times, median {statistics.median(gaps):5.2f}, worst {max(gaps):5.2f}")


def arguments() -> argparse.Namespace:
    p = argparse.ArgumentParser(prog="crash", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--seconds", type=float, default=120, help="no new fault after this time")
    p.add_argument("--seed", type=int, default=int(time.time()))
    p.add_argument("--faults", default=faults.EVERY, type=lambda names: names.split(","),
                   help="of " + ", ".join(faults.EVERY))
    p.add_argument("--rate", type=float, default=1500, help="records a second")
    p.add_argument("--heal", type=float, default=30, help="seconds within which everything must serve again")
    a = p.parse_args()
    if unknown := set(a.faults) - set(faults.EVERY):
        p.error(f"no fault is called {', '.join(sorted(unknown))}")
    return a


def main() -> int:
    a = arguments()
    print(f"seed {a.seed}, {a.seconds:.0f} s", flush=True)
    directory = pathlib.Path(tempfile.mkdtemp(prefix="crash-"))
    brokers = Brokers(os.environ["MILLRACE"], directory, 3)
    history = History(directory / "history")
    try:
        brokers.network.up()
        brokers.configure()
        wrong = campaign(brokers, history, a, random.Random(a.seed))
    except Failure as e:
        wrong = [str(e)]
    finally:
        try:
            brokers.stop()
        except Failure as e:
            wrong.append(str(e))
        brokers.network.down()
    if wrong:
        print("\n".join(f"FAILED: {w}" for w in wrong) + f"\n(seed {a.seed}; history, logs and data are in {directory})")
        return 1
    shutil.rmtree(directory)
    print("1 passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
