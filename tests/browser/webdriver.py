"""A browser that is driven by WebDriver's HTTP protocol: Debian's chromium and chromium-driver."""
import base64
import http.client
import json
import os
import re
import shutil
import subprocess
import time

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
KEYS = {"enter": "\ue007", "down": "\ue015", "end": "\ue010", "tab": "\ue004"}


def missing():
    """The Debian packages that are not installed."""
    programs = {"chromium": "chromium", "chromedriver": "chromium-driver"}
    return [package for program, package in programs.items() if not shutil.which(program)]


class WebDriverError(Exception):
    pass


class Browser:
    """One window. Use it as a context: it ends the browser."""

    def __init__(self, width=1360, height=850, dark=False):
        self.driver = subprocess.Popen(
            ["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.session = None
        self.connection = None
        try:
            port = next(int(found.group(1)) for line in self.driver.stdout
                        if (found := re.search(r"started successfully on port (\d+)", line)))
            self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
            arguments = ["--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                         f"--window-size={width},{height}", "--force-color-profile=srgb"]
            if os.geteuid() == 0:
                arguments.append("--no-sandbox")  # it needs one, but cannot have it as root
            if dark:
                arguments.append("--force-dark-mode")
            answer = self.ask("POST", "/session", {"capabilities": {"alwaysMatch": {
                "acceptInsecureCerts": True,
                "goog:loggingPrefs": {"browser": "ALL"},
                "goog:chromeOptions": {"args": arguments}}}})
            self.session = "/session/" + answer["sessionId"]
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self.session:
            try:
                self.ask("DELETE", self.session)
            except (OSError, http.client.HTTPException, WebDriverError):
                pass
            self.session = None
        if self.connection:
            self.connection.close()
        self.driver.terminate()
        self.driver.wait()
        self.driver.stdout.close()

    def ask(self, method, path, body=None):
        text = json.dumps(body if body is not None else {}) if method == "POST" else None
        self.connection.request(method, path, text, {"Content-Type": "application/json"})
        answer = json.loads(self.connection.getresponse().read())["value"]
        if isinstance(answer, dict) and "error" in answer:
            raise WebDriverError(f"{answer['error']}: {answer.get('message', '')[:400]}")
        return answer

    def send(self, path, body=None):
        return self.ask("POST", self.session + path, body)

    def open(self, url):
        self.send("/url", {"url": url})

    def run(self, script, *arguments):
        """The value that a script returns."""
        return self.send("/execute/sync", {"script": script, "args": list(arguments)})

    def find(self, selector):
        return self.send("/element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector):
        self.send(f"/element/{self.find(selector)}/click")

    def type(self, selector, text):
        self.send(f"/element/{self.find(selector)}/value", {"text": text})

    def press(self, key):
        """On whatever has the focus."""
        value = KEYS.get(key, key)
        self.send("/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": [
            {"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}]}]})

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0])?.innerText ?? ''", selector)

    def wait(self, script, *arguments, patience=20):
        """Waits until a script returns something true, and returns that."""
        end = time.monotonic() + patience
        while True:
            found = self.run(script, *arguments)
            if found:
                return found
            if time.monotonic() > end:
                raise AssertionError(f"not within {patience} s: {script} {arguments}\n{self.text('body')[:2000]}")
            time.sleep(0.02)

    def complaints(self):
        """What the page has written to the console as errors: refused scripts, exceptions."""
        return [entry["message"] for entry in self.send("/se/log", {"type": "browser"})
                if entry["level"] == "SEVERE"]

    def screenshot(self, file):
        data = base64.b64decode(self.ask("GET", self.session + "/screenshot"))
        with open(file, "wb") as picture:
            picture.write(data)
