"""The same bytes in every replica's log, wherever its segments begin."""

import collections
import hashlib
import pathlib

CHUNK = 1 << 20


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
