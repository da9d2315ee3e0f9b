"""Works the queue of cancelled flights with manual acks: each goes into the ledger, then is acked.

    cancelled.py LEDGER      a line per message: id, origin by routing key, redelivered
"""

import json
import signal
import sys
import time

import amqp
import flights

PREFETCH = 200


def work(ledger, stopped):
    connection = amqp.connect()
    channel = connection.channel()
    channel.basic_qos(prefetch_count=PREFETCH)

    for method, _properties, body in channel.consume(flights.QUEUE, inactivity_timeout=0.5):
        if method is not None:
            row = json.loads(body)
            ledger.write(f"{row['id']}\t{method.routing_key}\t{int(method.redelivered)}\n")
            ledger.flush()
            channel.basic_ack(method.delivery_tag)
        if stopped():
            break
    channel.cancel()
    connection.close()


def main():
    stop = []
    signal.signal(signal.SIGTERM, lambda *_: stop.append(True))
    with open(sys.argv[1], "a", encoding="utf-8") as ledger:
        while not stop:
            try:
                work(ledger, lambda: bool(stop))
            except amqp.LOST as error:
                # What was not acked is delivered again, by whichever broker leads the queue now.
                print(f"connection lost: {error!r}", file=sys.stderr, flush=True)
                time.sleep(0.2)


if __name__ == "__main__":
    main()
