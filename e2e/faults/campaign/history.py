"""What clients did and saw, an event a line, in the order in which it was written down. Events:

    send PRODUCER N                      records up to number N have been handed to the client library
    ack PRODUCER PARTITION N OFFSET      record N was acknowledged at that offset, or at one the client does not know (None)
    refuse PRODUCER PARTITION N ERROR    it was refused; it may be in the log nevertheless
    seek READER PARTITION                the reader begins anew, wherever it likes
    read READER PARTITION OFFSET PRODUCER N
    end PARTITION OFFSET                 what a client was told the end of the partition is
    final PARTITION OFFSET PRODUCER N    what the partition holds in the end, from its start
    publish QUEUE N / confirm QUEUE N / deliver QUEUE N

An event is written after what it tells has happened, but for `send` and `publish`, which are written before."""

import collections
import pathlib
import threading


class History:
    """Appends events to a file, in the order in which threads tell them. No client waits for the disk."""

    def __init__(self, path: pathlib.Path):
        self.path, self.told, self.ended = path, collections.deque(), threading.Event()
        self.writer = threading.Thread(target=self.write, daemon=True)
        self.writer.start()

    def add(self, *event) -> None:
        self.told.append(event)

    def write(self) -> None:
        with open(self.path, "w") as file:
            last = False
            while not last:
                last = self.ended.wait(0.1)
                while self.told:
                    file.write(" ".join(map(str, self.told.popleft())) + "\n")

    def close(self) -> None:
        self.ended.set()
        self.writer.join()
