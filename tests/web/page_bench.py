#!/usr/bin/env python3
"""Measures how responsive the hub's web page is with 500 experiments and 200 workers, in a headless Chromium.

usage: page_bench.py BINARIES [SECONDS]
"""

import subprocess
import sys
import tempfile
import time

from browser import Browser

# The longest pause of the page's frames, and the times of tasks over 50 ms, from now on.
WATCH = """
window.longTasks = []; window.longestFrame = 0;
new PerformanceObserver(list => list.getEntries().forEach(e => longTasks.push(e.duration))).observe({type: 'longtask'});
(() => { let last = performance.now(); const frame = now => { longestFrame = Math.max(longestFrame, now - last); last = now;
  requestAnimationFrame(frame); }; requestAnimationFrame(frame); })();
"""


def main():
    binaries, seconds = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 15
    server = subprocess.Popen([binaries + "/web_bench", "--serve", "127.0.0.1:0"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)  # fmt: skip
    base = f"http://{server.stdout.readline().strip()}/"
    with tempfile.TemporaryDirectory() as folder:
        browser = Browser(folder)
        for name, page, more in (("100 experiments", "", 0), ("500 experiments", "", 4), ("200 workers", "pool", 1),
                                 ("one experiment with 200 workers", "experiment/pole-0", 0)):  # fmt: skip
            browser.open("about:blank")
            browser.open(f"{base}#/{page}")
            browser.wait_for("document.querySelector('main > section:not([hidden]) tbody tr') !== null")
            for _ in range(more):
                browser.run("document.querySelector('section:not([hidden]) button[id^=more]').click()")
                time.sleep(1)
            paint = browser.run("performance.getEntriesByName('first-contentful-paint')[0].startTime")
            browser.run(WATCH)
            time.sleep(seconds)
            rows = browser.run("document.querySelectorAll('section:not([hidden]) tbody tr').length")
            longest, tasks = browser.run("[longestFrame, longTasks]")
            received = browser.run("performance.getEntriesByType('resource').slice(-8).map(e => e.duration)")
            print(f"{name}: {rows} rows, first paint {paint:.0f} ms, longest frame {longest:.0f} ms, "
                  f"{len(tasks)} tasks over 50 ms, slowest of the last requests {max(received):.0f} ms")  # fmt: skip
        browser.close()
    server.stdin.close()
    server.wait()


if __name__ == "__main__":
    main()
