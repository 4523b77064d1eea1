#!/usr/bin/python3
"""Takes the screenshots of "simba serve" that are in docs, in a real browser.

Usage: scripts/page-screenshots.py [FOLDER] [--all]      (default: docs; --all: every view in both themes)
Needs build/bin/simba, or the program that SIMBA names, chromium, chromium-driver, redis-server and python3-redis."""
import os
import pathlib
import random
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests" / "browser"))
import stage as stages  # noqa: E402
import webdriver  # noqa: E402

HOSTS = [f"10.20.0.{i}:8080" for i in range(11, 17)]


def contender(host, number):
    return f"{host}#simba-{random.Random(number).getrandbits(128):032x}"


NAMES = (["leader/orders", "leader/billing", "leader/search-index", "leader/mailer", "deploy", "migrate-schema", "backup/nightly",
          "backup/weekly", "cleanup/sessions", "cleanup/uploads", "report/daily", "report/month-end", "cache/warm-up"] +
         [f"order/{48211 + 7 * i}" for i in range(60)] + [f"shard/{i:02}" for i in range(16)])


class Traffic(threading.Thread):
    """Owners that renew, hand over, and are waited for."""

    def __init__(self, store):
        super().__init__(daemon=True)
        self.store = store
        self.random = random.Random(7)
        self.ending = threading.Event()
        self.owners = {}

    def step(self):
        now = time.monotonic()
        for i, name in enumerate(NAMES):
            owner, until, renew = self.owners.get(name, (None, 0.0, 0.0))
            if now >= until:
                idle = name.startswith("order/") and owner is not None and self.random.random() < 0.6
                owner = None if idle else contender(HOSTS[self.random.randrange(len(HOSTS))], i)
                stay = self.random.uniform(3, 9) if name.startswith("order/") else self.random.uniform(8, 60)
                until, renew = now + stay, now
                if owner is None:
                    self.store.free(name)
            if owner is not None and now >= renew:
                self.store.own(name, owner, lease=16)
                renew = now + self.random.uniform(3, 3.6)
            self.owners[name] = (owner, until, renew)

    def run(self):
        lines = {"leader/orders": 3, "leader/billing": 2, "deploy": 1, "leader/search-index": 4, "order/48218": 1}
        while not self.ending.wait(0.1):
            self.step()
            for name, count in lines.items():
                key = "simba:{" + name + "}:line"
                if not self.store.redis.exists(key):
                    self.store.queue(name, [(contender(HOSTS[k], 1000 + k), 240 - 55 * k) for k in range(count)])


def schedules(stage):
    for name, fields in (("backup/nightly", "0 3 * * *"), ("cleanup/sessions", "*/1 * * * *"), ("report/daily", "30 6 * * 1-5")):
        yield subprocess.Popen(
            [stage.simba, "schedule", "-b", stage.store.url, "-m", name, "--cron", fields, "--zone", "Europe/Berlin", "--", "true"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def take(folder, every):
    stage = stages.Stage(os.environ.get("SIMBA", str(ROOT / "build" / "bin" / "simba")))
    traffic = Traffic(stage.store)
    running = []
    try:
        for name in ("backup/nightly", "cleanup/sessions", "report/daily"):
            NAMES.remove(name)
        running = list(schedules(stage))
        server = stage.serve(with_token=True)
        traffic.start()
        time.sleep(150)
        views = {"mutexes": "#/mutexes", "mutex": "#/mutex/leader%2Forders", "timeline": "#/timeline", "schedules": "#/schedules", "health": "#/health"}
        wanted = [(view, theme) for view in views for theme in ("light", "dark")] if every else [
            ("mutexes", "light"), ("mutex", "dark"), ("timeline", "light")]
        with webdriver.Browser(width=1280, height=860) as browser:
            browser.open(server.url)
            browser.wait("return !document.getElementById('view-login').hidden")
            if every:
                browser.screenshot(folder / "page-login.png")
            browser.type("#token", stages.TOKEN)
            browser.click("#login button")
            browser.wait("return !document.getElementById('view-mutexes').hidden")
            for view, theme in wanted:
                browser.run("localStorage.setItem('simba-theme', arguments[0])", theme)
                browser.open(server.url + "icon.svg")
                browser.open(server.url + views[view])
                browser.wait("return document.getElementById('live').dataset.state === 'live'")
                browser.wait("return !document.getElementById('view-' + arguments[0]).hidden", view)
                time.sleep(2.5)
                browser.screenshot(folder / f"page-{view}-{theme}.png")
                print(folder / f"page-{view}-{theme}.png")
            if every:
                browser.open(server.url + "icon.svg")
                browser.open(server.url + views["mutex"])
                browser.wait("return !document.getElementById('release').hidden")
                browser.click("#release")
                time.sleep(0.5)
                browser.screenshot(folder / "page-confirm.png")
    finally:
        traffic.ending.set()
        if traffic.is_alive():
            traffic.join()
        for one in running:
            one.terminate()
            one.wait()
        stage.close()


if __name__ == "__main__":
    arguments = [word for word in sys.argv[1:] if word != "--all"]
    target = pathlib.Path(arguments[0] if arguments else ROOT / "docs")
    target.mkdir(parents=True, exist_ok=True)
    absent = webdriver.missing() + stages.missing()
    if absent:
        sys.exit("not installed: " + " ".join(absent))
    take(target, "--all" in sys.argv)
