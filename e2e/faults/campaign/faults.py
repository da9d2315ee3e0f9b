"""What is done to the brokers, one thing after another. Each fault ends with everything serving again."""

import random
import signal
import time

import confluent_kafka
from confluent_kafka.admin import AdminClient

import replicas
from brokers import SCRUB_S, Brokers, Failure, wait_for
from load import SEGMENT_S, TOPIC, Client, Producing, Publishing


class Faults:
    """Kills are over at once; the others last `LASTS_S`, and every partition must acknowledge meanwhile."""

    LASTS_S = 10

    def __init__(self, brokers: Brokers, clients: list[Client], heal_s: float, dice: random.Random):
        self.brokers, self.clients, self.heal_s, self.dice = brokers, clients, heal_s, dice
        self.producing = [c for c in clients if isinstance(c, Producing)]
        self.publishing = [c for c in clients if isinstance(c, Publishing)]
        # Longest time without an acknowledgement of any partition, by fault.
        self.gaps: dict[str, list[float]] = {}
        brokers.downtime_s = lambda: dice.choice([0, 0.2, 1, 3])

    # What befalls whom.

    def kill_leader(self):
        self.brokers.signal(self.leader(), signal.SIGKILL)

    def kill_follower(self):
        self.brokers.signal(self.other(self.leader()), signal.SIGKILL)

    def kill_controller(self):
        self.brokers.signal(self.controller(), signal.SIGKILL)

    def kill_two(self):
        first = self.leader()
        for broker in (first, self.other(first)):
            self.brokers.signal(broker, signal.SIGKILL)

    def kill_all(self):
        for broker in range(self.brokers.count):
            self.brokers.signal(broker, signal.SIGKILL)

    def pause_leader(self):
        self.pause(self.leader())

    def pause_controller(self):
        self.pause(self.controller())

    def isolate_leader(self):
        """From the other brokers; clients still reach it."""
        leader = self.leader()
        self.during(lambda: [self.brokers.network.drop(*pair) for o in self.others(leader)
                             for pair in ((leader, o), (o, leader))])

    def isolate_controller(self):
        controller = self.controller()
        self.during(lambda: [self.brokers.network.drop(*pair) for o in self.others(controller)
                             for pair in ((controller, o), (o, controller))])

    def deaf_leader(self):
        """Hears no other broker, and is heard."""
        leader = self.leader()
        self.during(lambda: [self.brokers.network.drop(leader, o) for o in self.others(leader)])

    def mute_leader(self):
        """Is heard by no other broker, and hears them."""
        leader = self.leader()
        self.during(lambda: [self.brokers.network.drop(o, leader) for o in self.others(leader)])

    def deaf_controller(self):
        controller = self.controller()
        self.during(lambda: [self.brokers.network.drop(controller, o) for o in self.others(controller)])

    def cut_off_leader(self):
        """From everybody, clients included."""
        leader = self.leader()
        self.during(lambda: self.brokers.network.deafen(leader))

    def bridge(self):
        """Two of three do not hear each other; the third hears and is heard by both."""
        a = self.leader()
        b = self.other(a)
        self.during(lambda: [self.brokers.network.drop(*pair) for pair in ((a, b), (b, a))])

    def lossy(self):
        """A tenth of what brokers send each other is lost."""
        everybody = range(self.brokers.count)
        self.during(lambda: [self.brokers.network.drop(a, b, of_hundred=10) for a in everybody for b in everybody if a != b])

    def flip_leader(self):
        self.flip(self.leader())

    def flip_follower(self):
        self.flip(self.other(self.leader()))

    # How it is done.

    def flip(self, broker: int) -> None:
        """The disk changes a byte of a closed segment. The broker finds it by itself, and has it from another again."""
        data, topic_id = self.brokers.directory / "data", self.brokers.topic_id(TOPIC)
        closed: list = []
        wait_for("a segment is closed", self.heal_s + SEGMENT_S,
                 lambda: closed.extend(replicas.closed_segments(data, broker, topic_id)) or closed)
        segment = self.dice.choice(closed)
        whole = replicas.flip(segment, self.dice)
        wait_for(f"{segment.parent.name}/{segment.name} of broker {broker} is whole again", self.heal_s + SCRUB_S,
                 lambda: segment.read_bytes() == whole)

    def pause(self, broker: int) -> None:
        try:
            self.during(lambda: self.brokers.signal(broker, signal.SIGSTOP))
        finally:
            self.brokers.signal(broker, signal.SIGCONT)

    def during(self, begin) -> None:
        try:
            begin()
            began = time.monotonic()
            # The others take over meanwhile. The classic queue may not: it lives on one broker.
            wait_for(f"every partition acknowledges while the fault lasts ({self.name})", self.LASTS_S,
                     lambda: self.oldest_ack() > began + 0.2)
            time.sleep(max(0.0, self.LASTS_S - (time.monotonic() - began)))
        finally:
            self.brokers.network.heal()

    def oldest_ack(self) -> float:
        return min(min(p.last_ack) for p in self.producing)

    def leader(self) -> int:
        """The leader of the topic's first partition."""
        found: list[int] = []

        def asked() -> bool:
            try:
                admin = AdminClient({"bootstrap.servers": self.brokers.bootstrap(), "log_level": 0})
                leader = admin.list_topics(TOPIC, timeout=5).topics[TOPIC].partitions[0].leader
            except (confluent_kafka.KafkaException, KeyError):
                return False
            found.append(leader)
            return leader >= 0

        wait_for("somebody leads the first partition", self.heal_s, asked)
        return found[-1]

    def controller(self) -> int:
        described: list = []
        wait_for("somebody is the controller", self.heal_s,
                 lambda: described.append(self.brokers.described()) or (described[-1] and described[-1]["controller"] is not None))
        return described[-1]["controller"]

    def others(self, broker: int) -> list[int]:
        return [b for b in range(self.brokers.count) if b != broker]

    def other(self, broker: int) -> int:
        return self.dice.choice(self.others(broker))

    def inject(self, name: str) -> None:
        for p in self.producing:
            p.measure()
        began, self.name = time.monotonic(), name
        getattr(self, name)()
        ended = time.monotonic()
        # Served again: an acknowledgement of every partition and of every queue that is newer than the fault.
        wait_for(f"every partition acknowledges again after {name}", self.heal_s,
                 lambda: self.oldest_ack() > ended or self.fatal())
        kafka = time.monotonic()
        for p in self.publishing:
            wait_for(f"{p.queue} confirms again after {name}", self.heal_s, lambda p=p: p.last_ack > ended)
        amqp = time.monotonic()
        wait_for(f"all replicas are in sync after {name}", self.heal_s, self.brokers.whole)
        gap = max(max(p.gap) for p in self.producing)
        self.gaps.setdefault(name, []).append(gap)
        print(f"{name:<18} {ended - began:5.1f} s; longest without an acknowledgement {gap:5.2f} s; all partitions "
              f"{kafka - ended:+5.1f} s, all queues {amqp - ended:+5.1f} s, in sync {time.monotonic() - ended:+5.1f} s; "
              f"{sum(p.acknowledged for p in self.producing)} records, "
              f"{', '.join(f'{p.confirmed} {p.queue}' for p in self.publishing)}", flush=True)
        if self.fatal():
            raise Failure(f"a client met a fatal error: {self.fatal()[0]}")
        time.sleep(self.dice.uniform(0.2, 2))

    def fatal(self) -> list[str]:
        return [error for client in self.clients for error in client.fatal]


EVERY = [name for name in vars(Faults) if name.startswith(("kill_", "pause_", "isolate_", "deaf_", "mute_", "cut_", "flip_"))]
EVERY += ["bridge", "lossy"]
