"""Produce, consume by group, administer: by kafka-python as it comes."""

import os
import uuid

from kafka import KafkaConsumer, KafkaProducer
from kafka.admin import KafkaAdminClient, NewTopic

SERVERS = os.environ["KAFKA"].split(",")


def test_keyed_records_come_back_whole_and_in_order_per_key():
    topic = f"python-{uuid.uuid4().hex[:8]}"
    admin = KafkaAdminClient(bootstrap_servers=SERVERS)
    admin.create_topics([NewTopic(topic, 6, 3)])
    producer = KafkaProducer(bootstrap_servers=SERVERS, acks="all", linger_ms=5)
    sent = {}
    for i in range(3000):
        key = f"k{i % 13}".encode()
        sent.setdefault(key, []).append(str(i).encode())
        producer.send(topic, key=key, value=str(i).encode())
    producer.flush(60)
    consumer = KafkaConsumer(topic, bootstrap_servers=SERVERS, group_id=f"g-{topic}", auto_offset_reset="earliest",
                             consumer_timeout_ms=30000)
    got, count = {}, 0
    for record in consumer:
        got.setdefault(record.key, []).append(record.value)
        count += 1
        if count == 3000:
            break
    consumer.commit()
    committed = sum(consumer.committed(p) or 0 for p in consumer.assignment())
    consumer.close()
    assert got == sent
    assert committed == 3000
    admin.delete_topics([topic])
