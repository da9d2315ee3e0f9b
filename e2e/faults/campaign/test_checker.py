"""The checker finds what was planted: histories that are right, each then spoilt in one way, at a place drawn by a seed."""

import random
import unittest

from checker import Checker

SEEDS = 20


def history(dice: random.Random) -> list[str]:
    """Two producers on two partitions, two readers that are some way behind, a queue; all of it right."""
    events, logs, numbers, position = [], {"0": [], "1": []}, {"0": 0, "1": 0}, {}
    for _ in range(200):
        producer, partition = dice.choice("01"), dice.choice("01")
        numbers[producer] += 1
        n = numbers[producer]
        events.append(f"send {producer} {n}")
        if dice.random() < 0.1:  # refused, and in the log or not
            events.append(f"refuse {producer} {partition} {n} _MSG_TIMED_OUT")
            if dice.random() < 0.5:
                logs[partition].append((producer, n))
        else:
            logs[partition].append((producer, n))
            events.append(f"ack {producer} {partition} {n} {len(logs[partition]) - 1}")
        reader = dice.choice(["a", "b"])
        for partition, log in logs.items():
            at = position.setdefault((reader, partition), 0)
            for offset in range(at, dice.randint(at, len(log))):
                events.append(f"read {reader} {partition} {offset} {log[offset][0]} {log[offset][1]}")
                position[reader, partition] = offset + 1
        if dice.random() < 0.1:
            events.append(f"end {partition} {len(logs[partition])}")
        if dice.random() < 0.02:
            events.append(f"seek {reader} 0")
            position[reader, "0"] = dice.randint(0, len(logs["0"]))
    for n in range(1, 20):
        events += [f"publish q {n}"] + ([f"confirm q {n}"] if dice.random() < 0.9 else [])
    events += [f"deliver q {n}" for n in dice.sample(range(1, 20), 19)]
    for partition, log in logs.items():
        events += [f"final {partition} {o} {producer} {n}" for o, (producer, n) in enumerate(log)]
    return events


def rules(events: list[str]) -> set[str]:
    checker = Checker()
    for event in events:
        checker.take(event)
    return {line.split(":")[0] for line in checker.finish()}


def pick(events: list[str], dice: random.Random, kind: str, keep=lambda fields: True) -> int:
    return dice.choice([i for i, e in enumerate(events) if e.split()[0] == kind and keep(e.split())])


def acknowledged_in_the_end(events, dice):
    """Where in the history the last word on some acknowledged record is."""
    ack = events[pick(events, dice, "ack")].split()
    return next(i for i, e in enumerate(events) if e.split()[:3] == ["final", ack[2], ack[4]])


class Planted(unittest.TestCase):
    def each(self, spoil, *expected: str) -> None:
        for seed in range(SEEDS):
            with self.subTest(seed=seed):
                dice = random.Random(seed)
                events = history(dice)
                self.assertEqual(rules(events), set())
                self.assertTrue(rules(spoil(events, dice)) & set(expected))

    def test_a_history_of_nothing_is_not_right(self):
        self.assertEqual(rules([]), {"nothing to judge"})

    def test_the_tail_with_an_acknowledged_record_is_cut_off(self):
        def spoil(events, dice):
            gone = events[acknowledged_in_the_end(events, dice)].split()
            return [e for e in events if not (e.split()[:2] == gone[:2] and int(e.split()[2]) >= int(gone[2]))]
        self.each(spoil, "an acknowledged record was lost")

    def test_a_record_acknowledged_without_its_offset_is_nowhere(self):
        def spoil(events, dice):
            return events + ["send 2 1", "ack 2 0 1 None"]
        self.each(spoil, "an acknowledged record was lost")

    def test_an_acknowledged_record_makes_way_for_another(self):
        def spoil(events, dice):
            i = acknowledged_in_the_end(events, dice)
            fields = events[i].split()
            events[i] = " ".join(fields[:3] + ["0" if fields[3] == "1" else "1", "1"])
            return events
        self.each(spoil, "an acknowledged record was lost")

    def test_a_record_is_stored_again(self):
        def spoil(events, dice):
            last = max(i for i, e in enumerate(events) if e.startswith("final 0 "))
            _, _, offset, producer, n = events[pick(events, dice, "final", lambda f: f[1] == "0")].split()
            return events[:last + 1] + [f"final 0 {int(events[last].split()[2]) + 1} {producer} {n}"] + events[last + 1:]
        self.each(spoil, "a record is there twice")

    def test_two_neighbours_of_one_producer_change_places(self):
        def spoil(events, dice):
            at = [i for i, e in enumerate(events) if e.startswith("final 1 ")]
            pairs = [(i, j) for i, j in zip(at, at[1:]) if events[i].split()[3] == events[j].split()[3]]
            i, j = dice.choice(pairs)
            a, b = events[i].split(), events[j].split()
            events[i], events[j] = " ".join(a[:3] + b[3:]), " ".join(b[:3] + a[3:])
            kept = {("ack", *a[1:3]), ("ack", *b[1:3])}
            return [e for e in events if e.split()[0] not in ("read", "ack")
                    or (e.split()[0] == "ack" and ("ack", e.split()[2], e.split()[4]) not in kept)]
        self.each(spoil, "records out of order")

    def test_a_reader_misses_a_record(self):
        def spoil(events, dice):
            def has_next(f):
                return f"read {f[1]} {f[2]} {int(f[3]) + 1}" in starts
            starts = {" ".join(e.split()[:4]) for e in events}
            seeks = {e.split()[1] for e in events if e.startswith("seek")}
            i = pick(events, dice, "read", lambda f: has_next(f) and int(f[3]) > 0 and (f[2] == "1" or f[1] not in seeks))
            return events[:i] + events[i + 1:]
        self.each(spoil, "a reader skipped records")

    def test_a_reader_sees_a_record_again(self):
        def spoil(events, dice):
            i = pick(events, dice, "read")
            return events[:i + 1] + events[i:]
        self.each(spoil, "a reader went back")

    def test_two_readers_see_different_records_at_one_offset(self):
        def spoil(events, dice):
            i = pick(events, dice, "read")
            fields = events[i].split()
            fields[4] = "0" if fields[4] == "1" else "1"
            fields[5] = "1"
            events[i] = " ".join(fields)
            return events
        self.each(spoil, "one offset, two records")

    def test_a_reader_sees_what_was_taken_back(self):
        def spoil(events, dice):
            ends = {p: sum(e.startswith(f"final {p} ") for e in events) for p in "01"}
            i = pick(events, dice, "final")
            partition = events[i].split()[1]
            sent = [e.split() for e in events if e.startswith("send")][-1]
            return events[:i] + [f"read c {partition} {ends[partition]} {sent[1]} {sent[2]}"] + events[i:]
        self.each(spoil, "a record that was read is gone")

    def test_a_record_appears_that_nobody_sent(self):
        def spoil(events, dice):
            i = pick(events, dice, "read")
            fields = events[i].split()
            events[i] = " ".join(fields[:5] + ["9999"])
            return events
        self.each(spoil, "a record that nobody sent")

    def test_two_records_are_acknowledged_at_one_offset(self):
        def spoil(events, dice):
            i = pick(events, dice, "ack")
            fields = events[i].split()
            return events[:i + 1] + [f"send 2 1", f"ack 2 {fields[2]} 1 {fields[4]}"] + events[i + 1:]
        self.each(spoil, "two records acknowledged at one offset")

    def test_the_end_of_a_partition_goes_back(self):
        def spoil(events, dice):
            i = pick(events, dice, "end")
            _, partition, offset = events[i].split()
            return events[:i + 1] + [f"end {partition} {int(offset) - 1}"] + events[i + 1:]
        self.each(spoil, "the end of a partition went back")

    def test_an_offset_is_missing(self):
        def spoil(events, dice):
            last = {p: max(int(e.split()[2]) for e in events if e.startswith(f"final {p} ")) for p in "01"}
            i = pick(events, dice, "final", lambda f: int(f[2]) < last[f[1]])
            return events[:i] + events[i + 1:]
        self.each(spoil, "an offset is missing")

    def test_a_confirmed_message_does_not_come_out(self):
        def spoil(events, dice):
            n = events[pick(events, dice, "confirm")].split()[2]
            return [e for e in events if e != f"deliver q {n}"]
        self.each(spoil, "a confirmed message was lost")

    def test_a_message_comes_out_that_nobody_sent(self):
        self.each(lambda events, dice: events + ["deliver q 9999"], "a message that nobody sent")


if __name__ == "__main__":
    unittest.main()
