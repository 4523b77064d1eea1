"""A contender of kazoo's. interop.py says what it is asked and what it answers.

    kazoo_contender.py <servers> <path> <id> <milliseconds of a turn> <session in milliseconds>

kazoo's lock is that of Curator but for the name of its nodes, which is told here.
"""

import logging
import os
import sys
import threading
import time

from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import KazooException
from kazoo.recipe.lock import Lock


class Latch(Lock):
    _NODE_NAME = "-latch-"
    _EXCLUDE_NAMES = ["-latch-"]


def say(*words):
    print(*words, flush=True)


def moment():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def hold(owns, turn):
    end = time.monotonic() + turn
    while True:
        at = moment()
        if not owns():
            say("lost", at)
            return
        left = end - time.monotonic()
        if left <= 0:
            say("releasing", at)
            return
        say("owns", at)
        time.sleep(min(0.02, left))


def leave_at_the_end():
    sys.stdin.read()
    os._exit(0)  # its session ends later, and with it its node


def main():
    servers, path, name, turn, session = sys.argv[1:]
    logging.disable(logging.CRITICAL)
    threading.Thread(target=leave_at_the_end, daemon=True).start()
    client = KazooClient(hosts=servers, timeout=int(session) / 1000)
    broken = threading.Event()
    client.add_listener(lambda state: None if state == KazooState.CONNECTED else broken.set())
    client.start()
    say("ready")
    while True:
        lock = Latch(client, path, identifier=name)
        broken.clear()
        try:
            if lock.acquire():
                say("acquired", moment())
                hold(lambda: lock.is_acquired and not broken.is_set(), int(turn) / 1000)
                lock.release()
        except KazooException as error:  # the connection is gone
            say("trouble", type(error).__name__)
            time.sleep(0.1)


main()
