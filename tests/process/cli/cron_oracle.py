#!/usr/bin/python3
"""Compares what `simba schedule --dry-run` says with croniter, over random expressions and zones.

Usage: cron_oracle.py <simba> <expressions> <seed>

Left out is where the two differ on purpose: day fields that list or step over all days
(whether they restrict days depends on their first character here, as in Vixie cron), and the days around a change of the clocks. croniter counts on the
clock on the wall alone: in zones it has mistakes of its own.
"""
import datetime
import random
import subprocess
import sys
import zoneinfo

try:
    import croniter
except ImportError:
    print("python3-croniter is not installed")
    sys.exit(77)

ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe",
         "America/St_Johns", "Pacific/Auckland"]
MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
DAYS = "sun mon tue wed thu fri sat".split()


def item(least, most, names):
    kind = random.choice("nnrs")
    if kind == "n":
        value = random.randint(least, most)
        return names[value - least] if names and random.random() < 0.5 else str(value)
    first = random.randint(least, most - 1)
    last = random.randint(first + 1, most)
    return f"{first}-{last}" + (f"/{random.randint(1, last - first)}" if kind == "s" else "")


def field(least, most, names=None, steps=True):
    kind = random.random()
    if kind < 0.35:
        return "*"
    if kind < 0.45 and steps:
        return f"*/{random.randint(2, most)}"
    return ",".join(item(least, most, names) for _ in range(random.randint(1, 3)))


def expression():
    return " ".join((field(0, 59), field(0, 23), field(1, 30, steps=False), field(1, 12, MONTHS),
                     field(0, 5, DAYS, steps=False)))


def changes_near(moment, zone):
    day = datetime.timedelta(days=1)
    return len({(moment + n * day).astimezone(zone).utcoffset() for n in (-1, 0, 1)}) > 1


def main():
    simba, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    random.seed(seed)
    compared = 0
    for _ in range(count):
        text, name = expression(), random.choice(ZONES)
        zone = zoneinfo.ZoneInfo(name)
        begin = datetime.datetime.now(datetime.timezone.utc)
        run = subprocess.run([simba, "schedule", "--cron", text, "--zone", name, "--dry-run"],
                             capture_output=True, text=True)
        if run.returncode != 0:
            try:
                croniter.croniter(text, begin).get_next()
            except croniter.CroniterBadDateError:
                continue  # such as 30 February
            sys.exit(f"{text}: {run.stderr}")
        ours = [datetime.datetime.fromisoformat(line) for line in run.stdout.split()]
        # A minute that has begun since we looked at the clock is theirs, too.
        begin = max(begin, ours[0].astimezone(datetime.timezone.utc) - datetime.timedelta(minutes=1)) \
            if ours[0] - begin < datetime.timedelta(minutes=2) else begin
        others = croniter.croniter(text, begin.astimezone(zone).replace(tzinfo=None))
        for our in ours:
            their = others.get_next(datetime.datetime)
            if changes_near(our, zone) or changes_near(their.replace(tzinfo=zone), zone):
                break
            if our.replace(tzinfo=None) != their or our.astimezone(zone).utcoffset() != our.utcoffset():
                sys.exit(f"\"{text}\" in {name}: {our}, but croniter says {their} (seed {seed})")
            compared += 1
    if compared < count:
        sys.exit(f"only {compared} times of {count} expressions were compared")
    print(f"{compared} times of {count} expressions agree (seed {seed})")


main()
