#!/usr/bin/env python3
"""Completes words of waggle by real bash, zsh and fish, and checks the manual pages.

usage: shells_test.py BIN

BIN is the folder of the executables. Shells and mandoc that are not installed are skipped, with a message; bash is always
there. [e2e]
"""

import os
import pathlib
import pty
import select
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

BIN = pathlib.Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else pathlib.Path("build/release/bin").resolve()
ENVIRONMENT = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}


def run(*command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT,
                          timeout=60, check=False, **options)
    if done.returncode != 0:
        raise AssertionError(f"{command[:2]}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def needs(program):
    return unittest.skipIf(shutil.which(program) is None, f"there is no {program}")


# (Words of a command line, completions of the last word that must be offered, completions that must not be offered).
CASES = [
    (["ru"], ["run"], ["check"]),
    (["re"], ["resume", "replay", "record", "reconfigure"], ["run"]),
    (["replay", ""], ["export", "import"], ["run"]),
    (["replay", "export", "--ta"], [], ["--table"]),
    (["replay", "import", "--ta"], ["--table"], []),
    (["import", "--dr"], ["--drop-last"], []),
    (["run", "--se"], ["--seed", "--set"], ["--json"]),
    (["run", "cartpole_pp"], ["cartpole_ppo", "cartpole_ppo_population"], ["cartpole_sac"]),
    (["configs", "cartpole_pp"], ["cartpole_ppo"], ["cartpole_sac"]),
    (["list", "--state", "s"], ["solved", "stopped"], ["queued"]),
    (["completion", ""], ["bash", "zsh", "fish"], []),
]


class Bash(unittest.TestCase):
    def complete(self, words, folder="."):
        script = (
            'source <(waggle completion bash); COMP_WORDS=(waggle "$@"); COMP_CWORD=$#; _waggle; '
            'printf "%s\\n" "${COMPREPLY[@]}"'
        )
        return run("bash", "--norc", "-c", script, "bash", *words, cwd=folder).split()

    def test_words(self):
        for words, offered, others in CASES:
            with self.subTest(words=words):
                got = self.complete(words)
                self.assertLessEqual(set(offered), set(got))
                self.assertFalse(set(others) & set(got))

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "mine.yaml").touch()
            pathlib.Path(folder, "results").mkdir()
            self.assertEqual(self.complete(["run", "min"], folder), ["mine.yaml"])
            self.assertEqual(self.complete(["run", "--output-dir", ""], folder), ["results"])
            self.assertEqual(self.complete(["run", "--seed", ""], folder), [])

    def test_at_a_terminal(self):
        """A key completes the line."""
        program, terminal = pty.fork()
        if program == 0:
            os.execve(shutil.which("bash"), ["bash", "--norc", "-i"], {**ENVIRONMENT, "PS1": "$ ", "TERM": "dumb"})
        os.write(terminal, b"source <(waggle completion bash)\nwaggle conf\t cartpole_trp\t\n")
        seen = b""
        until = time.monotonic() + 30
        while b"name: cartpole_trpo" not in seen and time.monotonic() < until:
            if select.select([terminal], [], [], 1)[0]:
                seen += os.read(terminal, 65536)
        os.close(terminal)
        os.waitpid(program, 0)
        self.assertIn(b"name: cartpole_trpo", seen)


class Fish(unittest.TestCase):
    @needs("fish")
    def test_words(self):
        for words, offered, others in CASES:
            with self.subTest(words=words):
                line = " ".join(["waggle", *words])
                output = run("fish", "--no-config", "-c", "waggle completion fish | source; complete -C $argv[1]", line)
                got = {candidate.split("\t")[0] for candidate in output.splitlines()}
                self.assertLessEqual(set(offered), got)
                self.assertFalse(set(others) & got)


class Zsh(unittest.TestCase):
    @needs("zsh")
    def test_the_function_is_found_and_has_no_errors(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "_waggle")
            file.write_text(run("waggle", "completion", "zsh"))
            run("zsh", "-n", str(file))
            script = f"fpath=({folder} $fpath); autoload -Uz compinit; compinit -D -u; print $_comps[waggle]"
            self.assertEqual(run("zsh", "-f", "-c", script), "_waggle\n")


class ManualPages(unittest.TestCase):
    def pages(self):
        yield "waggle", run("waggle", "help", "--man")
        for program in ("waggle-param-server", "waggle-replay-server", "waggle-learner", "waggle-actor"):
            if (BIN / program).exists():
                yield program, run(program, "--help-man")

    @needs("mandoc")
    def test_the_pages_are_right(self):
        for program, page in self.pages():
            with self.subTest(program=program):
                self.assertEqual(run("mandoc", "-T", "lint", "-W", "warning", input=page), "")

    @needs("lexgrog")
    def test_apropos_finds_the_pages(self):
        for program, page in self.pages():
            with self.subTest(program=program), tempfile.TemporaryDirectory() as folder:
                file = pathlib.Path(folder, f"{program}.1")
                file.write_text(page)
                self.assertIn(f'"{program} - ', run("lexgrog", str(file)))


if __name__ == "__main__":
    unittest.main()
