"""Compares what came out with the data set: nothing lost, nothing invented, order kept per key."""

import collections
import os

import confluent_kafka

import flights


class Report:
    def __init__(self):
        self.wrong = 0

    def line(self, what, got, wanted):
        good = got == wanted
        self.wrong += not good
        mark = "ok " if good else "BAD"
        print(f"  {mark}  {what:<52} {got:>8,}  of {wanted:>8,}")


def reconcile(member_ledgers, cancelled_ledger):
    """Prints the reconciliation; True if everything is right."""
    source = {row["id"]: (flights.key(row), flights.fate(row)) for row in flights.rows()}
    records, again = read_members(member_ledgers)
    ids = collections.Counter(number for _, number, _ in records.values())
    fates = collections.Counter(fate for _, _, fate in records.values())
    wanted = collections.Counter(fate for _, fate in source.values())

    print("\nReconciliation")
    report = Report()
    report.line("flights in the data set", len(source), flights.ROWS)
    report.line("records in the topic, each consumed", len(records), len(source))
    report.line("lost", len(source.keys() - ids.keys()), 0)
    report.line("invented (unknown, or twice in the topic)",
                sum(ids.values()) - len(ids.keys() & source.keys()), 0)
    report.line("under another key or fate than in the data set", strangers(records, source), 0)
    report.line("keys whose order is kept", in_order(records), len({k for k, _ in source.values()}))
    for fate in ("booked", "cancelled", "dead"):
        report.line(fate, fates[fate], wanted[fate])

    worked, redelivered = read_cancelled(cancelled_ledger)
    cancelled = {number for number, (_, fate) in source.items() if fate == "cancelled"}
    report.line("cancelled flights worked from the quorum queue", len(worked & cancelled), len(cancelled))
    report.line("messages in the queue that no flight stands for", len(worked - cancelled), 0)

    letters, uncaused = read_dead_letters()
    dead = {place for place, (_, _, fate) in records.items() if fate == "dead"}
    report.line("dead letters, one for each bad flight", len(letters & dead), len(dead))
    report.line("dead letters that no bad flight stands for", len(letters - dead), 0)
    report.line("dead letters without a cause", uncaused, 0)
    print(f"  (delivered more than once and counted once: {again:,} records, {redelivered:,} messages)")
    return report.wrong == 0


def read_members(ledgers):
    """Records by (partition, offset), in order of offset, and how many came more than once."""
    records, again = {}, 0
    for ledger in ledgers:
        with open(ledger, encoding="utf-8") as lines:
            for line in lines:
                partition, offset, key, number, fate = line.rstrip("\n").split("\t")
                place = (int(partition), int(offset))
                again += place in records
                records[place] = (key, int(number), fate)
    return dict(sorted(records.items())), again


def strangers(records, source):
    return sum(source.get(number) != (key, fate) for key, number, fate in records.values())


def in_order(records):
    """Keys whose flights stand in one partition in the order of the data set."""
    last, home, broken = {}, {}, set()
    for (partition, _), (key, number, _) in records.items():
        if home.setdefault(key, partition) != partition or last.get(key, -1) >= number:
            broken.add(key)
        last[key] = number
    return len(last.keys() - broken)


def read_cancelled(ledger):
    seen, again = set(), 0
    with open(ledger, encoding="utf-8") as lines:
        for line in lines:
            number = int(line.split("\t")[0])
            again += number in seen
            seen.add(number)
    return seen, again


def read_dead_letters():
    """Sources (partition, offset) of all dead letters, and how many carry no cause."""
    consumer = confluent_kafka.Consumer({
        "bootstrap.servers": os.environ["KAFKA"],
        "group.id": "flights-reconciliation",
        "enable.auto.commit": False,
    })
    partitions = consumer.list_topics(flights.DEAD_LETTERS, 30).topics[flights.DEAD_LETTERS].partitions
    letters, uncaused = set(), 0
    for partition in partitions:
        place = confluent_kafka.TopicPartition(flights.DEAD_LETTERS, partition, 0)
        _, end = consumer.get_watermark_offsets(place, 30)
        consumer.assign([place])
        at = 0
        while at < end:
            record = consumer.poll(30)
            if record is None:
                break
            if record.error() is None:
                at = record.offset() + 1
                headers = dict(record.headers() or [])
                uncaused += not headers.get("dlq.cause")
                letters.add((int(headers["dlq.source.partition"]), int(headers["dlq.source.offset"])))
    consumer.close()
    return letters, uncaused
