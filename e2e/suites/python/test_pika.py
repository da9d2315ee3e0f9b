"""The patterns of RabbitMQ's tutorials, by pika as it comes."""

import os
import time
import uuid

import pika
import pytest


@pytest.fixture
def channel():
    connection = pika.BlockingConnection(pika.URLParameters(os.environ["AMQP"]))
    yield connection.channel()
    connection.close()


def name(kind):
    return f"{kind}-{uuid.uuid4().hex[:8]}"


@pytest.mark.parametrize("kind", ["classic", "quorum"])
def test_confirmed_messages_are_consumed_in_order_and_acked(channel, kind):
    queue = name(kind)
    channel.queue_declare(queue, durable=True, arguments={"x-queue-type": kind})
    channel.confirm_delivery()
    for i in range(200):
        channel.basic_publish("", queue, str(i).encode(), pika.BasicProperties(delivery_mode=2))
    channel.basic_qos(prefetch_count=10)
    got = []
    for method, _, body in channel.consume(queue, inactivity_timeout=30):
        assert method is not None, "no delivery in 30 s"
        got.append(int(body))
        channel.basic_ack(method.delivery_tag)
        if len(got) == 200:
            break
    channel.cancel()
    assert got == list(range(200))
    assert channel.queue_declare(queue, passive=True).method.message_count == 0
    channel.queue_delete(queue)


def test_topic_exchange_routes_by_pattern(channel):
    exchange, queue = name("logs"), name("kern")
    channel.exchange_declare(exchange, "topic")
    channel.queue_declare(queue, exclusive=True)
    channel.queue_bind(queue, exchange, "kern.*")
    channel.confirm_delivery()
    for key in ("kern.critical", "cron.info", "kern.a.b", "kern.warning"):
        channel.basic_publish(exchange, key, key.encode())
    got = [channel.basic_get(queue, auto_ack=True)[2] for _ in range(3)]
    assert got == [b"kern.critical", b"kern.warning", None]


def test_unroutable_mandatory_message_is_returned(channel):
    channel.confirm_delivery()
    with pytest.raises(pika.exceptions.UnroutableError):
        channel.basic_publish("amq.direct", name("nowhere"), b"x", mandatory=True)


@pytest.mark.parametrize("kind", ["classic", "quorum"])
def test_rejected_message_is_dead_lettered_with_its_history(channel, kind):
    source, dead = name("source"), name("dead")
    channel.queue_declare(dead, durable=True)
    channel.queue_declare(source, durable=True, arguments={
        "x-queue-type": kind, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": dead})
    channel.confirm_delivery()
    channel.basic_publish("", source, b"poison", pika.BasicProperties(delivery_mode=2))
    for method, _, _ in channel.consume(source, inactivity_timeout=30):
        channel.basic_reject(method.delivery_tag, requeue=False)
        break
    channel.cancel()
    for method, properties, body in channel.consume(dead, inactivity_timeout=30):
        assert method is not None, "nothing dead-lettered in 30 s"
        death = properties.headers["x-death"][0]
        assert (body, death["reason"], death["queue"], death["count"]) == (b"poison", "rejected", source, 1)
        channel.basic_ack(method.delivery_tag)
        break
    channel.cancel()
    channel.queue_delete(source)
    channel.queue_delete(dead)


def test_inequivalent_redeclaration_is_a_406(channel):
    queue = name("q")
    channel.queue_declare(queue, durable=True)
    with pytest.raises(pika.exceptions.ChannelClosedByBroker) as e:
        channel.queue_declare(queue, durable=False)
    assert e.value.reply_code == 406
    assert "inequivalent arg 'durable'" in e.value.reply_text


def test_a_direct_reply_finds_its_requester(channel):
    service, replies = name("service"), []
    channel.queue_declare(service, exclusive=True)
    channel.basic_consume("amq.rabbitmq.reply-to", lambda *reply: replies.append(reply[3]), auto_ack=True)

    def serve(server, method, properties, body):
        server.basic_publish("", properties.reply_to, body.upper())
        server.basic_ack(method.delivery_tag)

    channel.basic_consume(service, serve)
    channel.basic_publish("", service, b"ping", pika.BasicProperties(reply_to="amq.rabbitmq.reply-to"))
    deadline = time.monotonic() + 30
    while not replies and time.monotonic() < deadline:
        channel.connection.process_data_events(time_limit=1)
    assert replies == [b"PING"]
