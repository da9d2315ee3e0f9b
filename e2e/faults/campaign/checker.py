"""Judges a history: is every acknowledged record where it was acknowledged, once, in order, and the same to everybody?

`python checker.py FILE` judges one that was kept. Memory: 16 bytes a record."""

import array
import collections
import sys

# A record is its producer and number in one integer; 0 is an offset of which nothing was heard.
NUMBER_BITS = 40
SHOWN = 3


def record(producer: str, n: str) -> int:
    return (int(producer) + 1) << NUMBER_BITS | int(n)


def named(value: int) -> str:
    return f"record {value & (1 << NUMBER_BITS) - 1} of producer {(value >> NUMBER_BITS) - 1}"


class Violations:
    """How often each rule was broken, and the first few times."""

    def __init__(self):
        self.count, self.first = collections.Counter(), collections.defaultdict(list)

    def add(self, rule: str, what: str) -> None:
        self.count[rule] += 1
        if len(self.first[rule]) < SHOWN:
            self.first[rule].append(what)

    def lines(self) -> list[str]:
        return [f"{rule}: {self.count[rule]}, the first: " + "; ".join(self.first[rule]) for rule in self.count]


class Offsets:
    """Which record is at which offset of one partition, as far as told."""

    def __init__(self):
        self.at = array.array("Q")

    def get(self, offset: int) -> int:
        return self.at[offset] if offset < len(self.at) else 0

    def put(self, offset: int, value: int) -> None:
        if offset >= len(self.at):
            self.at.extend(bytes(offset + 1 - len(self.at)))
        self.at[offset] = value


class Checker:
    def __init__(self):
        self.found = Violations()
        self.sent: dict[int, int] = {}
        self.known = collections.defaultdict(Offsets)
        self.acknowledged = collections.defaultdict(Offsets)
        self.final = collections.defaultdict(Offsets)
        # Acknowledged without an offset: the client met a refusal that told it that the record is there already.
        self.somewhere = collections.defaultdict(set)
        self.position: dict[tuple[str, str], int] = {}
        self.ends: dict[str, int] = {}
        self.published: dict[str, int] = {}
        self.confirmed, self.delivered = collections.defaultdict(set), collections.defaultdict(set)
        self.events = collections.Counter()

    def take(self, line: str) -> None:
        kind, *rest = line.split()
        self.events[kind] += 1
        getattr(self, "on_" + kind)(*rest)

    def on_send(self, producer, n):
        self.sent[int(producer)] = int(n)

    def on_refuse(self, *_):
        pass

    def on_ack(self, producer, partition, n, offset):
        value = record(producer, n)
        if offset == "None":
            self.somewhere[partition].add(value)
            return
        self.same(partition, int(offset), value, "acknowledged")
        before = self.acknowledged[partition].get(int(offset))
        if before:
            self.found.add("two records acknowledged at one offset",
                           f"{partition}@{offset}: {named(before)} and {named(value)}")
        self.acknowledged[partition].put(int(offset), value)

    def on_seek(self, reader, partition):
        self.position.pop((reader, partition), None)

    def on_read(self, reader, partition, offset, producer, n):
        offset = int(offset)
        due = self.position.get((reader, partition))
        if due is not None and offset != due:
            rule = "a reader skipped records" if offset > due else "a reader went back"
            self.found.add(rule, f"{partition}: {offset} where {due} was due")
        self.position[reader, partition] = offset + 1
        self.was_sent(partition, offset, producer, n)
        self.same(partition, offset, record(producer, n), f"read by {reader}")

    def on_end(self, partition, offset):
        before = self.ends.get(partition, 0)
        if int(offset) < before:
            self.found.add("the end of a partition went back", f"{partition}: {offset} after {before}")
        self.ends[partition] = max(before, int(offset))

    def on_final(self, partition, offset, producer, n):
        self.was_sent(partition, int(offset), producer, n)
        self.final[partition].put(int(offset), record(producer, n))

    def on_publish(self, queue, n):
        self.published[queue] = int(n)

    def on_confirm(self, queue, n):
        self.confirmed[queue].add(int(n))

    def on_deliver(self, queue, n):
        if int(n) > self.published.get(queue, -1):
            self.found.add("a message that nobody sent", f"{queue}: {n}")
        self.delivered[queue].add(int(n))

    def was_sent(self, partition, offset, producer, n):
        if int(n) > self.sent.get(int(producer), -1):
            self.found.add("a record that nobody sent", f"{partition}@{offset}: {named(record(producer, n))}")

    def same(self, partition, offset, value, how):
        """Whatever anybody was told of an offset stays true for everybody."""
        before = self.known[partition].get(offset)
        if before and before != value:
            self.found.add("one offset, two records", f"{partition}@{offset}: {named(value)} {how}, {named(before)} before")
        self.known[partition].put(offset, value)

    def finish(self) -> list[str]:
        for partition in self.known.keys() | self.final.keys() | self.somewhere.keys():
            self.finish_partition(partition)
        for queue, numbers in self.confirmed.items():
            for n in sorted(numbers - self.delivered[queue]):
                self.found.add("a confirmed message was lost", f"{queue}: {n}")
        if not self.events["ack"] or not self.events["final"]:
            self.found.add("nothing to judge", f"{self.events['ack']} acknowledged, {self.events['final']} in the end")
        return self.found.lines()

    def finish_partition(self, partition: str) -> None:
        final, known, acknowledged = self.final[partition], self.known[partition], self.acknowledged[partition]
        for offset, value in enumerate(known.at):
            if value and final.get(offset) != value:
                lost = acknowledged.get(offset) == value
                self.found.add("an acknowledged record was lost" if lost else "a record that was read is gone",
                               f"{partition}@{offset}: {named(value)}, "
                               + (f"now {named(final.get(offset))}" if final.get(offset) else "now nothing"))
        for value in sorted(self.somewhere[partition].difference(final.at)):
            self.found.add("an acknowledged record was lost", f"{partition}: {named(value)}, of unknown offset")
        newest: dict[int, int] = {}
        times = None
        for offset, value in enumerate(final.at):
            if not value:
                self.found.add("an offset is missing", f"{partition}@{offset}")
                continue
            producer = value >> NUMBER_BITS
            before = newest.get(producer, 0)
            if value <= before:
                times = times or collections.Counter(final.at)
                rule = "a record is there twice" if times[value] > 1 else "records out of order"
                self.found.add(rule, f"{partition}@{offset}: {named(value)} behind {named(before)}")
            newest[producer] = max(before, value)


def check(path) -> tuple[list[str], collections.Counter]:
    """What is wrong, and how many events of each kind there were."""
    checker = Checker()
    with open(path) as lines:
        for line in lines:
            checker.take(line)
    return checker.finish(), checker.events


if __name__ == "__main__":
    wrong, events = check(sys.argv[1])
    print("\n".join(wrong) or f"nothing wrong in {dict(events)}")
    sys.exit(bool(wrong))
