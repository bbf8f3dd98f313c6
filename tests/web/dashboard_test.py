#!/usr/bin/env python3
"""The hub's web page in a headless Chromium, while a pool trains.

usage: dashboard_test.py BINARIES CONFIGS DOCS [TEST …]

Skipped, with exit status 77, without Chromium or python3-websocket; checks of accessibility need the Python package
axe-core-python too. With WAGGLE_PICTURES=1 it writes the pictures of docs/dashboard.md and the page's structure, which
it otherwise compares.
"""

import importlib.util
import json
import os
import pathlib
import struct
import sys
import tempfile
import unittest

SKIPPED = 77

try:
    import browser as browsers
except ImportError as error:
    print(f"skipped: the page is not tested in a browser: {error}; ./dev test installs what is missing")
    sys.exit(SKIPPED)
if browsers.program() is None:
    print("skipped: the page is not tested in a browser: there is no chromium; ./dev test installs it")
    sys.exit(SKIPPED)

from pool import Pool  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
DESKTOP, PHONE = (1200, 900), (360, 740)
# The sizes of the pictures.
WIDE, TALL, LONG = (1200, 560), (1200, 1400), (360, 1240)
CURVES = 7  # Each run has at least this number, and those of its algorithm.


def axe_script():
    """The text of axe-core, or None."""
    found = importlib.util.find_spec("axe_core_python")
    return None if found is None else (pathlib.Path(found.origin).parent / "axe.min.js").read_text()


class DashboardTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.pool = Pool(BINARIES, folder.name)
        cls.addClassCleanup(cls.pool.end)
        cls.pool.start_workers()
        # It trains until the tests end.
        settings = ["stop.target_return=100000", "stop.max_env_steps=0", "stop.max_seconds=0", "stop.max_learner_steps=100000000"]
        config = str(pathlib.Path(CONFIGS) / "cartpole_apex_dqn.yaml")
        cls.id = cls.pool.submit(config, *settings)
        cls.waiting = cls.pool.submit(config, *settings, "experiment.name=waits", words=["--seeds", "1-3", "--tag", "sweep"])
        cls.browser = browsers.Browser(folder.name)
        cls.addClassCleanup(cls.browser.close)
        cls.base = f"http://{cls.pool.web}/"
        browsers.wait_until(lambda: cls.pool.ask(f"experiments/{cls.id}")["learner_steps"] > 100, "the learner learns")

    def setUp(self):
        self.browser.size(*DESKTOP)
        self.browser.scheme("light")
        self.browser.errors.clear()

    def open(self, page="", ready="document.querySelector('main > section:not([hidden]) tbody tr') !== null"):
        self.browser.open("about:blank")  # The same page with another hash would not be loaded anew.
        self.browser.open(f"{self.base}#/{page}")
        self.browser.wait_for(ready)

    def open_experiment(self):
        self.open(f"experiment/{self.id}")
        self.browser.wait_for("document.querySelectorAll('polyline.curve').length >= 4", "four curves are drawn")
        self.browser.wait_for("document.querySelectorAll('svg rect.station').length === 5", "the loop is drawn")

    def pages(self):
        """Opens each page, after the other."""
        for name in ("", "pool"):
            self.open(name)
            yield name or "experiments"
        self.open_experiment()
        yield "experiment"

    def text(self, selector):
        return self.browser.run(f"document.querySelector({selector!r})?.innerText ?? ''")

    def no_errors(self):
        self.assertEqual(self.browser.errors, [])

    def test_1_experiments_are_listed_and_filtered(self):
        self.open()
        row = f"[...document.querySelectorAll('#experiments-table tr')].find(row => row.innerText.includes('{self.id}'))"
        self.browser.wait_for(f"{row}?.innerText.includes('running')", "the experiment is listed as running")
        steps = self.browser.run(f"{row}.children[5].innerText")
        self.browser.wait_for(f"{row}.children[5].innerText !== {steps!r}", "its steps grow by themselves")
        paint = self.browser.run("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        print(f"first paint after {paint:.0f} ms")
        self.browser.run("document.querySelector('#filter-text').focus()")
        self.browser.call("Input.insertText", text="waits")
        self.browser.wait_for(f"!({row})", "the filter leaves it out")
        self.assertIn(self.waiting, self.text("#experiments-table"))
        self.browser.run("document.querySelector('#filter-text').value = ''")
        self.browser.run("const s = document.querySelector('#filter-state'); s.value = 'queued';"
                         "s.dispatchEvent(new Event('input', {bubbles: true}))")  # fmt: skip
        self.browser.wait_for("document.querySelectorAll('#experiments-table tbody a').length === 3", "only its group is left")
        # The group's row folds its members.
        self.browser.run("document.querySelector('#experiments-table tr.group button').focus()")
        self.browser.enter()
        self.browser.wait_for("[...document.querySelectorAll('#experiments-table tbody a')].every(a => !a.getClientRects().length)")
        self.assertEqual(self.browser.run("document.activeElement.getAttribute('aria-expanded')"), "false")
        self.no_errors()

    def test_2_an_experiment_has_its_curves_its_loop_and_its_bottleneck(self):
        self.open_experiment()
        self.browser.wait_for("document.querySelectorAll('main section:not([hidden]) ol.events li').length > 0")
        for word in ("environment", "actor", "replay", "learner", "hub"):
            self.assertIn(word, self.browser.run("document.querySelector('svg[aria-label^=\"The loop\"]').textContent"))
        sentence = self.text("#experiment .panel[role=status]")
        self.assertTrue(sentence.endswith("."), sentence)
        self.assertRegex(sentence, r"\d %")
        workers = self.text("#experiment table")
        for name in ("actor-0", "learner-0", "replay-server-0", "evaluator-0"):
            self.assertIn(name, workers)
        # A curve goes on: its points and its last value change.
        last = "[...document.querySelectorAll('figcaption')].find(c => c.innerText.includes('Return of training')).innerText"
        before = self.browser.run(last)
        self.browser.wait_for(f"{last} !== {before!r}", "the curve goes on")
        self.browser.run("[...document.querySelectorAll('summary')].find(s => s.innerText === 'As it was submitted').click()")
        self.assertIn("cartpole_apex_dqn", self.browser.run("document.querySelector('details[open] pre').innerText"))
        self.browser.wait_for("document.querySelector('#experiment').innerText.includes('transitions: ')",
                              "the replay server says how its table flows")  # fmt: skip
        self.no_errors()

    def test_2_several_runs_become_their_mean_and_range(self):
        self.open()
        curve = "{step: [%s], mean: [%s], low: [%s], high: [%s]}"
        one, two = curve % ("0,100", "0,10", "0,10", "0,10"), curve % ("50,100", "20,30", "20,30", "20,30")
        mean = self.browser.run(f"import('/charts.js').then(charts => charts.meanOf([{one}, null, {two}], 4))")
        self.assertEqual(mean["step"], [0, 25, 50, 75, 100])
        self.assertEqual(mean["mean"], [0, 2.5, 12.5, 16.25, 20])  # One run alone at first, then both.
        self.assertEqual(mean["low"], [0, 2.5, 5, 7.5, 10])
        self.assertEqual(mean["high"], [0, 2.5, 20, 25, 30])
        same = curve % ("5,5,9", "1,3,7", "0,3,7", "1,4,7")  # Two evaluations of one step.
        mean = self.browser.run(f"import('/charts.js').then(charts => charts.meanOf([{same}]))")
        self.assertEqual(mean, {"step": [5, 9], "mean": [2, 7], "low": [0, 7], "high": [4, 7]})

    def test_3_the_pages_are_accessible_in_light_and_dark(self):
        axe = axe_script()
        if axe is None:
            self.skipTest("there is no axe-core: pip install axe-core-python")
        for scheme in ("light", "dark"):
            self.browser.scheme(scheme)
            for page in self.pages():
                self.browser.run(axe + "; 1")
                found = self.browser.run("axe.run(document).then(r => r.violations.map(v => v.id + ': ' + v.help + ' at ' +"
                                         "v.nodes.map(n => n.html).slice(0, 3).join(' ')))")  # fmt: skip
                self.assertEqual(found, [], f"{page}, {scheme}")

    def test_4_a_phone_shows_every_page_without_scrolling_sideways(self):
        self.browser.size(*PHONE, mobile=True)
        for page in self.pages():
            width = self.browser.run("document.documentElement.scrollWidth")
            self.assertLessEqual(width, PHONE[0], page)
            # Wider tables scroll in a region of their own, which the keyboard reaches.
            wide = self.browser.run("[...document.querySelectorAll('main section:not([hidden]) table')]"
                                    ".every(t => t.closest('.wide[tabindex]'))")  # fmt: skip
            self.assertTrue(wide, page)

    def test_5_the_keyboard_reaches_and_opens_an_experiment(self):
        self.open()
        self.browser.tab()
        self.assertEqual(self.browser.run("document.activeElement.className"), "skip")
        for _ in range(30):
            self.browser.tab()
            if self.id in (self.browser.run("document.activeElement.getAttribute('href')") or ""):
                break
        else:
            self.fail("thirty tabs do not reach the experiment")
        outline = self.browser.run("getComputedStyle(document.activeElement).outlineStyle")
        self.assertEqual(outline, "solid")
        self.browser.enter()
        self.browser.wait_for("document.querySelector('#experiment h1') !== null")
        self.assertEqual(self.browser.run("document.activeElement.id"), "main")
        self.assertIn(self.id, self.browser.run("document.title"))

    def test_6_the_page_has_the_structure_of_its_pictures(self):
        structure, pictures = {}, pathlib.Path(DOCS) / "pictures"
        writes = bool(os.environ.get("WAGGLE_PICTURES"))
        shots = [("overview", "", WIDE, "light"), ("experiment", self.id, TALL, "light"), ("phone", self.id, LONG, "dark")]
        for name, experiment, size, scheme in shots:
            self.browser.size(*size, mobile=size == LONG)
            self.browser.scheme(scheme)
            self.open_experiment() if experiment else self.open()
            if experiment:
                own = "[...document.querySelectorAll('figcaption span:first-child')].filter(t => !t.innerText.includes('/'))"
                self.browser.wait_for(f"{own}.length === {CURVES}", "all curves have begun")
                self.browser.wait_for("!document.querySelector('.charts').innerText.includes('no figures')")
            structure[name] = self.browser.run("""(() => {
              const seen = (e) => e.getClientRects().length > 0;
              const texts = (s) => [...document.querySelectorAll(s)].filter(seen).map(e => e.textContent);
              return { headings: texts('h1, h2').map(t => t.replace(/-[a-z0-9]+$/, '')), columns: texts('th'),
                       stations: texts('svg .title').map(t => t.replace(/^.* /, '')),
                       curves: texts('figcaption span:first-child').filter(t => !t.includes('/')).sort(),
                       background: getComputedStyle(document.body).backgroundColor };
            })()""")
            path = pictures / f"dashboard_{name}.png"
            if writes:
                pictures.mkdir(exist_ok=True)
                self.browser.picture(path)
            with open(path, "rb") as file:
                self.assertEqual(struct.unpack(">II", file.read(24)[16:]), size, f"{path.name} is of another size")
        recorded = HERE / "structure.json"
        if writes:
            recorded.write_text(json.dumps(structure, indent=1) + "\n")
        self.assertEqual(structure, json.loads(recorded.read_text()),
                         "the page has changed: write its pictures anew, with WAGGLE_PICTURES=1")  # fmt: skip

    def test_7_a_killed_learner_is_shown_until_another_one_goes_on(self):
        self.open_experiment()
        slow = "document.querySelector('#experiment .panel[role=status]').innerText"
        self.pool.kill("learner")
        self.browser.wait_for(f"{slow}.startsWith('learner is slow')", "the page says that the learner is missing")
        self.browser.wait_for("document.querySelector('rect.is-slow') !== null", "the drawing marks it")
        steps = self.pool.ask(f"experiments/{self.id}")["learner_steps"]
        self.pool.start_learner()
        browsers.wait_until(lambda: self.pool.ask(f"experiments/{self.id}")["learner_steps"] > steps, "the run goes on")
        gone = f"!/no learner works|silent for seconds/.test({slow})"
        self.browser.wait_for(gone, "the page has recovered")
        self.no_errors()

    def test_8_a_hub_that_is_away_is_said_and_the_page_recovers(self):
        self.open_experiment()
        self.pool.kill("hub")
        self.browser.wait_for("!document.querySelector('#away').hidden", "the page says that the hub is away")
        self.assertIn("does not answer", self.text("#away"))
        self.assertIn(self.id, self.text("#experiment h1"))  # It keeps what it showed.
        self.pool.start_hub()
        self.browser.wait_for("document.querySelector('#away').hidden", "the page has recovered")
        self.browser.wait_for("document.querySelector('#experiment .state').innerText === 'running'")

    def test_9_an_experiment_is_changed_by_its_buttons(self):
        self.open_experiment()
        button = "[...document.querySelectorAll('#experiment button')].find(b => b.innerText === '%s')"
        self.browser.run(f"{button % 'Stop'}.focus()")
        self.browser.enter()
        self.browser.wait_for("document.querySelector('#experiment .state').innerText === 'stopped'")
        self.assertEqual(self.pool.ask(f"experiments/{self.id}")["state"], "stopped")
        other = self.pool.ask("experiments?state=queued,running&name=waits")["experiments"][0]["id"]
        # It has no workers, and so no rows.
        self.open(f"experiment/{other}", f"document.querySelector('#experiment h1').innerText.includes('{other}')")
        self.browser.run("document.querySelector('#experiment input[type=number]').select()")
        self.browser.call("Input.insertText", text="7")
        self.browser.enter()
        browsers.wait_until(lambda: self.pool.ask(f"experiments/{other}")["priority"] == 7, "its priority has changed")
        self.open_experiment()
        self.browser.wait_for(f"!{button % 'Resume'}.hidden")
        self.browser.run(f"{button % 'Resume'}.click()")
        self.browser.wait_for("['queued', 'running'].includes(document.querySelector('#experiment .state').innerText)")

    @classmethod
    def tearDownClass(cls):
        elsewhere = [url for url in cls.browser.requests if not url.startswith((cls.base, "about:", "data:"))]
        if elsewhere:
            raise AssertionError(f"the page asked elsewhere: {elsewhere[:5]}")


if __name__ == "__main__":
    BINARIES, CONFIGS, DOCS = sys.argv[1:4]
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
