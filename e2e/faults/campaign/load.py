"""The clients of a campaign: each writes down in the history what it did and what it was told."""

import collections
import logging
import random
import threading
import time

import confluent_kafka
import pika

from brokers import Brokers, Failure
from history import History

TOPIC = "campaign"
PARTITIONS = 6
# A segment is closed after so long: what lies in one that is open is in memory, too.
SEGMENT_S = 10
PRODUCERS = 3
READERS = 2
QUEUES = ("quorum", "classic")
# A record that is neither acknowledged nor refused by then is no longer waited for.
DELIVERY_TIMEOUT_S = 120
# Unanswered records of a producer; more would only wait in its queue.
IN_FLIGHT_MAX = 2000
PADDING = b" " + b"x" * 200
TURN_S = 0.01


class Client(threading.Thread):
    """Works until it is told to end."""

    def __init__(self, brokers: Brokers, history: History):
        super().__init__(daemon=True)
        self.brokers, self.history = brokers, history
        self.ended = threading.Event()
        self.fatal: list[str] = []

    def run(self) -> None:
        try:
            self.work()
        except Exception as e:  # a client that dies silently would see nothing more
            self.fatal.append(f"{type(self).__name__}: {e!r}")


class Producing(Client):
    """An idempotent producer with acks=all: numbered records to every partition, `rate` a second."""

    def __init__(self, brokers: Brokers, history: History, id: int, rate: float):
        super().__init__(brokers, history)
        self.id, self.rate = id, rate
        self.sent, self.acknowledged, self.refused = 0, 0, collections.Counter()
        self.last_ack = [time.monotonic()] * PARTITIONS
        # Longest time between two acknowledgements of a partition since `measure`.
        self.gap = [0.0] * PARTITIONS
        self.left = 0

    def measure(self) -> None:
        self.gap = [0.0] * PARTITIONS

    def logger(self) -> logging.Logger:
        """What the client library says of its errors and its state as a producer, beside the brokers' logs."""
        logger = logging.getLogger(f"producer-{self.id}")
        logger.propagate = False
        logger.setLevel(logging.DEBUG)
        file = logging.FileHandler(self.brokers.directory / f"producer-{self.id}.log")
        file.setFormatter(logging.Formatter("%(asctime)s.%(msecs)03d %(message)s", "%H:%M:%S"))
        logger.addHandler(file)
        return logger

    def answered(self, number: int):
        def answer(error, message) -> None:
            p = message.partition()
            if error:
                self.refused[error.name()] += 1
                self.history.add("refuse", self.id, p, number, error.name())
                return
            now = time.monotonic()
            self.gap[p] = max(self.gap[p], now - self.last_ack[p])
            self.last_ack[p] = now
            self.acknowledged += 1
            self.history.add("ack", self.id, p, number, message.offset())
        return answer

    def work(self) -> None:
        producer = confluent_kafka.Producer({
            "bootstrap.servers": self.brokers.bootstrap(), "enable.idempotence": True, "acks": "all", "linger.ms": 2,
            "delivery.timeout.ms": DELIVERY_TIMEOUT_S * 1000, "debug": "eos", "reconnect.backoff.max.ms": 500,
            # By default it keeps to brokers that lead something, and asks nobody else while one of those hangs.
            "enable.sparse.connections": False,
            # A broker that hangs does not hang up: give up on what it was sent.
            "socket.timeout.ms": 1000, "request.timeout.ms": 1000,
            "error_cb": lambda e: self.fatal.append(str(e)) if e.fatal() else None}, logger=self.logger())
        began = time.monotonic()
        while not self.ended.is_set():
            due = min(int((time.monotonic() - began) * self.rate) - self.sent, IN_FLIGHT_MAX - len(producer))
            if due > 0:
                self.history.add("send", self.id, self.sent + due)
                for _ in range(due):
                    self.sent += 1
                    producer.produce(TOPIC, b"%d %d" % (self.id, self.sent) + PADDING,
                                     partition=self.sent % PARTITIONS, on_delivery=self.answered(self.sent))
            elif len(producer) >= IN_FLIGHT_MAX:
                # What could not be sent meanwhile is not made up for.
                began = time.monotonic() - self.sent / self.rate
            producer.poll(TURN_S)
        self.left = producer.flush(DELIVERY_TIMEOUT_S)


def consumer(brokers: Brokers, **more) -> confluent_kafka.Consumer:
    return confluent_kafka.Consumer({
        "bootstrap.servers": brokers.bootstrap(), "group.id": "campaign", "enable.auto.commit": False,
        "check.crcs": True, "auto.offset.reset": "error", "log_level": 0, "reconnect.backoff.max.ms": 500,
        "socket.timeout.ms": 5000, **more})


class Reading(Client):
    """Reads all partitions as they grow, and begins anew now and then, anywhere in what it has read."""

    def __init__(self, brokers: Brokers, history: History, name: str, rack: str, dice: random.Random):
        super().__init__(brokers, history)
        self.name_, self.rack, self.dice = name, rack, dice
        self.next = [0] * PARTITIONS

    def work(self) -> None:
        while not self.ended.is_set():
            reader = consumer(self.brokers, **{"client.rack": self.rack})
            begin = [n if self.dice.random() < 0.5 else max(0, n - self.dice.randint(0, 5000)) for n in self.next]
            for p in range(PARTITIONS):
                self.history.add("seek", self.name_, p)
            reader.assign([confluent_kafka.TopicPartition(TOPIC, p, begin[p]) for p in range(PARTITIONS)])
            until = time.monotonic() + self.dice.uniform(5, 60)
            while not self.ended.is_set() and time.monotonic() < until:
                for m in reader.consume(5000, 0.2):
                    self.take(m)
            reader.close()

    def take(self, m) -> None:
        if m.error() is not None:
            if m.error().code() in (confluent_kafka.KafkaError._AUTO_OFFSET_RESET, confluent_kafka.KafkaError.OFFSET_OUT_OF_RANGE):
                self.fatal.append(f"reading {m.topic()}-{m.partition()}: {m.error()}")
            return
        producer, n = m.value().split()[:2]
        self.history.add("read", self.name_, m.partition(), m.offset(), int(producer), int(n))
        self.next[m.partition()] = max(self.next[m.partition()], m.offset() + 1)


class Observing(Client):
    """Asks for the end of every partition, time and again."""

    def work(self) -> None:
        asking = consumer(self.brokers)
        while not self.ended.wait(0.2):
            for p in range(PARTITIONS):
                try:
                    _, end = asking.get_watermark_offsets(confluent_kafka.TopicPartition(TOPIC, p), timeout=3)
                except confluent_kafka.KafkaException:
                    continue  # no leader just now
                if end >= 0:
                    self.history.add("end", p, end)
        asking.close()


class Publishing(Client):
    """Numbered persistent messages, one confirm awaited at a time; each goes to the next broker after a failure."""

    def __init__(self, brokers: Brokers, history: History, queue: str):
        super().__init__(brokers, history)
        self.queue = queue
        self.confirmed, self.sent, self.failures = 0, 0, collections.Counter()
        self.last_ack = time.monotonic()

    def work(self) -> None:
        broker = 0
        while not self.ended.is_set():
            broker = (broker + 1) % self.brokers.count
            try:
                self.publish(broker)
            except Exception as e:  # whatever the client raises, it tries the next broker
                self.failures[type(e).__name__] += 1
                self.ended.wait(0.05)

    def publish(self, broker: int) -> None:
        connection = pika.BlockingConnection(pika.URLParameters(self.brokers.amqp(broker)))
        try:
            channel = connection.channel()
            channel.confirm_delivery()
            while not self.ended.wait(TURN_S):
                self.sent += 1
                self.history.add("publish", self.queue, self.sent)
                channel.basic_publish("", self.queue, b"%d" % self.sent, pika.BasicProperties(delivery_mode=2),
                                      mandatory=True)
                self.history.add("confirm", self.queue, self.sent)
                self.confirmed += 1
                self.last_ack = time.monotonic()
        finally:
            if connection.is_open:
                connection.close()


def read_to_the_end(brokers: Brokers, history: History) -> int:
    """Writes down what every partition holds, and returns the number of records."""
    reader = consumer(brokers, **{"enable.partition.eof": True})
    reader.assign([confluent_kafka.TopicPartition(TOPIC, p, 0) for p in range(PARTITIONS)])
    found, ended = 0, set()
    last = time.monotonic()
    while len(ended) < PARTITIONS:
        if time.monotonic() - last > 60:
            raise Failure(f"partitions {set(range(PARTITIONS)) - ended} cannot be read to their ends")
        for m in reader.consume(10000, 1):
            last = time.monotonic()
            if m.error() is None:
                producer, n = m.value().split()[:2]
                history.add("final", m.partition(), m.offset(), int(producer), int(n))
                found += 1
            elif m.error().code() == confluent_kafka.KafkaError._PARTITION_EOF:
                ended.add(m.partition())
            else:
                raise Failure(f"reading {TOPIC}-{m.partition()}: {m.error()}")
    reader.close()
    return found


def drain(brokers: Brokers, history: History, queue: str) -> int:
    """Takes everything out of a queue, and returns the number of deliveries."""
    connection = pika.BlockingConnection(pika.URLParameters(brokers.amqp(0)))
    channel = connection.channel()
    channel.basic_qos(prefetch_count=500)
    taken = 0
    for method, _, body in channel.consume(queue, inactivity_timeout=3):
        if method is None:
            break
        history.add("deliver", queue, int(body))
        taken += 1
        if method.delivery_tag % 250 == 0:
            channel.basic_ack(method.delivery_tag, multiple=True)
    if taken:
        channel.basic_ack(0, multiple=True)
    connection.close()
    return taken
