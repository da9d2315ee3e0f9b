"""Brokers that each have a network of their own: a namespace and an address on one bridge, so that any of them can be cut
off from any other, in one direction or in both."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import threading
import time
import urllib.request
import uuid

KAFKA, AMQP, ADMIN, PEER = 9092, 5672, 9644, 7644
USER, PASSWORD = "campaign", "campaign"
START_S = 30
# Every closed segment is read again so often.
SCRUB_S = 10
STOP_S = 40


class Failure(Exception):
    """What the campaign asks for does not hold."""


def wait_for(what: str, seconds: float, condition) -> float:
    """Seconds until the condition held."""
    began = time.monotonic()
    while not condition():
        if time.monotonic() - began > seconds:
            raise Failure(f"not within {seconds:.0f} s: {what}")
        time.sleep(0.02)
    return time.monotonic() - began


def run(*command: str, check: bool = True, **more) -> subprocess.CompletedProcess:
    return subprocess.run(command, check=check, capture_output=True, text=True, **more)


class Network:
    """A bridge, and for every broker a namespace with one address on it. Needs root."""

    def __init__(self, brokers: int):
        self.id = os.getpid() % 200 + 20
        self.bridge = f"mrc{self.id}"
        self.addresses = [f"10.83.{self.id}.{broker + 1}" for broker in range(brokers)]

    def namespace(self, broker: int) -> str:
        return f"{self.bridge}-{broker}"

    def up(self) -> None:
        run("ip", "link", "add", self.bridge, "type", "bridge")
        run("ip", "addr", "add", f"10.83.{self.id}.254/24", "dev", self.bridge)
        run("ip", "link", "set", self.bridge, "up")
        for broker, address in enumerate(self.addresses):
            ns, outer = self.namespace(broker), f"{self.bridge}v{broker}"
            run("ip", "netns", "add", ns)
            run("ip", "link", "add", outer, "type", "veth", "peer", "name", "eth0", "netns", ns)
            run("ip", "link", "set", outer, "master", self.bridge, "up")
            run("ip", "-n", ns, "addr", "add", f"{address}/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                run("ip", "-n", ns, "link", "set", device, "up")

    def down(self) -> None:
        for broker in range(len(self.addresses)):
            run("ip", "netns", "del", self.namespace(broker), check=False)
        run("ip", "link", "del", self.bridge, check=False)

    def drop(self, hearer: int, speaker: int, of_hundred: int = 100) -> None:
        """What `speaker` sends no longer reaches `hearer`, or only what luck lets through."""
        luck = f"numgen random mod 100 < {of_hundred} " if of_hundred < 100 else ""
        self.rules(hearer, f"ip saddr {self.addresses[speaker]} {luck}drop")

    def deafen(self, broker: int) -> None:
        """Nothing that anybody sends reaches the broker any more; what it sends goes out."""
        self.rules(broker, 'iifname "eth0" drop')

    def rules(self, broker: int, rule: str) -> None:
        ns = self.namespace(broker)
        script = ("add table ip faults\nadd chain ip faults input { type filter hook input priority 0; }\n"
                  f"add rule ip faults input {rule}\n")
        run("ip", "netns", "exec", ns, "nft", "-f", "-", input=script)

    def heal(self) -> None:
        for broker in range(len(self.addresses)):
            run("ip", "netns", "exec", self.namespace(broker), "nft", "delete", "table", "ip", "faults", check=False)


class Brokers:
    """Broker processes and what they say of themselves. One that dies is started again."""

    def __init__(self, binary: str, directory: pathlib.Path, count: int):
        self.binary, self.directory, self.count = binary, directory, count
        self.network = Network(count)
        self.processes: dict[int, subprocess.Popen] = {}
        self.deaths = 0
        self.downtime_s = lambda: 0.0
        self.guarding = threading.Event()
        # Who starts a broker must outlive it, and children are told of the end of a thread, too.
        self.guard = threading.Thread(target=self.keep_alive, daemon=True)

    def configure(self) -> None:
        users = self.directory / "users"
        line = run(self.binary, "amqp-user", USER, input=PASSWORD + "\n").stdout
        users.write_text(line)
        voters = ",".join(f"{b}@{a}:{PEER}" for b, a in enumerate(self.network.addresses))
        cluster_id = uuid.uuid4().hex
        for broker, address in enumerate(self.network.addresses):
            self.data(broker).mkdir(parents=True)
            ports = (("KAFKA", KAFKA), ("AMQP", AMQP), ("ADMIN", ADMIN), ("PEER", PEER))
            self.config(broker).write_text("\n".join([
                f"node.id={broker}", f"cluster.id={cluster_id}", f"broker.rack=zone-{broker}",
                "listeners=" + ",".join(f"{name}://{address}:{port}" for name, port in ports),
                f"log.dirs={self.data(broker)}", f"controller.quorum.voters={voters}",
                f"default.replication.factor={self.count}", f"offsets.topic.replication.factor={self.count}",
                "min.insync.replicas=2", f"millrace.amqp.users.file={users}",
                f"millrace.queue.memory.bytes={256 << 20}", f"millrace.log.scrub.interval.ms={SCRUB_S * 1000}",
                f"log.retention.check.interval.ms={SCRUB_S * 1000}", ""]))

    def data(self, broker: int) -> pathlib.Path:
        return self.directory / "data" / f"broker-{broker}"

    def config(self, broker: int) -> pathlib.Path:
        return self.directory / f"broker-{broker}.properties"

    def start(self) -> None:
        self.guarding.clear()
        self.guard.start()
        wait_for("a controller and all brokers are up", START_S, self.whole)

    def launch(self, broker: int) -> None:
        with open(self.directory / f"broker-{broker}.log", "ab") as log:
            self.processes[broker] = subprocess.Popen(
                ["nsenter", f"--net=/run/netns/{self.network.namespace(broker)}", self.binary, "broker",
                 "--config", str(self.config(broker)), "--exit-with-parent"],
                stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)

    def keep_alive(self) -> None:
        for broker in range(self.count):
            self.launch(broker)
        due: dict[int, float] = {}
        while not self.guarding.wait(0.02):
            for broker, process in list(self.processes.items()):
                if process.poll() is None:
                    continue
                if broker not in due:
                    self.deaths += 1
                    due[broker] = time.monotonic() + self.downtime_s()
                elif time.monotonic() >= due[broker]:
                    del due[broker]
                    self.launch(broker)
        # Here, since the brokers end with the thread that started them.
        for process in self.processes.values():
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGCONT)
                process.terminate()
        until = time.monotonic() + STOP_S
        for broker, process in self.processes.items():
            try:
                process.wait(max(0.1, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                self.stuck = broker

    stuck: int | None = None

    def stop(self) -> None:
        self.guarding.set()
        if self.guard.is_alive():
            self.guard.join()
        if self.stuck is not None:
            raise Failure(f"broker {self.stuck} did not stop within {STOP_S} s of SIGTERM")

    def signal(self, broker: int, what: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.processes[broker].send_signal(what)

    def bootstrap(self) -> str:
        return ",".join(f"{a}:{KAFKA}" for a in self.network.addresses)

    def amqp(self, broker: int) -> str:
        return (f"amqp://{USER}:{PASSWORD}@{self.network.addresses[broker]}:{AMQP}/"
                "?heartbeat=5&blocked_connection_timeout=5&socket_timeout=3&stack_timeout=5")

    def described(self) -> dict | None:
        """The cluster as the first broker that answers has it."""
        return self.asked("cluster")

    def topic_id(self, topic: str) -> str:
        found: list = []
        wait_for(f"somebody knows the topic {topic}", START_S,
                 lambda: found.append(self.asked(f"topics/{topic}")) or found[-1])
        return found[-1]["id"]

    def asked(self, path: str) -> dict | None:
        """What the first broker that answers says there."""
        for address in self.network.addresses:
            try:
                with urllib.request.urlopen(f"http://{address}:{ADMIN}/v1/{path}", timeout=2) as answer:
                    return json.load(answer)
            except (OSError, ValueError):
                continue
        return None

    def whole(self) -> bool:
        """Every broker takes part, every replica is in sync."""
        d = self.described()
        return bool(d and d["controller"] is not None and len(d["brokers"]) == self.count
                    and not d["partitions"]["under_replicated"] and not d["partitions"]["offline"]
                    and not any(b["fenced"] for b in d["brokers"]))
