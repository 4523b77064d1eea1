"""A contender of the JVM library on Redis for simba-chaos, with the scripts of jvm_contender.py and
as unsafe as that one: it considers itself the owner until a renewal says otherwise or fails.

    jvm_on_redis.py <record> <status> <sight> <seed> <mutex> <contender id> <ttl> <transition>
                    <drift> <password> <port>,... [<name of the master>]

See JvmContender and jvm_redis_command in servers.hpp, and record.hpp for what it writes down. Ends
with SIGTERM, or when the process that started it is gone.
"""

import os
import random
import select
import signal
import struct
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support", "jvm"))

import redis  # noqa: E402
import redis.sentinel  # noqa: E402
from jvm_contender import ACQUIRE, GUARD, NAMES, RELEASE  # noqa: E402

NANOSECONDS = 1_000_000  # of a millisecond


class Record:
    """One line an event, by one system call. `number` is the ownership, 0: it has none."""

    def __init__(self, record, status, sight):
        self.file = os.open(record, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self.status = os.open(status, os.O_WRONLY | os.O_CLOEXEC)
        self.sight = int(sight)
        self.number = 0
        self.last = 0
        self.until = 0
        threading.Thread(target=self.watch, daemon=True).start()

    def write(self, *words):
        os.write(self.file, (" ".join(map(str, words)) + "\n").encode())

    def granted(self, sent, milliseconds):
        """Counts from before the request, so that the server surely keeps it for that long."""
        answered = time.monotonic_ns()
        # What the server still had of it from before is the same ownership.
        if not self.number and answered >= self.until:
            self.last += 1
        self.until = sent + int(milliseconds * NANOSECONDS)
        self.write("granted", self.last, answered, self.until)
        self.number = self.last

    def yields(self):
        self.write("yields", self.number, time.monotonic_ns())
        self.until = 0
        self.number = 0

    def watch(self):
        """What others that ask this contender are told, also while it waits for the server."""
        while os.getppid() != 1:
            number = self.number
            now = time.monotonic_ns()
            if number and number == self.number:
                self.write("believes", number, now)
                if now < self.until:
                    os.pwrite(self.status, struct.pack("=q", now), self.sight)
            time.sleep(0.004)
        os._exit(1)


class Contender:
    def __init__(self, words):
        record, status, sight, seed, mutex, self.id, ttl, transition, drift, *rest = words
        self.password, ports, self.master = rest[0], rest[1], (rest + [""])[2]
        self.ports = [int(port) for port in ports.split(",")]
        self.random = random.Random(int(seed))
        self.ttl = int(ttl)
        self.lease = self.ttl + int(transition)
        self.slowest = 1 - int(drift) / 1_000_000  # a server's clock may be fast
        self.declared = "{" + mutex + "}"
        self.key = "simba:" + self.declared
        self.login = {"username": "admin", "password": self.password}
        self.record = Record(record, status, sight)
        self.redis = None
        self.messages = None
        self.contends = False
        self.next = 0.0  # when to act, in seconds of time.monotonic()
        self.end = 0.0  # when an owner gives the mutex back

    # -- the server

    def connect(self):
        if self.master:
            sentinels = redis.sentinel.Sentinel(
                [("127.0.0.1", port) for port in self.ports], sentinel_kwargs=self.login
            )
            host, port = sentinels.discover_master(self.master)
        else:
            host, port = "127.0.0.1", self.random.choice(self.ports)
        self.redis = redis.Redis(host=host, port=port, decode_responses=True, **self.login)
        self.redis.ping()
        self.messages = self.redis.pubsub()
        if self.contends:
            self.messages.subscribe(self.key, self.key + ":" + self.id)

    def disconnect(self):
        connected, self.redis, self.messages = (self.redis, self.messages), None, None
        for one in connected:
            if one is not None:
                one.close()

    def call(self, script):
        words = ("EVAL", NAMES + script, 1, self.declared, self.id, self.lease)
        try:
            return self.redis.execute_command(*words)
        except redis.ResponseError as error:
            # Newer versions of the module give the first word as the type of the error.
            kind = {"AskError": ["ASK"], "MovedError": ["MOVED"]}.get(type(error).__name__, [])
            referral = kind + str(error).split()
            if len(referral) != 3 or referral[0] not in ("ASK", "MOVED"):
                raise
        host, port = referral[2].rsplit(":", 1)
        with redis.Redis(
            host=host, port=int(port), single_connection_client=True, decode_responses=True, **self.login
        ) as other:
            if referral[0] == "ASK":
                other.execute_command("ASKING")
            return other.execute_command(*words)

    # -- what it does

    def wait(self, milliseconds):
        self.next = time.monotonic() + max(milliseconds, 0) / 1000

    def start(self):
        self.contends = True
        self.messages.subscribe(self.key, self.key + ":" + self.id)
        self.acquire()

    def acquire(self):
        sent = time.monotonic_ns()
        owner, left = self.call(ACQUIRE)
        left = max(left, 0)
        if owner != self.id:
            self.wait(left + self.random.uniform(-200, 1000))
            return
        self.record.granted(sent, left * self.slowest)
        self.wait(self.ttl)
        # As ours do, it stays now and then until it loses the mutex, if that comes soon.
        hold = 4 if self.random.randrange(8) == 0 else self.random.uniform(0.05, 0.6)
        self.end = time.monotonic() + hold

    def guard(self):
        sent = time.monotonic_ns()
        if self.call(GUARD) == 1:
            self.record.granted(sent, self.lease * self.slowest)
            self.wait(self.ttl)
        else:
            self.record.number = 0
            self.acquire()

    def release(self):
        self.contends = False
        self.messages.unsubscribe()
        self.record.yields()
        self.call(RELEASE)
        self.wait(self.random.uniform(10, 60))

    def act(self):
        if self.redis is None:
            self.connect()
        now = time.monotonic()
        if self.record.number and now >= self.end:
            self.release()
        elif now >= self.next:
            if not self.contends:
                self.start()
            elif self.record.number:
                self.guard()
            else:
                self.acquire()

    def take_messages(self):
        while self.messages.connection is not None:
            message = self.messages.get_message(timeout=0)
            if message is None:
                return
            if message["type"] == "message":
                event, _ = message["data"].split("@@")
                if event == "released" and self.contends and not self.record.number:
                    self.acquire()
                elif event not in ("acquired", "released"):
                    raise ValueError(message["data"])

    def run(self):
        while True:
            try:
                self.act()
                self.take_messages()
                sources = [] if self.messages.connection is None else [self.messages.connection._sock]
                limit = min(self.next, self.end) if self.record.number else self.next
                select.select(sources, [], [], min(max(limit - time.monotonic(), 0), 0.05))
            except (redis.RedisError, OSError):
                # It steps down at the first failure, and continues on a new connection.
                self.record.number = 0
                self.disconnect()
                self.wait(20)
                time.sleep(0.02)


def main():
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
    Contender(sys.argv[1:]).run()


main()
