"""One member of the consumer group: takes flights, sends cancelled ones to the exchange and bad ones to
the dead-letter topic, writes every record into its ledger, and only then commits.

    consume.py LEDGER        a line per record: partition, offset, key, id, fate
"""

import json
import os
import signal
import sys

import confluent_kafka

import amqp
import flights

BATCH = 2000


class Member:
    def __init__(self, ledger):
        self.ledger = ledger
        self.publisher = amqp.Publisher()
        self.consumer = confluent_kafka.Consumer({
            "bootstrap.servers": os.environ["KAFKA"],
            "group.id": flights.GROUP,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "session.timeout.ms": 10_000,
        })
        self.dead = confluent_kafka.Producer({
            "bootstrap.servers": os.environ["KAFKA"],
            "acks": "all",
            "enable.idempotence": True,
        })
        self.failed = []

    def run(self, stopped):
        self.consumer.subscribe([flights.TOPIC])
        while not stopped():
            records = [r for r in self.consumer.consume(BATCH, 0.5) if r.error() is None]
            if records:
                self.take(records)
        self.consumer.close()

    def take(self, records):
        lines = []
        for record in records:
            row = json.loads(record.value())
            fate = flights.fate(row)
            if fate == "cancelled":
                self.publisher.publish(flights.EXCHANGE, f"cancelled.{row['origin']}", record.value())
            elif fate == "dead":
                self.bury(record, flights.fault(row))
            fields = (record.partition(), record.offset(), record.key().decode(), row["id"], fate)
            lines.append("\t".join(map(str, fields)) + "\n")
        left = self.dead.flush(90)
        if left or self.failed:
            sys.exit(f"dead letters not written: {left} left, {self.failed[:1]}")
        self.ledger.write("".join(lines))
        self.ledger.flush()
        self.commit()

    def bury(self, record, cause):
        headers = {
            "dlq.cause": cause,
            "dlq.source.topic": record.topic(),
            "dlq.source.partition": str(record.partition()),
            "dlq.source.offset": str(record.offset()),
        }
        self.dead.produce(flights.DEAD_LETTERS, record.value(), key=record.key(), headers=headers,
                          on_delivery=lambda error, _: error and self.failed.append(error))
        self.dead.poll(0)

    def commit(self):
        try:
            self.consumer.commit(asynchronous=False)
        except confluent_kafka.KafkaException as error:
            # The group moved on: what was not committed comes again, and the ledgers show it once.
            print(f"not committed: {error}", file=sys.stderr, flush=True)


def main():
    stop = []
    signal.signal(signal.SIGTERM, lambda *_: stop.append(True))
    with open(sys.argv[1], "a", encoding="utf-8") as ledger:
        Member(ledger).run(lambda: bool(stop))


if __name__ == "__main__":
    main()
