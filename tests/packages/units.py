"""Starts the services of Waggle's systemd units in a file system that no systemd runs in.

Each is started by its unit's own command line, environment and folders, as the unprivileged user that systemd would make.
What systemd does beside that, its restrictions, is not applied: test_3 checks by systemd-analyze that they are valid.
"""

import configparser
import pathlib
import shlex
import subprocess
import time

USER = 61184  # The first of systemd's dynamic users.


class Unit:
    """The parts of a unit's file that start its process."""

    def __init__(self, path):
        parser = configparser.RawConfigParser(strict=False, interpolation=None, delimiters=("=",))
        parser.optionxform = str
        self.environment = []
        text = pathlib.Path(path).read_text()
        # A key may be there several times.
        for line in text.splitlines():
            if line.startswith("Environment="):
                self.environment += line.partition("=")[2].split()
        parser.read_string(text)
        service = parser["Service"]
        self.command = service["ExecStart"]
        self.folders = service.get("StateDirectory", "").split()


class Services:
    """These services, started in one process tree; they end at the end of a `with` block."""

    def __init__(self, machine, names):
        lines = []
        for name in names:
            unit = Unit(machine.folder / f"usr/lib/systemd/system/waggle-{name}.service")
            for folder in unit.folders:
                lines.append(f"mkdir -p /var/lib/private/{folder}")
                lines.append("ln -sfn private/waggle /var/lib/waggle")
            lines.append(f"chown -R {USER}:{USER} /var/lib/private/waggle")
            lines.append("chmod 755 /var/lib/private")
            assignments = " ".join(map(shlex.quote, unit.environment))
            command = unit.command.replace("{id}", "'{id}'")
            lines.append(f"(set -a; export {assignments}; [ ! -f /etc/default/waggle ] || . /etc/default/waggle; "
                         f"exec setpriv --reuid {USER} --regid {USER} --clear-groups --no-new-privs "
                         f"--bounding-set=-all {command}) 2>/var/log/waggle-{name}.log &")
        self.machine = machine
        self.script = "\n".join([*lines, "wait"])
        self.process = None

    def __enter__(self):
        self.process = subprocess.Popen(self.machine.command("sh", "-ec", self.script), stdin=subprocess.DEVNULL)
        for _ in range(100):
            if self.machine.run("waggle", "health", "127.0.0.1:7000", check=False)[0] == 0:
                return self
            time.sleep(0.2)
        self.__exit__()
        raise RuntimeError(self.logs())

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(timeout=60)

    def logs(self):
        """What the services wrote."""
        return "\n".join(f"{path.name}:\n{path.read_text()}"
                         for path in sorted((self.machine.folder / "var/log").glob("waggle-*.log")))

    def run(self, *words):
        try:
            return self.machine.run("env", "WAGGLE_PARAM_SERVER=127.0.0.1:7000", *words)[1]
        except RuntimeError as error:
            raise RuntimeError(f"{error}\n{self.logs()}") from None
