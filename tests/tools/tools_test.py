#!/usr/bin/env python3
"""Tests that each check can fail: python3 -m unittest discover -s tests/tools -p '*_test.py'"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import layering
import learned_tables
import linkage
import paths
import prose
import tested_folders

TOOLS = pathlib.Path(__file__).resolve().parent


class ToolTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def write(self, name, text=""):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def exit_code(self, tool):
        command = [sys.executable, str(TOOLS / tool), str(self.root)]
        return subprocess.run(command, capture_output=True, check=False).returncode


class LayeringTest(ToolTest):
    def include(self, path, included):
        self.write(path, f'#pragma once\n#include "{included}"\n')
        return list(layering.findings(self.root))

    def test_lower_layers_may_be_included(self):
        for path, included in [
            ("common/base/tensor/a.h", "common/base/mutex.h"),
            ("common/base/a.h", "common/base/b.h"),
            ("common/rl/kit/algorithm.h", "common/config/experiment/experiment.h"),
            ("common/rl/algorithms/dqn.cc", "common/rl/kit/algorithm.h"),
            ("replay_server/service/a.cc", "common/net/server.h"),
            ("replay_server/table/a.cc", "replay_server/rows/chunk.h"),
            ("common/replay/a.cc", "common/replay/shards/draw_plan.h"),
            ("cli/main.cc", "actor/environments/environment.h"),
            ("tests/cli/a_test.cc", "learner/train_loop.h"),
            ("common/base/a.h", "absl/status/status.h"),
        ]:
            with self.subTest(path=path, included=included):
                self.assertEqual(self.include(path, included), [])

    def test_higher_and_equal_layers_may_not(self):
        for path, included in [
            ("common/base/a.h", "common/base/tensor/dtype.h"),
            ("common/base/tensor/a.h", "common/config/reader.h"),
            ("common/hub/ports/a.h", "common/config/plan/table_plan.h"),
            ("common/replay/a.h", "common/hub/hub_client.h"),
            ("common/net/a.h", "common/hub/hub_client.h"),
            ("replay_server/rows/a.h", "replay_server/table/table.h"),
            ("actor/b.cc", "replay_server/rows/chunk.h"),
            ("common/rl/kit/a.h", "common/rl/algorithms/dqn.h"),
            ("common/base/c.h", "tests/support/catch.h"),
            ("actor/a.cc", "learner/a.h"),
            ("learner/a.cc", "cli/a.h"),
        ]:
            with self.subTest(path=path, included=included):
                found = self.include(path, included)
                self.assertEqual(len(found), 1)
                self.assertIn(f"{path}:2: ", found[0])
                self.assertIn(included, found[0])
                self.assertEqual(self.exit_code("layering.py"), 1)
                (self.root / path).unlink()

    def test_a_folder_without_a_layer_is_found(self):
        self.write("common/new/a.h")
        self.assertIn("common/new has no layer", list(layering.findings(self.root))[0])
        (self.root / "common/new/a.h").unlink()
        self.assertIn("has no layer", self.include("actor/a.h", "common/new/a.h")[0])

    def test_a_folder_of_too_many_sources_is_found(self):
        for number in range(layering.MOST_FILES):
            self.write(f"actor/a{number}.h")
        self.assertEqual(list(layering.findings(self.root)), [])
        self.write("actor/one_more.h")
        self.assertIn("actor:1: holds 41 sources", list(layering.findings(self.root))[0])


class ProseTest(ToolTest):
    def find(self, text, name="actor/a.h"):
        self.write(name, text)
        return [finding.split('"')[1] for finding in prose.findings(self.root)]

    def test_plain_comments_strings_and_pages_pass(self):
        self.assertEqual(self.find("// Removes silent workers.\n// Of the rest it keeps all.\nint x;  // If there is none: 0.\n"), [])
        self.assertEqual(self.find('const char* key = "who";\nconst char* text = "a // b";\n'), [])
        self.assertEqual(self.find("It is for engineers who run Ape-X. Not \"whoever\".\n\n```\nnobody\n```\n", "docs/a.md"), [])
        self.assertEqual(self.exit_code("prose.py"), 0)

    def test_phrases_without_a_plain_subject_are_found(self):
        self.assertEqual(self.find("// Whoever is silent leaves.\n"), ["Whoever", "Whoever"])
        self.assertEqual(self.find("int x;  // What is left.\n"), ["What"])
        self.assertEqual(self.find("int x;\n// Of two lanes.\nint y;  // Whether it runs.\n"), ["Of", "Whether"])
        self.assertEqual(self.find('auto s = "7 is none";\n// A key that is to be read by nobody.\n'), ["is none", "is to be", "nobody"])
        self.assertEqual(self.exit_code("prose.py"), 1)
        self.write("actor/a.h")
        self.assertEqual(self.find("A line that somebody reads.\n", "docs/a.md"), ["somebody"])


class TestedFoldersTest(ToolTest):
    def test_folders_with_tests_pass(self):
        self.write("actor/a.cc")
        self.write("actor/b.cc")
        self.write("actor/inner/c.cc")
        self.write("tests/actor/a_test.cc")
        self.write("cli/waggle_main.cc")
        self.write("common/only_headers/a.h")
        self.write("tests/common/only_headers/a_test.cc")
        self.write("tests/bench/actor_bench.cc")
        self.assertEqual(list(tested_folders.findings(self.root)), [])
        self.assertEqual(self.exit_code("tested_folders.py"), 0)

    def test_a_folder_without_tests_is_found(self):
        self.write("replay_server/table/a.cc")
        self.assertIn("has no tests in tests/replay_server/table", list(tested_folders.findings(self.root))[0])
        self.assertEqual(self.exit_code("tested_folders.py"), 1)

    def test_tests_without_their_folder_are_found(self):
        self.write("tests/common/base/gone_test.cc")
        self.assertIn("tests common/base", list(tested_folders.findings(self.root))[0])


class LinkageTest(ToolTest):
    def check(self, listing):
        for name in linkage.WITHOUT_TORCH:
            self.write(f"bin/{name}")
        return list(linkage.findings(self.root, lambda program: listing))

    def test_other_libraries_pass(self):
        self.assertEqual(self.check("\tlibgrpc++.so.1.51 => /usr/lib/libgrpc++.so.1.51 (0x0)\n"), [])

    def test_libtorch_is_found(self):
        for name in ["libtorch.so.1.13", "libtorch_cpu.so", "libc10.so.1.13", "libtorch_cuda.so"]:
            with self.subTest(name=name):
                found = self.check(f"\t{name} => not found\n\tlibm.so.6 => /lib/libm.so.6 (0x0)\n")
                self.assertEqual(len(found), len(linkage.WITHOUT_TORCH))
                self.assertIn(name, found[0])

    def test_what_is_not_built_or_no_program_is_found(self):
        self.assertIn("is not built", list(linkage.findings(self.root))[0])
        for name in linkage.WITHOUT_TORCH:
            self.write(f"bin/{name}", "no program")
        self.assertIn("ldd", list(linkage.findings(self.root))[0])
        self.assertEqual(self.exit_code("linkage.py"), 1)

    def test_a_real_program_is_listed(self):
        self.assertIn("libc.so", linkage.libraries(pathlib.Path(sys.executable).resolve()))


class NewAlgorithmTest(ToolTest):
    FOLDER = "common/rl/algorithms"

    def setUp(self):
        super().setUp()
        self.repository = TOOLS.parents[1]
        for name in ["docs/authoring.md", f"{self.FOLDER}/list.inc", ".clang-format"]:
            self.write(name, (self.repository / name).read_text())

    def make(self, *name):
        command = [sys.executable, str(TOOLS / "new_algorithm.py"), *name, *([str(self.root)] if name else [])]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def files(self):
        return {path.relative_to(self.root).as_posix(): path.read_text() for path in self.root.rglob("*") if path.is_file()}

    def test_each_file_of_an_algorithm_is_made_under_its_name(self):
        name = "a_quiet_learner"
        before = self.files()
        made = self.make(name)
        self.assertEqual(made.returncode, 0, made.stderr)
        files = self.files()
        new = {path: text for path, text in files.items() if path not in before}
        folder = f"{self.FOLDER}/{name}"
        self.assertEqual(
            set(new),
            {f"{folder}/{name}.h", f"{folder}/definition.cc", f"{folder}/update.cc", f"tests/{folder}/update_test.cc",
             f"configs/cartpole_{name}.yaml", f"docs/algorithms/{name}.md"},
        )
        for path, text in new.items():
            self.assertIn(path, made.stdout)
            self.assertNotIn("dqn", text.lower().replace("(dqn)", "").replace("apex_dqn", ""), path)
        self.assertIn("class AQuietLearner : public Algorithm", new[f"{folder}/update.cc"])
        self.assertIn("AlgorithmDefinition a_quiet_learner_definition()", new[f"{folder}/definition.cc"])
        # A line is added to the list.
        lines = files[f"{self.FOLDER}/list.inc"].splitlines()
        entries = [line for line in lines if line.startswith("WAGGLE_ALGORITHM(")]
        self.assertEqual(entries, sorted(entries))
        lines.remove(f"WAGGLE_ALGORITHM({name})")
        self.assertEqual(lines, before[f"{self.FOLDER}/list.inc"].splitlines())

    def test_the_files_pass_the_checks(self):
        self.assertEqual(self.make("an_algorithm_of_a_long_name").returncode, 0)
        for tool in [layering, paths, prose, tested_folders]:
            self.assertEqual(list(tool.findings(self.root)), [])
        if formatter := shutil.which("clang-format-14"):
            sources = [path for path in self.files() if path.endswith((".h", ".cc"))]
            subprocess.run([formatter, "--dry-run", "--Werror", *sources], cwd=self.root, check=True)

    def test_a_wrong_name_and_one_that_is_taken_make_nothing(self):
        self.write(f"{self.FOLDER}/ppo/ppo.h")
        self.write("common/rl/kit/model.h", "class Model {\n};\n")
        before = self.files()
        for name in [[], ["Upper"], ["two words"], ["9th"], ["dot.dot"], ["a__b"], ["x" * 31], ["ppo"], ["model"]]:
            made = self.make(*name)
            self.assertEqual(made.returncode, 1)
            self.assertIn("name: got ", made.stderr)
        self.assertEqual(self.files(), before)


class PathsTest(ToolTest):
    def test_paths_and_hosts_of_one_machine_are_found(self):
        # Joined here, so that this file passes the check itself.
        for text in [
            "cd " + "/" + "work/main",
            'open("' + "/" + 'root/.config")',
            "see " + "/" + "home/somebody/notes",
            "pip install -i https://artifactory" + ".example.com/pypi",
            "deb http://apt-mirror" + ".example.org bookworm main",
            "https://build" + ".corp/x",
            "PIP_INDEX_URL" + "=x",
        ]:
            with self.subTest(text=text):
                self.write("docs/a.md", "fine\n" + text + "\n")
                self.assertIn("docs/a.md:2: ", "".join(paths.findings(self.root)))
                self.assertEqual(self.exit_code("paths.py"), 1)

    def test_other_paths_and_hosts_pass(self):
        for text in [
            "build/mnt/x ./mnt/x ../mnt/ /usr/include /tmp/x /dev/null",
            "https://example.com/home/page https://pypi.org/simple https://download.pytorch.org",
            "pip install --index-url https://download.pytorch.org/whl/cpu torch",
            "work / home / root",
        ]:
            with self.subTest(text=text):
                self.write("docs/a.md", text)
                self.assertEqual(list(paths.findings(self.root)), [])

    def test_a_container_has_its_own_file_system(self):
        self.write("deploy/Dockerfile", "WORKDIR " + "/" + "work/build\n")
        self.assertEqual(list(paths.findings(self.root)), [])


class LearnedTablesTest(ToolTest):
    PAGE = f"""    waggle run configs/known.yaml --seed 1

To a mean return of 475:

{learned_tables.HEADER}
|---|---|---|---|
| 1 | 5 | 475.0 | 9 |
| 4 | 6 | 475.0 | 9 |

    waggle run configs/unknown.yaml --seed 1

{learned_tables.HEADER}
|---|---|---|---|
| 1 | 7 | 475.0 | 9 |
"""

    def learned(self):
        for seed, outcome in ((1, "solved"), (2, "limit")):
            result = {"env_steps": 1000 + seed, "mean_return": 480.04}
            self.write(f"known-{seed}/summary.json",
                       json.dumps({"outcome": outcome, "wall_seconds": 12.3, "result": result}))
        return {"known": [self.root / "known-1", self.root / "known-2"]}

    def test_a_table_gets_the_rows_and_the_curve_of_its_runs(self):
        done = set()
        page = learned_tables.rewritten(self.PAGE.split("\n"), self.learned(), done)
        begin = page.index(learned_tables.HEADER)
        self.assertEqual(page[begin + 2 : begin + 5], ["| 1 | 1,001 | 480.0 | 12 |", "| 2 | 1,002, missed | 480.0 | 12 |", ""])
        self.assertIn("(../curves/known.png)", page[2])
        self.assertEqual(done, {"known"})

    def test_other_tables_stay(self):
        page = learned_tables.rewritten(self.PAGE.split("\n"), self.learned(), set())
        self.assertIn("| 1 | 7 | 475.0 | 9 |", page)
        self.assertNotIn("unknown.png", "".join(page))

    def test_a_second_writing_changes_nothing(self):
        learned = self.learned()
        page = learned_tables.rewritten(self.PAGE.split("\n"), learned, set())
        self.assertEqual(learned_tables.rewritten(page, learned, set()), page)


if __name__ == "__main__":
    unittest.main()
