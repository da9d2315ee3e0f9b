"""A connection to whichever broker of AMQP (URLs, separated by commas) answers."""

import itertools
import os
import time

import pika

LOST = (pika.exceptions.AMQPError, OSError)
PATIENCE_S = 90


def connect():
    urls = [pika.URLParameters(url) for url in os.environ["AMQP"].split(",")]
    deadline = time.monotonic() + PATIENCE_S
    for parameters in itertools.cycle(urls):
        try:
            return pika.BlockingConnection(parameters)
        except LOST:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


class Publisher:
    """Publishes with confirms; a message is sent again until some broker has confirmed it."""

    def __init__(self):
        self.channel = None

    def publish(self, exchange, routing_key, body):
        properties = pika.BasicProperties(delivery_mode=2, content_type="application/json")
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                if self.channel is None:
                    self.channel = connect().channel()
                    self.channel.confirm_delivery()
                self.channel.basic_publish(exchange, routing_key, body, properties, mandatory=True)
                return
            except (*LOST, pika.exceptions.NackError):
                self.channel = None
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
