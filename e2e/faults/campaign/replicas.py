"""The same bytes in every replica's log, wherever its segments begin; and a byte that a disk has changed."""

import collections
import hashlib
import pathlib
import random

CHUNK = 1 << 20
# Of a batch: its base offset and length, and what its checksum does not cover.
LENGTH_AT, LENGTH_BYTES, UNCHECKED_BYTES = 8, 4, 21


def differences(data: pathlib.Path) -> tuple[list[str], int]:
    """What differs, and how many partitions were compared. The brokers must have stopped."""
    replicas = collections.defaultdict(lambda: collections.defaultdict(list))
    for log in sorted(data.glob("broker-*/partitions/*/*.log")):
        replicas[log.parent.name][log.relative_to(data).parts[0]].append(log)
    wrong = []
    # Every broker has a replica of everything; one that has no file has no record.
    brokers = [directory.name for directory in data.glob("broker-*") if directory.is_dir()]
    for partition, by_broker in replicas.items():
        digests = {broker: digest(by_broker[broker]) for broker in brokers}
        if len(set(digests.values())) > 1:
            sizes = {broker: size for broker, (_, size) in digests.items()}
            wrong.append(f"replicas of {partition} differ: bytes {sizes}")
    return wrong, len(replicas)


def digest(logs: list[pathlib.Path]) -> tuple[str, int]:
    seen, size = hashlib.blake2b(), 0
    for log in logs:
        with open(log, "rb") as f:
            while piece := f.read(CHUNK):
                seen.update(piece)
                size += len(piece)
    return seen.hexdigest(), size


def closed_segments(data: pathlib.Path, broker: int, topic_id: str) -> list[pathlib.Path]:
    """Segments of the topic on that broker that are written to no more."""
    found = []
    for partition in data.glob(f"broker-{broker}/partitions/{topic_id}-*"):
        segments = sorted(partition.glob("*.log"))
        found += [s for s in segments[:-1] if s.stat().st_size]
    return found


def flip(segment: pathlib.Path, dice: random.Random) -> bytes:
    """Changes one byte that a checksum covers, of any batch; gives what the file was before."""
    whole = segment.read_bytes()
    batches, at = [], 0
    while at + LENGTH_AT + LENGTH_BYTES <= len(whole):
        size = LENGTH_AT + LENGTH_BYTES + int.from_bytes(whole[at + LENGTH_AT:at + LENGTH_AT + LENGTH_BYTES], "big")
        batches.append((at, size))
        at += size
    at, size = dice.choice(batches)
    place = at + dice.randrange(UNCHECKED_BYTES, size)
    with open(segment, "r+b") as f:
        f.seek(place)
        f.write(bytes([whole[place] ^ 1 << dice.randrange(8)]))
    return whole
