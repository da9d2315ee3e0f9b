"""The three servers of a comparison, each started on loopback in a folder of its own and stopped whole."""

import glob
import json
import os
import shutil
import signal
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))


def script(name: str, *args: str, timeout: float = 180, env: dict | None = None) -> str:
    """Runs one of bin/; its output. Servers it leaves running must not hold our pipe, so files it is."""
    out = os.path.join("/tmp", f"millrace-compare-{os.getpid()}.out")
    with open(out, "w") as f:
        subprocess.run(
            [os.path.join(HERE, "bin", name), *args],
            stdout=f, stdin=subprocess.DEVNULL, check=True, timeout=timeout, env={**os.environ, **(env or {})},
        )
    with open(out) as f:
        return f.read()


def last_json(text: str) -> dict:
    return json.loads(text.strip().splitlines()[-1])


def descendants(pid: int) -> list[int]:
    found = [pid]
    for path in glob.glob(f"/proc/{pid}/task/*/children"):
        try:
            with open(path) as f:
                children = f.read().split()
        except OSError:
            continue
        for child in children:
            found += descendants(int(child))
    return found


class Server:
    """What both that speak Kafka's protocol have in common."""

    bootstrap: str
    nodes: int

    def await_produce(self) -> None:
        script("kbench", "wait", "-brokers", self.bootstrap, "-n", str(self.nodes))

    def whole(self, topic: str) -> None:
        """Waits until every replica of the topic is in sync and led by its first one."""
        until = time.monotonic() + 120
        while time.monotonic() < until:
            out = script("kafka-tool", "topics", "--bootstrap-server", self.bootstrap, "--describe", "--topic", topic)
            lines = [line.split() for line in out.splitlines() if "Partition:" in line]
            told = [{k: line[line.index(k) + 1] for k in ("Leader:", "Replicas:", "Isr:")} for line in lines]
            if told and all(len(t["Isr:"].split(",")) == len(t["Replicas:"].split(",")) for t in told):
                script("kafka-tool", "leader-election", "--bootstrap-server", self.bootstrap, "--election-type",
                       "preferred", "--all-topic-partitions")
                return
        raise RuntimeError(f"{topic} is not whole within 120 s")


class Kafka(Server):
    name = "Kafka 4.4"

    def __init__(self, work: str, nodes: int):
        self.dir, self.nodes = os.path.join(work, "kafka"), nodes

    def start(self) -> float:
        """Seconds from the first process to the first acknowledged produce."""
        shutil.rmtree(self.dir, ignore_errors=True)
        script("kafka-up", str(self.nodes), self.dir, env={"FORMAT_ONLY": "1"})
        began = time.monotonic()
        self.bootstrap = script("kafka-up", str(self.nodes), self.dir).split()[-1]
        return time.monotonic() - began

    def pids(self) -> list[int]:
        return [int(open(f).read()) for f in sorted(glob.glob(f"{self.dir}/n*/pid"))]

    def pid(self, broker: int) -> int:
        with open(f"{self.dir}/n{broker}/pid") as f:
            return int(f.read())

    def revive(self, broker: int) -> None:
        if not os.path.exists(f"/proc/{self.pid(broker)}"):
            script("kafka-node", self.dir, str(broker), "start")

    def kill_and_start(self) -> float:
        """Seconds from the start over what a kill left to an acknowledged produce."""
        script("kafka-node", self.dir, "1", "kill9")
        began = time.monotonic()
        script("kafka-node", self.dir, "1", "start")
        self.await_produce()
        return time.monotonic() - began

    def stop(self) -> None:
        script("kafka-down", self.dir, "--wipe")


class Rabbit:
    name = "RabbitMQ"

    def __init__(self, work: str, nodes: int):
        self.dir, self.nodes = os.path.join(work, "rabbit"), nodes

    def start(self) -> float:
        shutil.rmtree(self.dir, ignore_errors=True)
        began = time.monotonic()
        self.urls = script("rabbit-up", str(self.nodes), self.dir).split()[-1]
        return time.monotonic() - began

    def pids(self) -> list[int]:
        found = subprocess.run(["pgrep", "-f", f"beam.*{self.dir}"], capture_output=True, text=True)
        return [int(p) for p in found.stdout.split()]

    def stop(self) -> None:
        script("rabbit-down", self.dir, "--wipe")


class Millrace(Server):
    name = "Millrace"

    def __init__(self, work: str, nodes: int, offset: int = 23000):
        self.dir, self.nodes, self.offset = os.path.join(work, "millrace"), nodes, offset
        self.bootstrap = ",".join(f"127.0.0.1:{9092 + offset + i}" for i in range(nodes))
        self.urls = ",".join(f"amqp://guest:guest@127.0.0.1:{5672 + offset + i}/" for i in range(nodes))
        self.process: subprocess.Popen | None = None

    def start(self) -> float:
        shutil.rmtree(self.dir, ignore_errors=True)
        os.makedirs(self.dir)
        ready = os.path.join(self.dir, "ready")
        began = time.monotonic()
        with open(os.path.join(self.dir, "log"), "w") as log:
            self.process = subprocess.Popen(
                [os.environ.get("MILLRACE") or os.path.join(ROOT, "target/release/millrace"), "local", "--brokers", str(self.nodes),
                 "--data", os.path.join(self.dir, "data"), "--port-offset", str(self.offset), "--ready-file", ready],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL,
            )
        while not os.path.exists(ready):
            if self.process.poll() is not None or time.monotonic() - began > 60:
                raise RuntimeError(f"millrace did not start: see {self.dir}/log")
            time.sleep(0.01)
        self.await_produce()
        return time.monotonic() - began

    def pids(self) -> list[int]:
        assert self.process
        return descendants(self.process.pid)[1:]

    def pid(self, broker: int) -> int:
        """By its port, since a restarted one has another process id."""
        port = 9092 + self.offset + broker
        out = subprocess.run(["ss", "-Hltnp", f"sport = :{port}"], capture_output=True, text=True, check=True).stdout
        return int(out.split("pid=")[1].split(",")[0])

    def revive(self, broker: int) -> None:
        """Local mode starts it again by itself."""

    def kill_and_start(self) -> float:
        """Seconds from the kill, after which local mode starts the broker again, to an acknowledged produce."""
        pid = self.pid(0)
        began = time.monotonic()
        os.kill(pid, signal.SIGKILL)
        while os.path.exists(f"/proc/{pid}"):
            time.sleep(0.001)
        self.await_produce()
        return time.monotonic() - began

    def stop(self) -> None:
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(60)
        shutil.rmtree(self.dir, ignore_errors=True)
