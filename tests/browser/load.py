#!/usr/bin/python3
"""100 event streams of "simba serve" while 1,000 mutexes change hands: does memory stay flat, and does
the store notice how many pages are open?

Usage: tests/browser/load.py SIMBA [STREAMS] [SECONDS]      (default: 100 streams, 60 seconds)
Prints what it measured. Ends with 1 if memory grew by more than a fifth after the first third, if the store
had more than a fifth more to do than for one stream, or if a stream ended or missed something."""
import random
import selectors
import socket
import sys
import threading
import time

import stage as stages

MUTEXES = 1000


class Movers(threading.Thread):
    """Each mutex changes hands every other second or so."""

    def __init__(self, store):
        super().__init__(daemon=True)
        self.store = store
        self.ending = threading.Event()
        self.moves = 0

    def run(self):
        choose = random.Random(1)
        while not self.ending.is_set():
            begin = time.monotonic()
            pipe = self.store.redis.pipeline(transaction=False)
            for i in choose.sample(range(MUTEXES), MUTEXES // 20):
                self.store.own(f"order/{i:04}", f"worker-{choose.randrange(10000)}", lease=60, pipe=pipe)
                self.moves += 1
            pipe.execute()
            self.ending.wait(max(0, 0.1 - (time.monotonic() - begin)))


class Streams:
    """Event streams that are read."""

    def __init__(self, server, count):
        self.selector = selectors.DefaultSelector()
        self.bytes = self.ended = self.resets = 0
        self.news = {}
        for _ in range(count):
            stream = socket.create_connection(("127.0.0.1", server.port))
            stream.sendall(f"GET /api/events HTTP/1.1\r\nHost: localhost:{server.port}\r\n\r\n".encode())
            stream.setblocking(False)
            self.news[stream] = 0
            self.selector.register(stream, selectors.EVENT_READ)

    def read_until(self, end, each_second):
        next_second = time.monotonic()
        while (now := time.monotonic()) < end:
            if now >= next_second:
                each_second()
                next_second += 1
            for key, _ in self.selector.select(0.2):
                data = key.fileobj.recv(1 << 20)
                if not data:
                    self.ended += 1
                    self.selector.unregister(key.fileobj)
                    continue
                self.bytes += len(data)
                self.news[key.fileobj] += data.count(b"event: news")
                self.resets += data.count(b"event: reset")

    def close(self):
        for stream in self.news:
            stream.close()
        self.selector.close()


def resident(process):
    for line in open(f"/proc/{process}/status"):
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0


def processor_time(process):
    fields = open(f"/proc/{process}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100


def measure(stage, streams, seconds):
    server = stage.serve()
    store = stage.store.redis
    movers = Movers(stage.store)
    movers.start()
    open_streams = Streams(server, streams)
    memory = []
    try:
        open_streams.read_until(time.monotonic() + 5, lambda: None)  # all are connected
        asked = store.info("commandstats")["cmdstat_scan"]["calls"]
        used = processor_time(server.process.pid)
        resets = open_streams.resets
        begin = time.monotonic()
        open_streams.read_until(begin + seconds, lambda: memory.append(resident(server.process.pid)))
        took = time.monotonic() - begin
        looks = (store.info("commandstats")["cmdstat_scan"]["calls"] - asked) / took
        used = (processor_time(server.process.pid) - used) / took
    finally:
        movers.ending.set()
        movers.join()
        open_streams.close()
        server.close()
    third = len(memory) // 3
    result = {
        "memory": (max(memory[third:2 * third]), max(memory[2 * third:])), "looks": looks, "ended": open_streams.ended,
        "resets": open_streams.resets - resets, "news": (min(open_streams.news.values()), max(open_streams.news.values()))}
    print(f"{streams:4} streams, {took:.0f} s: {movers.moves / (took + 5):.0f} changes/s; server {result['memory'][0]:.1f} MiB in the "
          f"second third, {result['memory'][1]:.1f} MiB in the last, {used * 100:.0f} % of a core; {looks:.1f} SCAN/s at the store; "
          f"{open_streams.bytes / took / 1e6:.1f} MB/s sent; {result['news'][0]} to {result['news'][1]} news per stream, "
          f"{result['resets']} missed too much, {result['ended']} ended")
    return result


def main():
    absent = stages.missing()
    if absent:
        print("skipped: not installed: " + " ".join(absent))
        return 77
    streams = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    seconds = int(sys.argv[3]) if len(sys.argv) > 3 else 60
    stage = stages.Stage(sys.argv[1])
    try:
        one = measure(stage, 1, max(10, seconds // 4))
        many = measure(stage, streams, seconds)
    finally:
        stage.close()
    flat = many["memory"][1] < many["memory"][0] * 1.2
    constant = many["looks"] < one["looks"] * 1.2 + 1
    whole = many["ended"] == 0 and many["resets"] == 0
    print("memory is flat" if flat else "memory GROWS", "and",
          "the store does not notice the pages" if constant else "the store NOTICES the pages", "and",
          "nobody missed anything" if whole else "streams MISSED something")
    return 0 if flat and constant and whole else 1


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main())
