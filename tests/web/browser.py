"""A headless Chromium, driven by the DevTools protocol."""

import base64
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time
import urllib.request

import websocket  # Debian's python3-websocket.

PATIENCE = 120.0  # Seconds after which an expected event counts as missing; never a limit on a duration.


def program():
    return shutil.which("chromium") or shutil.which("chromium-browser")


def wait_until(condition, what):
    """The first true value of the condition."""
    deadline = time.monotonic() + PATIENCE
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"waited in vain until {what}")
        time.sleep(0.05)


class Browser:
    """One page. Its requests, its errors and its dialogs are kept."""

    def __init__(self, folder):
        profile = os.path.join(folder, "profile")
        with open(os.path.join(folder, "browser.log"), "wb") as log:
            self._process = subprocess.Popen(
                [program(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                 "--disable-background-networking", "--disable-component-update", "--remote-debugging-port=0",
                 f"--user-data-dir={profile}", "--force-device-scale-factor=1", "about:blank"],
                stdout=log, stderr=log, start_new_session=True)  # fmt: skip
        port_file = pathlib.Path(profile) / "DevToolsActivePort"
        wait_until(lambda: port_file.exists() and "\n" in port_file.read_text(), "the browser listens")
        port = port_file.read_text().split()[0]

        def page():
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list") as answer:
                return [each for each in json.load(answer) if each["type"] == "page"]

        address = wait_until(page, "the browser has a page")[0]["webSocketDebuggerUrl"]
        self._socket = websocket.create_connection(address, suppress_origin=True, timeout=PATIENCE)
        self._calls = 0
        self.requests = []
        self.errors = []
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(domain + ".enable")

    def close(self):
        self._socket.close()
        os.killpg(self._process.pid, signal.SIGKILL)  # Its own group: it has several processes.
        self._process.wait()

    def call(self, method, **parameters):
        self._calls += 1
        number = self._calls
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv())
            if message.get("id") == number:
                if "error" in message:
                    raise AssertionError(f"{method}: {message['error']}")
                return message["result"]
            self._take(message)

    def _take(self, event):
        parameters = event.get("params", {})
        if event.get("method") == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif event.get("method") == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description") or details["text"])
        elif event.get("method") == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.errors.append(parameters["entry"]["text"])
        elif event.get("method") == "Page.javascriptDialogOpening":
            # Not sent by call(), because another call() may be waiting until the dialog is closed.
            self._calls += 1
            self._socket.send(json.dumps({"id": self._calls, "method": "Page.handleJavaScriptDialog",
                                          "params": {"accept": True}}))  # fmt: skip

    def open(self, url):
        self.call("Page.navigate", url=url)
        wait_until(lambda: self.run("document.readyState") == "complete", f"{url} is loaded")

    def run(self, script):
        """The value of an expression in the page; promises are awaited."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise AssertionError(f"{script}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait_for(self, script, what=None):
        return wait_until(lambda: self.run(script), what or script)

    def press(self, key, text="", code=0):
        event = {"key": key, "windowsVirtualKeyCode": code, "text": text}
        self.call("Input.dispatchKeyEvent", type="keyDown", **event)
        self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    def tab(self):
        self.press("Tab", code=9)

    def enter(self):
        self.press("Enter", "\r", 13)

    def size(self, width, height, mobile=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)

    def scheme(self, name):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def picture(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
