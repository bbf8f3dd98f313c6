"""A hub with its web page and a pool of processes, as an operator starts them."""

import json
import os
import pathlib
import signal
import subprocess
import urllib.request

from browser import wait_until


class Pool:
    def __init__(self, binaries, folder):
        self._binaries = binaries
        self._folder = folder
        self._processes = {}
        self._started = 0
        self.hub = self.web = "127.0.0.1:0"
        self.start_hub()

    def _start(self, name, program, *arguments):
        self._started += 1
        with open(os.path.join(self._folder, f"{self._started}-{name}.log"), "wb") as log:
            self._processes[name] = subprocess.Popen(
                [os.path.join(self._binaries, program), *arguments], stdout=log, stderr=log)  # fmt: skip

    def start_hub(self):
        """Starts the hub, at the address of the previous hub if there was one."""
        data = pathlib.Path(self._folder) / "hub"
        self._start("hub", "waggle-param-server", "--listen", self.hub, "--web", self.web, "--data-dir", data, "--no-plot")
        address, web = data / "address", data / "web_address"
        wait_until(lambda: address.exists() and web.exists(), "the hub serves")
        self.hub = address.read_text().strip()
        self.web = web.read_text().strip()

    def start_workers(self):
        self._start("replay", "waggle-replay-server", "--param-server", self.hub, "--listen", "127.0.0.1:0")
        self.start_learner()
        self._start("actor", "waggle-actor", "--param-server", self.hub)
        self._start("evaluator", "waggle-actor", "--evaluator", "--param-server", self.hub)

    def start_learner(self):
        self._start("learner", "waggle-learner", "--param-server", self.hub, "--listen", "127.0.0.1:0")

    def kill(self, name):
        self._processes[name].kill()
        self._processes[name].wait()

    def end(self):
        for process in self._processes.values():
            process.send_signal(signal.SIGTERM)
        for process in self._processes.values():
            process.wait()

    def submit(self, file, *settings, words=()):
        words = ["submit", file, "--json", "--param-server", self.hub, *words]
        for setting in settings:
            words += ["--set", setting]
        done = subprocess.run([os.path.join(self._binaries, "waggle"), *words], check=True, stdout=subprocess.PIPE)
        return json.loads(done.stdout)["id"]

    def ask(self, path):
        with urllib.request.urlopen(f"http://{self.web}/api/{path}") as answer:
            return json.load(answer)
