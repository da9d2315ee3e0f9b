"""Produces every flight to the topic, keyed by tail number, acks=all and idempotent."""

import json
import os
import sys

import confluent_kafka

import flights


def main():
    failed = []

    def told(error, _message):
        if error is not None:
            failed.append(error)

    producer = confluent_kafka.Producer({
        "bootstrap.servers": os.environ["KAFKA"],
        "client.id": "flights-producer",
        "acks": "all",
        "enable.idempotence": True,
        "linger.ms": 5,
    })
    for row in flights.rows():
        value = json.dumps(row, separators=(",", ":"))
        while True:
            try:
                producer.produce(flights.TOPIC, value, key=flights.key(row), on_delivery=told)
                break
            except BufferError:
                producer.poll(0.1)
        producer.poll(0)
    left = producer.flush(180)
    if failed or left:
        sys.exit(f"{len(failed)} flights failed, {left} unacknowledged: {failed[:1]}")
    print("every flight is acknowledged", flush=True)


if __name__ == "__main__":
    main()
