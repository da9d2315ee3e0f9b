"""Retry tiers and records that name a time: kafka-python reads a record when its time has come, and no earlier."""

import os
import time
import uuid

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import KafkaAdminClient, NewTopic
from kafka.errors import InvalidRecordError

SERVERS = os.environ["KAFKA"].split(",")
TIERS = {"3s": 3000, "6s": 6000}


def test_a_failed_order_is_tried_again_after_three_and_after_six_seconds_and_the_main_topic_goes_on():
    orders = f"orders-{uuid.uuid4().hex[:8]}"
    tiers = {name: f"{orders}.retry.{name}" for name in TIERS}
    admin = KafkaAdminClient(bootstrap_servers=SERVERS)
    admin.create_topics([NewTopic(orders, 1, 3)] + [
        NewTopic(topic, 1, 3, topic_configs={"millrace.delivery.delay.ms": str(TIERS[name])})
        for name, topic in tiers.items()
    ])
    producer = KafkaProducer(bootstrap_servers=SERVERS, acks="all")
    sent = {}

    def send_on(topic, record, attempts):
        # The time of the order is not the time of the retry, and does not count.
        future = producer.send(topic, key=record.key, value=record.value, timestamp_ms=1000,
                               headers=[("attempts", str(attempts).encode())])
        sent[topic, record.key] = time.time() * 1000
        future.get(30)

    for i in range(20):
        producer.send(orders, key=b"%d" % i, value=b"order %d" % i)
    producer.flush(60)
    worker = KafkaConsumer(orders, *tiers.values(), bootstrap_servers=SERVERS, group_id=f"g-{orders}",
                           auto_offset_reset="earliest", consumer_timeout_ms=60000)
    done = []
    for record in worker:
        if record.topic != orders:
            assert time.time() * 1000 >= record.timestamp + TIERS[record.topic.rsplit(".", 1)[1]]
            assert record.timestamp >= sent[record.topic, record.key] - 1000
        attempts = int(dict(record.headers).get("attempts", b"0"))
        # Every fifth order fails twice.
        if int(record.key) % 5 == 0 and attempts < 2:
            send_on(tiers[list(TIERS)[attempts]], record, attempts + 1)
        else:
            done.append((record.topic, record.key))
        if len(done) == 20:
            break
    worker.close()
    failed = [b"0", b"5", b"10", b"15"]
    assert [key for topic, key in done[:16]] == [b"%d" % i for i in range(20) if i % 5], "the main topic goes on"
    assert done[16:] == [(tiers["6s"], key) for key in failed], "in the order in which they came"
    admin.delete_topics([orders, *tiers.values()])


def test_what_waits_is_behind_the_end_of_the_topic():
    topic = f"delayed-{uuid.uuid4().hex[:8]}"
    partition = TopicPartition(topic, 0)
    admin = KafkaAdminClient(bootstrap_servers=SERVERS)
    admin.create_topics([NewTopic(topic, 1, 3, topic_configs={"millrace.delivery.delay.ms": "3600000"})])
    producer = KafkaProducer(bootstrap_servers=SERVERS, acks="all")
    assert producer.send(topic, b"later").get(30).offset == 0
    consumer = KafkaConsumer(bootstrap_servers=SERVERS, consumer_timeout_ms=2000)
    consumer.assign([partition])
    consumer.seek_to_beginning()
    assert list(consumer) == []
    assert consumer.end_offsets([partition]) == {partition: 0}
    assert consumer.offsets_for_times({partition: 0}) == {partition: None}
    admin.delete_topics([topic])


def test_records_come_at_the_times_that_they_name_and_each_once():
    topic = f"timed-{uuid.uuid4().hex[:8]}"
    partition = TopicPartition(topic, 0)
    admin = KafkaAdminClient(bootstrap_servers=SERVERS)
    admin.create_topics([NewTopic(topic, 1, 3)])
    producer = KafkaProducer(bootstrap_servers=SERVERS, acks="all", enable_idempotence=True, compression_type="gzip",
                             linger_ms=50)
    now = int(time.time() * 1000)
    due = {b"%d" % i: now + 3000 + (7 - i) * 300 for i in range(8)}
    futures = [producer.send(topic, value, headers=[("millrace-deliver-at", str(at).encode())]) for value, at in due.items()]
    futures += [producer.send(topic, b"plain")]
    places = [future.get(30).offset for future in futures]
    assert places == list(range(9)), "an offset each, as for any record"
    refused = producer.send(topic, b"wrong", headers=[("millrace-deliver-at", b"tomorrow")])
    with pytest.raises(InvalidRecordError):
        refused.get(30)
    consumer = KafkaConsumer(bootstrap_servers=SERVERS, consumer_timeout_ms=20000)
    consumer.assign([partition])
    consumer.seek_to_beginning()
    came = []
    for record in consumer:
        now = time.time() * 1000
        came.append(record)
        if record.value != b"plain":
            assert now >= due[record.value] == record.timestamp
            assert int(dict(record.headers)["millrace-held-offset"]) == int(record.value)
        if len(came) == 9:
            break
    assert [record.value for record in came] == [b"plain"] + [b"%d" % i for i in range(7, -1, -1)], "as they are due"
    assert [record.offset for record in came] == sorted(record.offset for record in came)
    # Nothing comes again, and the consumer gets to the end.
    assert list(reader(partition, came[-1].offset + 1)) == []
    assert consumer.position(partition) == consumer.end_offsets([partition])[partition]
    admin.delete_topics([topic])


def reader(partition, offset):
    consumer = KafkaConsumer(bootstrap_servers=SERVERS, consumer_timeout_ms=2000)
    consumer.assign([partition])
    consumer.seek(partition, offset)
    return consumer
