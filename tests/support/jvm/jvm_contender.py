"""A contender of the JVM library, as far as Redis sees it, and no safer than that: it declares none
of the keys that its scripts touch, only their hash tag, and considers itself the owner until a renewal says otherwise.

    jvm_contender.py <host> <port> <user> <password> <mutex> <contender id> <ttl> <transition>

with times in milliseconds. Obeys a line each from standard input, and ends with it:

    start       contends until "release": waits, acquires, renews
    renew off   an owner lets its lease run out
    renew on
    release     gives the mutex back, or leaves the queue, and contends no more
    quit

and says, a line each, where <time> is CLOCK_BOOTTIME in nanoseconds:

    ready
    waiting <owner>         after each attempt that has failed
    acquired <time>         after the server has said so
    renewed
    lost <time>             a renewal came too late
    releasing <time>        before the server hears of it
    released | not released
    saw <event> <id>        for each message on its channels
    error <text>            and ends with code 3: also after a message that is not of the protocol
"""

import os
import random
import select
import sys
import time

import redis

# Put before each script. The only key that is declared is a name that no key has.
NAMES = """
local lock = 'simba:' .. KEYS[1]
local queue = lock .. ':contender'
"""

ACQUIRE = """
if redis.call('SET', lock, ARGV[1], 'NX', 'PX', ARGV[2]) then
  redis.call('PUBLISH', lock, 'acquired@@' .. ARGV[1])
  return {ARGV[1], tonumber(ARGV[2])}
end
redis.call('ZADD', queue, 'NX', redis.call('TIME')[1], ARGV[1])
return {redis.call('GET', lock), redis.call('PTTL', lock)}
"""

GUARD = """
if redis.call('GET', lock) == ARGV[1] then
  redis.call('SET', lock, ARGV[1], 'XX', 'PX', ARGV[2])
  return 1
end
return 0
"""

RELEASE = """
if redis.call('GET', lock) ~= ARGV[1] then
  redis.call('ZREM', queue, ARGV[1])
  return 0
end
redis.call('DEL', lock)
local next = redis.call('ZPOPMIN', queue)[1]
if next then
  redis.call('PUBLISH', lock .. ':' .. next, 'released@@' .. ARGV[1])
end
return 1
"""


class BadMessage(Exception):
    pass


def say(*words):
    print(*words, flush=True)


def moment():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


class Contender:
    def __init__(self, host, port, user, password, mutex, contender_id, ttl, transition):
        self.id = contender_id
        self.ttl = int(ttl)
        self.lease = int(ttl) + int(transition)
        self.declared = "{" + mutex + "}"
        self.key = "simba:" + self.declared
        self.own_channel = self.key + ":" + contender_id
        self.login = {"username": user, "password": password, "decode_responses": True}
        self.redis = redis.Redis(host=host, port=int(port), **self.login)
        self.redis.ping()
        self.messages = self.redis.pubsub()
        self.subscribed = 0
        self.owner = False
        self.renews = True
        self.next = None  # when to act by itself, in seconds of time.monotonic(); None: never

    def call(self, script):
        words = ("EVAL", NAMES + script, 1, self.declared, self.id, self.lease)
        try:
            return self.redis.execute_command(*words)
        except redis.ResponseError as error:
            # "ASK <slot> <host>:<port>", or MOVED: of a cluster. Newer versions of the module give
            # the first word as the type of the error.
            kind = {"AskError": ["ASK"], "MovedError": ["MOVED"]}.get(type(error).__name__, [])
            referral = kind + str(error).split()
            if len(referral) != 3 or referral[0] not in ("ASK", "MOVED"):
                raise
        host, port = referral[2].rsplit(":", 1)
        with self.connect(host, int(port)) as other:
            if referral[0] == "ASK":
                other.execute_command("ASKING")
            return other.execute_command(*words)

    def connect(self, host, port):
        return redis.Redis(host=host, port=port, single_connection_client=True, **self.login)

    def act_in(self, milliseconds):
        self.next = time.monotonic() + max(milliseconds, 0) / 1000

    # -- orders

    def start(self):
        self.messages.subscribe(self.key, self.own_channel)

    def release(self):
        self.next = None
        self.owner = False
        self.messages.unsubscribe()
        say("releasing", moment())
        say("released" if self.call(RELEASE) == 1 else "not released")

    def obey(self, order):
        if order == "start":
            self.start()
        elif order == "release":
            self.release()
        elif order in ("renew on", "renew off"):
            self.renews = order == "renew on"
        elif order == "quit":
            sys.exit(0)
        else:
            raise ValueError("unknown order " + order)

    # -- what it does by itself

    def acquire(self):
        owner, left = self.call(ACQUIRE)
        if owner == self.id and not self.owner:
            self.owner = True
            say("acquired", moment())
            self.act_in(self.ttl)
        else:
            say("waiting", owner)
            self.act_in(left + random.uniform(-200, 1000))

    def guard(self):
        if not self.renews:
            self.next = None
        elif self.call(GUARD) == 1:
            say("renewed")
            self.act_in(self.ttl)
        else:
            self.owner = False
            say("lost", moment())
            self.acquire()

    def act(self):
        if self.owner:
            self.guard()
        else:
            self.acquire()

    def take(self, message):
        kind = message["type"]
        if kind == "subscribe":
            self.subscribed += 1
            if self.subscribed == 2:
                self.acquire()
        elif kind == "unsubscribe":
            self.subscribed -= 1
        elif kind == "message":
            parts = message["data"].split("@@")
            if len(parts) != 2 or parts[0] not in ("acquired", "released"):
                raise BadMessage(repr(message["data"]))
            say("saw", *parts)
            if parts[0] == "released" and self.next is not None and not self.owner:
                self.acquire()

    def take_messages(self):
        # Without a subscription ever, there is no connection to read from.
        while self.messages.connection is not None:
            message = self.messages.get_message(timeout=0)
            if message is None:
                return
            self.take(message)

    # -- the loop

    def run(self):
        say("ready")
        orders = b""
        while True:
            self.take_messages()
            if self.next is not None and time.monotonic() >= self.next:
                self.act()
                continue
            sources = [0]
            if self.messages.connection is not None:
                sources.append(self.messages.connection._sock)
            wait = None if self.next is None else max(self.next - time.monotonic(), 0)
            if 0 in select.select(sources, [], [], wait)[0]:
                read = os.read(0, 4096)
                if not read:
                    return
                orders += read
                *lines, orders = orders.split(b"\n")
                for line in lines:
                    self.obey(line.decode())


def main():
    try:
        Contender(*sys.argv[1:]).run()
    except Exception as error:  # every one is to be told
        say("error", type(error).__name__, str(error).replace("\n", " "))
        sys.exit(3)


if __name__ == "__main__":
    main()
