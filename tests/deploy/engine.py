"""This machine's container engine, for the tests of deploy/."""

import functools
import shutil
import subprocess


def run(*command, check=True, timeout=120, **options):
    """Runs a command and returns its output. With `check`, a status other than 0 raises, with the output."""
    done = subprocess.run([str(word) for word in command], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=timeout, check=False, **options)
    if check and done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stdout}")
    return done.stdout.strip()


def succeeds(*command, **options):
    try:
        run(*command, **options)
    except (OSError, RuntimeError, subprocess.TimeoutExpired):
        return False
    return True


@functools.cache
def compose_command():
    """docker compose, or else docker-compose; None if there is neither."""
    if succeeds("docker", "compose", "version"):
        return ("docker", "compose")
    return ("docker-compose",) if shutil.which("docker-compose") else None


def what_is_missing():
    """Why nothing can be tested here; None if tests can run."""
    if not succeeds("docker", "info", timeout=30):
        return "no container engine answers: docker info fails"
    if compose_command() is None:
        return "there is neither docker compose nor docker-compose"
    return None
