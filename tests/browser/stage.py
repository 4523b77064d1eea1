"""What the browser looks at: a Redis of our own, whose mutexes the test moves, and "simba serve"."""
import http.client
import json
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

TOKEN = "the-token-of-the-browser-tests"


def missing():
    """The Debian packages that are not installed."""
    absent = [] if shutil.which("redis-server") else ["redis-server"]
    try:
        import redis  # noqa: F401
    except ImportError:
        absent.append("python3-redis")
    return absent


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def until(condition, patience=20):
    end = time.monotonic() + patience
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("it did not happen in time")
        time.sleep(0.02)


class Store:
    """A throw-away Redis with mutexes as contenders of Simba leave them."""

    def __init__(self, folder):
        import redis
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}"
        self.process = subprocess.Popen(
            ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", folder],
            stdout=subprocess.DEVNULL)
        self.redis = redis.Redis(port=self.port)
        self.token = int(time.time() * 1000)

        def answers():
            try:
                return self.redis.ping()
            except redis.ConnectionError:
                return False
        until(answers)

    def close(self):
        self.redis.close()
        self.process.terminate()
        self.process.wait()

    def own(self, mutex, owner, lease=30.0, pipe=None):
        """Makes `owner` the owner, or renews its lease."""
        self.token += 1
        key = "simba:{" + mutex + "}"
        # An odd byte here or there is what strangers write.
        to = pipe if pipe is not None else self.redis
        to.hset(key + ":fence", mapping={"owner": owner, "token": self.token, "ttl": int(lease * 600),
                                         "transition": int(lease * 400), "instance": "0"})
        to.set(key, owner, px=int(lease * 1000))

    def free(self, mutex):
        self.redis.delete("simba:{" + mutex + "}")

    def queue(self, mutex, waiting):
        """Who waits: names and for how many seconds."""
        now = time.time()
        self.redis.delete("simba:{" + mutex + "}:line")
        if waiting:
            self.redis.zadd("simba:{" + mutex + "}:line",
                            {name: int((now - since) * 1e6) for name, since in waiting})


class Server:
    """"simba serve" for a store. With a token it lets release."""

    def __init__(self, simba, url, folder, options=(), with_token=False, port=0):
        self.log = pathlib.Path(folder) / "serve.err"
        words = [simba, "serve", "-b", url, "--listen", f"127.0.0.1:{port}", "--json", *options]
        if with_token:
            file = pathlib.Path(folder) / "token"
            file.write_text(TOKEN + "\n")
            file.chmod(0o600)
            words += ["--token-file", str(file), "--allow-release"]
        with open(self.log, "ab") as errors:
            self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=errors, text=True)
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("simba serve has not begun: " + self.log.read_text())
        self.url = json.loads(line)["url"]
        self.port = int(self.url.rstrip("/").rsplit(":", 1)[1])

    def close(self):
        self.process.terminate()
        code = self.process.wait()
        self.process.stdout.close()
        return code

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def get(self, path, headers=()):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request("GET", path, headers=dict(headers))
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()


class Stage:
    """A folder, a store, and what else is to be ended."""

    def __init__(self, simba):
        self.simba = simba
        self.folder = tempfile.mkdtemp(prefix="simba-page-")
        self.parts = []
        self.store = Store(self.folder)

    def serve(self, **options):
        server = Server(self.simba, self.store.url, self.folder, **options)
        self.parts.append(server)
        return server

    def close(self):
        for part in self.parts:
            if part.process.poll() is None:
                part.close()
        self.store.close()
        shutil.rmtree(self.folder, ignore_errors=True)
