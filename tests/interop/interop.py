"""Runs our contenders beside those of other libraries on one mutex of a real server, and tells who
owned it when. scripts/interop.sh starts it.

    interop.py <folder of programs> <folder of jars and classes, or -> <python with kazoo, or -> <folder>

A contender is a process. It acquires the mutex, holds it for a turn, releases it, and acquires it again, until
its input ends. It says, a line each, where <time> is CLOCK_BOOTTIME in nanoseconds:

    ready
    acquired <time>      it owns the mutex
    owns <time>          it owned it at that time, by its own account; every 20 ms
    lost <time>          it no longer does
    releasing <time>     just before it tells the server
    error <text>         and ends

Owners are killed (KILL) and paused beyond their lease (STOP, CONT). There must never be two owners at a
time. A contender that does not time its own lease (the JVM library, Curator, kazoo) and was paused as the
owner still considers itself the owner when it wakes: that is counted separately. So is what the JVM library
takes for an acquisition although the server has granted nothing: a late message about an earlier
acquisition of its own. Ends with code 1 if there were two owners otherwise, or if somebody's share of the
turns is not within a factor of two of the fair one.
"""

import os
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time

SECOND = 1_000_000_000
TTL = 2_000
TRANSITION = 1_000
LEASE = TTL + TRANSITION
PASSWORD = "SIMBA_INTEROP_PASSWORD"


def moment():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def clock_offset():
    return moment() - time.clock_gettime_ns(time.CLOCK_MONOTONIC)


class Turn:
    def __init__(self, contender, begin):
        self.contender = contender
        self.begin = begin
        self.end = begin  # the last moment at which it was the owner by its own account
        self.over = False
        self.released = False
        self.paused_at = None
        self.woken_at = 0
        self.woken = []  # what it claimed after a pause

    def claim(self, at):
        if self.paused_at and at > self.paused_at:
            self.woken.append(max(at, self.woken_at))  # who is asked from outside answers late
        else:
            self.end = max(self.end, at)


class Contender:
    """A process, and what it has said."""

    def __init__(self, stage, side, name, command, environment=None):
        self.stage, self.side, self.name = stage, side, name
        self.turn = None
        self.is_ready = threading.Event()
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=dict(os.environ, **(environment or {})),
        )
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            word, _, rest = line.strip().partition(" ")
            with self.stage.lock:
                self.take(word, rest)

    def take(self, word, rest):
        if word == "ready":
            self.is_ready.set()
        elif word == "acquired":
            self.turn = Turn(self, int(rest))
            self.stage.turns.append(self.turn)
            self.stage.changed.notify_all()
        elif word in ("owns", "releasing", "lost") and self.turn:
            if word != "lost":
                self.turn.claim(int(rest))
            if word != "owns":
                self.turn.over = True
                self.turn.released = word == "releasing"
                self.turn = None
        elif word == "error":
            self.stage.errors.append(f"{self.name}: {rest}")

    def signal(self, number):
        self.process.send_signal(number)

    def end(self):
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class CuratorContender(Contender):
    """Curator's contender of the other tests, which waits for orders."""

    def __init__(self, stage, side, name, command, turn):
        self.length = turn / 1000
        self.answers = []
        super().__init__(stage, side, name, command)
        threading.Thread(target=self.drive, daemon=True).start()

    def take(self, word, rest):
        if word == "leads":
            self.answers.append(rest == "yes")
            self.stage.changed.notify_all()
        elif word == "closing":
            super().take("releasing", rest)
        elif word == "released" and self.turn:
            super().take("lost", rest)
        else:
            super().take(word, rest)

    def order(self, text):
        try:
            self.process.stdin.write(text + "\n")
            self.process.stdin.flush()
            return True
        except (OSError, ValueError):
            return False

    def drive(self):
        self.is_ready.wait()
        while self.order("start"):
            with self.stage.lock:
                self.stage.changed.wait_for(lambda: self.turn or self.process.poll() is not None)
            end = time.monotonic() + self.length
            while self.turn and time.monotonic() < end:
                at = moment()
                self.order("leads?")
                with self.stage.lock:
                    self.stage.changed.wait_for(
                        lambda: self.answers or self.process.poll() is not None, 60
                    )
                    if not self.answers:
                        return
                    if self.answers.pop():
                        super().take("owns", at)
                time.sleep(0.02)
            if not self.order("close"):
                return


class RedisGrants:
    """Counts by contender what the server announces on the channel of a mutex."""

    def __init__(self, location, mutex):
        self.counts = {}
        self.socket = socket.create_connection(("127.0.0.1", int(location["port"])))
        for words in (("AUTH", "admin", location["password"]), ("SUBSCRIBE", f"simba:{{{mutex}}}")):
            self.socket.sendall((" ".join(words) + "\r\n").encode())
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        with self.socket.makefile("rb") as lines:
            for line in lines:
                word, _, name = line.strip().decode().partition("@@")
                if word == "acquired":
                    self.counts[name] = self.counts.get(name, 0) + 1


class Stage:
    """The contenders of one mutex, the owners so far, and what was done to them."""

    def __init__(self, title):
        self.title = title
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.turns = []
        self.errors = []
        self.contenders = []
        self.grants = None
        self.counted_from = 0  # the turns before do not count for shares
        self.takeovers = {}  # what was done -> seconds until the next owner
        self.made = 0

    def add(self, make):
        self.made += 1
        contender = make(self, self.made)
        contender.make = make
        self.contenders.append(contender)
        return contender

    def wait_until_ready(self):
        for contender in self.contenders:
            if not contender.is_ready.wait(60):
                raise SystemExit(f"interop: {contender.name} does not start: {self.errors}")

    def owner_of(self, side, limit):
        """The turn of an owner of that side that has just begun, or none in time."""
        end = time.monotonic() + limit
        with self.lock:
            seen = len(self.turns)
            while time.monotonic() < end:
                self.changed.wait(end - time.monotonic())
                for turn in self.turns[seen:]:
                    if turn.contender.side == side and not turn.over:
                        return turn
                seen = len(self.turns)
        return None

    def next_after(self, turn, since, limit):
        """How many seconds after that moment another had the mutex."""
        def found():
            return [t for t in self.turns if t.begin > since and t.contender is not turn.contender]
        with self.lock:
            self.changed.wait_for(found, limit)
            later = found()
        return (min(t.begin for t in later) - since) / SECOND if later else float("inf")

    def strike(self, side, kind):
        turn = self.owner_of(side, 30)
        if turn is None:
            self.errors.append(f"no contender of {side} owned the mutex within 30 s")
            return
        victim = turn.contender
        victim.signal(signal.SIGKILL if kind == "kill" else signal.SIGSTOP)
        if kind == "pause":
            os.waitid(os.P_PID, victim.process.pid, os.WSTOPPED | os.WNOWAIT)
        since = moment()
        if kind == "pause":
            with self.lock:
                turn.paused_at = since
        if kind == "kill":
            victim.process.wait()
            self.contenders.remove(victim)
            waited = self.next_after(turn, since, 20)
            with self.lock:
                turn.over = True
            self.add(victim.make).is_ready.wait(60)
        else:
            waited = self.next_after(turn, since, 20)
            time.sleep(max(0.0, LEASE / 1000 + 2 - waited))
            with self.lock:
                turn.woken_at = moment()
            victim.signal(signal.SIGCONT)
            time.sleep(1)
        self.takeovers.setdefault((kind, side), []).append(waited)

    def finish(self):
        for contender in self.contenders:
            contender.end()

    def overlaps(self):
        """Pairs of turns of which the second began before the first had ended."""
        turns = sorted(self.turns, key=lambda turn: turn.begin)
        found = []
        for index, turn in enumerate(turns):
            for later in turns[index + 1 :]:
                if later.begin >= turn.end:
                    break
                if later.contender is not turn.contender:
                    found.append((turn, later))
        return found

    def ungranted(self):
        """Turns within another's, of contenders that took more turns than the server has granted."""
        if not self.grants:
            return []
        found = []
        for contender in {later.contender for _, later in self.overlaps()}:
            within = [later for _, later in self.overlaps() if later.contender is contender]
            taken = sum(turn.contender is contender for turn in self.turns)
            spare = taken - self.grants.counts.get(contender.name, 0)
            found += within[: max(spare, 0)] if contender.side != "ours" else []
        return found

    def wakings(self):
        """Turns that went on after a pause while another owned the mutex, and for how many ms."""
        found = []
        for turn in self.turns:
            others = [t for t in self.turns if t.contender is not turn.contender]
            wrong = [at for at in turn.woken if any(t.begin < at < t.end for t in others)]
            if wrong:
                found.append((turn, (wrong[-1] - turn.woken[0]) / 1e6))
        return found

    def hand_overs(self):
        """(from, to) -> milliseconds."""
        turns = sorted(self.turns, key=lambda turn: turn.begin)
        found = {}
        for before, after in zip(turns, turns[1:]):
            if before.released and not before.paused_at and before.contender is not after.contender:
                key = (before.contender.side, after.contender.side)
                found.setdefault(key, []).append((after.begin - before.end) / 1e6)
        return found


def table(head, rows):
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print()


def how_long(lengths):
    """One that claimed to be the owner only once leaves no length to tell: see "owns" above."""
    if not lengths:
        return ""
    if max(lengths) >= 0.5:
        return f", for up to {max(lengths):.0f} ms"
    return ", in a single report" + (" each" if len(lengths) > 1 else "")


def span(values, unit=""):
    low, high = f"{min(values):.2f}", f"{max(values):.2f}"
    return (low if low == high else f"{low} – {high}") + unit


def report(stage, judge_shares):
    """Prints it and returns what is wrong."""
    wrong = list(stage.errors)
    print(f"### {stage.title}\n")
    overlaps = stage.overlaps()
    ungranted = stage.ungranted()
    for turn, later in list(overlaps):
        if later in ungranted:
            overlaps.remove((turn, later))
            continue
        length = (min(turn.end, later.end) - later.begin) / 1e6
        wrong.append(
            f"SAFETY-VIOLATION: {later.contender.name} began {length:.1f} ms before "
            f"{turn.contender.name} ended"
        )
    wakings = stage.wakings()
    for turn, _ in wakings:
        if turn.contender.side == "ours":
            wrong.append(f"SAFETY-VIOLATION: {turn.contender.name} owned the mutex after its pause")
    print(f"{len(stage.turns)} turns; two owners at a time: {len(overlaps)}.", end="")
    if ungranted:
        length = max((turn.end - turn.begin) / 1e6 for turn in ungranted)
        print(
            f" Turns that the JVM library began without a grant of the server: {len(ungranted)}, "
            f"of up to {length:.0f} ms.",
            end="",
        )
    print("\n")
    paused = {}
    for turn in stage.turns:
        if turn.paused_at:
            paused.setdefault(turn.contender.side, []).append(turn)
    if paused:
        print("Paused owners that took themselves for the owner when they woke, while another was:\n")
    for side, turns in sorted(paused.items()):
        lengths = [length for turn, length in wakings if turn in turns]
        print(f"- {side}: {len(lengths)} of {len(turns)}" + how_long(lengths))
    if paused:
        print()
    if stage.counted_from:
        turns = [turn for turn in stage.turns if turn.begin >= stage.counted_from]
        fair = len(turns) / len(stage.contenders)
        sides = {}
        for contender in stage.contenders:
            count = sum(turn.contender is contender for turn in turns)
            sides.setdefault(contender.side, []).append(count / fair)
            if judge_shares and not fair / 2 <= count <= fair * 2:
                wrong.append(f"{contender.name} had {count / fair:.2f} of its fair share")
        table(
            ("side", "contenders", "smallest and largest share (1 is fair)"),
            [(s, len(v), span(v)) for s, v in sorted(sides.items())],
        )
    rows = []
    for (before, after), values in sorted(stage.hand_overs().items()):
        values.sort()
        rows.append(
            (f"{before} → {after}", len(values), f"{statistics.median(values):.1f}",
             f"{values[int(len(values) * 0.99)]:.1f}", f"{values[-1]:.1f}")
        )
    if rows:
        table(
            ("release → acquisition", "count", "median, ms", "99th percentile, ms", "longest, ms"),
            rows,
        )
    rows = [
        (f"{kind} an owner of {side}", len(values), span(values, " s"))
        for (kind, side), values in sorted(stage.takeovers.items())
    ]
    if rows:
        table(("what was done", "count", "time until another owned it"), rows)
    for text in wrong:
        print("- **" + text + "**")
    sys.stdout.flush()
    return wrong


class Lab:
    def __init__(self, programs, jars, python, folder):
        self.programs, self.python, self.folder = programs, python, folder
        self.jars = None if jars == "-" else jars
        self.python = None if python == "-" else python
        self.here = os.path.dirname(os.path.abspath(__file__))
        self.names = {}

    def server(self, product):
        folder = os.path.join(self.folder, product)
        subprocess.run(
            [self.programs + "/simba-test-server", "start", product, folder],
            check=True,
            stdout=sys.stderr,
        )
        with open(folder + "/location", encoding="utf-8") as file:
            return dict(part.split("=", 1) for part in file.read().strip().split(";") if part)

    def name(self, side):
        self.names[side] = self.names.get(side, 0) + 1
        return f"{side}-{self.names[side]}"

    def java(self, *words):
        return [
            "java", "-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData",
            "-Dkotlin-logging.logStartupMessage=false",
            "-cp", f"{self.jars}/classes:{self.jars}/*", *words,
        ]

    def ours(self, url, mutex, turn):
        def make(stage, _):
            name = self.name("ours")
            command = [self.programs + "/simba-interop-contender", url, mutex, name, str(turn)]
            return Contender(stage, "ours", name, command, {PASSWORD: self.password})
        return make

    def jvm(self, location, mutex, turn, channels):
        # Its scripts need rights that ours do not: docs/moving-from-the-jvm-library.md.
        url = "redis://admin:{password}@127.0.0.1:{port}".format(**location)
        def make(stage, _):
            name = self.name("jvm")
            return Contender(
                stage, "the JVM library", name,
                self.java("RedisContender", url, mutex, name, str(turn), str(TTL),
                          str(TRANSITION), str(clock_offset()), channels),
            )
        return make

    def curator(self, servers, mutex, turn):
        def make(stage, _):
            name = self.name("curator")
            return CuratorContender(
                stage, "Curator", name,
                self.java("CuratorContender", servers, "/simba/" + mutex, name, str(LEASE), "5000",
                          str(clock_offset())),
                turn,
            )
        return make

    def kazoo(self, servers, mutex, turn):
        def make(stage, _):
            name = self.name("kazoo")
            command = [self.python, self.here + "/kazoo_contender.py", servers, "/simba/" + mutex,
                       name, str(turn), str(LEASE)]
            return Contender(stage, "kazoo", name, command)
        return make

    def play(self, title, makers, seconds, strikes=(), judge_shares=False, grants=None):
        stage = Stage(title)
        stage.grants = grants
        for make in makers:
            stage.add(make)
        stage.wait_until_ready()
        if strikes:
            for side, kind in strikes:
                stage.strike(side, kind)
        else:
            time.sleep(3)  # who came first has had more
            stage.counted_from = moment()
            time.sleep(seconds)
        stage.finish()
        return report(stage, judge_shares)

    def redis(self, seconds, rounds):
        location = self.server("redis")
        self.password = location["password"]
        url = (f"redis://{location['user']}@127.0.0.1:{location['port']}"
               f"?ttl={TTL}ms&transition={TRANSITION}ms&password-env={PASSWORD}")
        jvm = "the JVM library"
        wrong = self.play(
            f"Redis: eight of ours, two of the JVM library's, turns of 50 ms, {seconds} s",
            [self.ours(url, "shares", 50)] * 8 + [self.jvm(location, "shares", 50, "tagged")] * 2,
            seconds, judge_shares=True, grants=RedisGrants(location, "shares"),
        )
        wrong += self.play(
            "Redis: three of ours, two of the JVM library's, turns of 300 ms, owners killed and paused",
            [self.ours(url, "faults", 300)] * 3 + [self.jvm(location, "faults", 300, "tagged")] * 2,
            0, [(side, kind) for kind in ("kill", "pause") for side in ("ours", jvm)] * rounds,
            grants=RedisGrants(location, "faults"),
        )
        self.play(
            "Redis: one of ours, one of the JVM library's with its channels as they are, "
            f"turns of 50 ms, {seconds} s",
            [self.ours(url, "plain", 50), self.jvm(location, "plain", 50, "plain")], seconds,
        )
        return wrong

    def zookeeper(self, seconds, rounds):
        location = self.server("zookeeper")
        self.password = ""
        servers = "127.0.0.1:" + location["port"]
        url = f"zookeeper://{servers}?session-timeout={LEASE}ms"
        sides = [("Curator", self.curator)] * bool(self.jars) + [("kazoo", self.kazoo)] * bool(self.python)
        names = " and ".join(f"two of {side}'s" for side, _ in sides)

        def crew(mutex, turn):
            theirs = [make(servers, mutex, turn) for _, make in sides for _ in range(2)]
            return [self.ours(url, mutex, turn)] * 2 + theirs

        wrong = self.play(
            f"ZooKeeper: two of ours, {names}, turns of 10 ms, {seconds} s",
            crew("shares", 10), seconds, judge_shares=True,
        )
        wrong += self.play(
            f"ZooKeeper: two of ours, {names}, turns of 300 ms, owners killed and paused",
            crew("faults", 300), 0,
            [(s, k) for k in ("kill", "pause") for s in ["ours"] + [side for side, _ in sides]] * rounds,
        )
        return wrong


def main():
    lab = Lab(*sys.argv[1:5])
    seconds = int(os.environ.get("INTEROP_SECONDS", "60"))
    rounds = int(os.environ.get("INTEROP_ROUNDS", "3"))
    stores = os.environ.get("INTEROP_STORES", "redis zookeeper").split()
    wrong = []
    if lab.jars and "redis" in stores:
        wrong += lab.redis(seconds, rounds)
    if (lab.jars or lab.python) and "zookeeper" in stores:
        wrong += lab.zookeeper(seconds, rounds)
    sys.exit(1 if wrong else 0)


main()
