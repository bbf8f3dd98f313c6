#!/usr/bin/env python3
"""Tests of the checker with histories that break a promise: python3 tests/chaos/history_checker_test.py. [unit]"""

import random
import unittest

from history_checker import TableRule, acknowledged_items, gradient_problems, item_problems, poll_problems

LOG = {"log": TableRule(), "sync": TableRule("sync"), "ring": TableRule("log", max_items=50)}


class GoodHistory:
    """A history without problems, and the table's contents at its end: by a simple server that loses nothing."""

    def __init__(self, seed, table="log", max_items=None, outcomes=("ok", "ok", "ok", "late", "fail", "lost", "unknown")):
        self.random = random.Random(seed)
        self.table = table
        self.events = []
        self.items = []  # The numbers in the table, oldest first.
        self.t = 0.0
        number = 0
        for _ in range(40):
            block = list(range(number, number + self.random.randint(1, 8)))
            number = block[-1] + 1
            self.tell("insert", "invoke", block)
            outcome = self.random.choice(outcomes)
            if outcome in ("ok", "late", "unknown"):
                self.items += block
            if outcome in ("late", "lost", "unknown"):
                self.tell("insert", "unknown", block)
            if outcome in ("ok", "late"):
                self.tell("insert", "ok", block)
            elif outcome == "fail":
                self.tell("insert", "fail", block)
            if max_items is not None:
                self.items = self.items[-max_items:]
            elif outcome == "ok" and self.random.random() < 0.2:
                self.tell("delete", "invoke", block[:1])
                self.items.remove(block[0])
                if self.random.random() < 0.7:
                    self.tell("delete", "ok", block[:1])

    def tell(self, op, kind, numbers):
        self.t += self.random.random()
        self.events.append({"op": op, "type": kind, "t": self.t, "server": "replay-0", "table": self.table,
                            "numbers": list(numbers)})

    def add(self, **event):
        self.events.append({"t": self.t, "server": "replay-0", "table": self.table, **event})

    def with_outcome(self, kind):
        """The numbers with this outcome of their insertion that were not deleted."""
        deleted = {n for event in self.events if event["op"] == "delete" for n in event["numbers"]}
        return [n for event in self.events if event["op"] == "insert" and event["type"] == kind
                for n in event["numbers"] if n not in deleted]

    def problems(self, items=None, wrong=()):
        items = self.items if items is None else items
        return item_problems(self.events, {("replay-0", self.table): [(n, n not in wrong) for n in items]}, LOG)


class ItemsTest(unittest.TestCase):
    def expect(self, problems, *phrases):
        self.assertEqual(len(problems), len(phrases), problems)
        for problem, phrase in zip(problems, phrases):
            self.assertIn(phrase, problem)

    def each(self):
        for seed in range(50):
            with self.subTest(seed=seed):
                yield GoodHistory(seed)

    def test_good_histories_have_no_problems(self):
        for history in self.each():
            self.assertEqual(history.problems(), [])

    def test_a_good_history_of_a_ring_has_no_problems(self):
        for seed in range(50):
            self.assertEqual(GoodHistory(seed, "ring", max_items=50).problems(), [])

    def test_a_lost_item_is_reported(self):
        for history in self.each():
            lost = history.random.choice(history.with_outcome("ok"))
            history.items.remove(lost)
            self.expect(history.problems(), f"replay-0/log: 1 acknowledged items are lost: {lost}")

    def test_a_lost_item_of_an_empty_table_is_reported(self):
        history = GoodHistory(3)
        self.assertIn("acknowledged items are lost", item_problems(history.events, {}, LOG)[0])

    def test_an_item_that_left_a_ring_too_early_is_reported(self):
        for seed in range(50):
            history = GoodHistory(seed, "ring", max_items=50, outcomes=("ok", "late", "fail"))
            last = history.with_outcome("ok")[-1]
            history.items.remove(last)
            self.expect(history.problems(), f"1 acknowledged items are lost: {last}")

    def test_a_ring_with_too_many_items_is_reported(self):
        history = GoodHistory(1, "ring", max_items=60)
        self.expect(history.problems(), "has 60 items; wanted at most 50")

    def test_an_unknown_item_may_be_lost(self):
        for history in self.each():
            answered = set(history.with_outcome("ok"))
            unknown = [n for n in history.with_outcome("unknown") if n in history.items and n not in answered]
            self.assertEqual(history.problems([n for n in history.items if n not in unknown]), [])

    def test_a_duplicate_is_reported(self):
        for history in self.each():
            twice = history.random.choice(history.items)
            self.expect(history.problems(history.items + [twice]), f"1 items are there more than once: {twice}")

    def test_an_unacknowledged_item_that_is_there_twice_is_reported(self):
        for history in self.each():
            unknown = [n for n in history.with_outcome("unknown") if n in history.items]
            if unknown:
                self.expect(history.problems(history.items + unknown[:1]), "more than once")

    def test_a_refused_item_that_is_there_is_reported(self):
        for history in self.each():
            failed = history.with_outcome("fail")
            if failed:
                self.expect(history.problems(history.items + failed[:1]), "items are there that were refused")

    def test_an_invented_item_is_reported(self):
        history = GoodHistory(5)
        self.expect(history.problems(history.items + [10**9]), "that no client has written: 1000000000")

    def test_a_deleted_item_that_is_there_is_reported(self):
        for history in self.each():
            deleted = [n for event in history.events if event["op"] == "delete" and event["type"] == "ok"
                       for n in event["numbers"]]
            if deleted:
                self.expect(history.problems(history.items + deleted[:1]), "though their deletion was answered")

    def test_wrong_rows_are_reported(self):
        history = GoodHistory(6)
        self.expect(history.problems(wrong=history.items[3:4]), f"1 items have wrong rows: {history.items[3]}")
        history.add(op="read", number=history.items[0], right=False)
        self.expect(history.problems(), "1 sampled items had wrong rows")

    def test_a_read_of_an_item_that_was_never_written_is_reported(self):
        history = GoodHistory(6)
        history.add(op="read", number=10**9, right=True)
        self.expect(history.problems(), "1 sampled items were written by no client")

    def test_a_refused_client_is_reported(self):
        history = GoodHistory(7)
        history.add(op="refused", error="FAILED_PRECONDITION: another writer")
        self.expect(history.problems(), "was refused: FAILED_PRECONDITION: another writer")

    def test_damage_excuses_losses_before_it_at_its_levels_only(self):
        for table, levels, excused in (("log", ["log"], True), ("sync", ["log"], False), ("sync", ["log", "sync"], True)):
            with self.subTest(table=table, levels=levels):
                history = GoodHistory(8, table)
                lost = history.with_outcome("ok")[0]
                history.items.remove(lost)
                history.events.append({"op": "lossy", "t": history.t, "server": "replay-0", "levels": levels})
                self.assertEqual(history.problems() == [], excused)
                # What is acknowledged afterwards must be kept.
                history.tell("insert", "invoke", [777])
                history.tell("insert", "ok", [777])
                self.assertIn("777", history.problems()[-1])

    def test_damage_of_another_server_excuses_nothing(self):
        history = GoodHistory(8)
        history.items.remove(history.with_outcome("ok")[0])
        history.events.append({"op": "lossy", "t": history.t, "server": "replay-1", "levels": ["log"]})
        self.expect(history.problems(), "acknowledged items are lost")

    def test_acknowledged_items_are_counted(self):
        history = GoodHistory(9)
        self.assertEqual(acknowledged_items(history.events), sum(
            len(event["numbers"]) for event in history.events if (event["op"], event["type"]) == ("insert", "ok")))


def poll(t, steps, epoch=1, version=None, state="running", life=0, cut=None):
    return {"t": t, "cut": cut, "life": life, "state": state, "env_steps": 10 * steps, "learner_steps": steps, "epoch": epoch,
            "version": steps if version is None else version}


class PollsTest(unittest.TestCase):
    def good(self):
        return [poll(0, 0, 0, 0, "queued")] + [poll(t, 5 * t) for t in range(1, 40)]

    def test_a_good_history_has_no_problems(self):
        self.assertEqual(poll_problems(self.good() + [poll(41, 300, state="solved")], []), [])

    def test_a_count_that_goes_back_is_reported(self):
        for name in ("env_steps", "learner_steps"):
            polls = self.good()
            polls[20][name] -= 60
            problems = poll_problems(polls, [])
            self.assertEqual(len(problems), 1, problems)
            self.assertIn(f"{name} went back from", problems[0])

    def test_an_epoch_that_goes_back_is_reported(self):
        polls = self.good()
        polls[10]["epoch"] = 2
        self.assertIn("the learner's epoch went back from 2 to 1", poll_problems(polls, [])[0])

    def test_a_version_that_goes_back_within_its_epoch_is_reported(self):
        polls = self.good()
        polls[10]["version"] = 3
        self.assertEqual(poll_problems(polls, []), ["the weights' version went back from 1.45 to 1.3 at 10.0 s"])

    def test_a_later_epoch_may_begin_at_an_earlier_version(self):
        polls = self.good() + [poll(40, 300, 2, 4), poll(41, 301, 2, 5)]
        self.assertEqual(poll_problems(polls, []), [])

    def test_counts_may_go_back_behind_a_hub_that_died_but_not_behind_what_it_had_written(self):
        # The hub dies at 40 s, and has written what there was at 28 s.
        self.assertEqual(poll_problems(self.good() + [poll(41, 5 * 28, life=1)], [40.0]), [])
        problems = poll_problems(self.good() + [poll(41, 5 * 28 - 1, life=1)], [40.0])
        self.assertEqual(len(problems), 3, problems)
        self.assertIn("env_steps went back from 1400 to 1390", problems[0])

    def test_what_one_hub_had_not_written_is_not_asked_of_the_hubs_after_it(self):
        polls = self.good() + [poll(41, 5 * 28, life=1), poll(42, 5 * 30, life=2)]
        self.assertEqual(poll_problems(polls, [40.0, 41.5]), [])
        polls[-1] = poll(60, 5 * 28 - 1, life=2)
        self.assertEqual(len(poll_problems(polls, [40.0, 41.5])), 3)

    def test_counts_may_not_go_back_behind_a_cut(self):
        cut = {"number": 2, "env_steps": 10 * 190, "learner_steps": 190}
        polls = self.good()
        polls[-1]["cut"] = cut  # At 39 s, with 195 steps.
        self.assertEqual(poll_problems(polls + [poll(41, 190, life=1, cut=cut)], [40.0]), [])
        problems = poll_problems(polls + [poll(41, 189, life=1, cut=cut)], [40.0])
        self.assertEqual(len(problems), 2, problems)
        self.assertIn("env_steps went back from 1900 to 1890", problems[0])

    def test_a_cut_that_is_lost_is_reported(self):
        cuts = [{"number": n, "env_steps": 0, "learner_steps": 0} for n in (1, 2)]
        polls = self.good()[:2] + [poll(2, 10, cut=cuts[1]), poll(3, 15, life=1, cut=cuts[0])]
        self.assertEqual(poll_problems(polls, [2.5]), ["cuts went back from 2 to 1 at 3.0 s"])

    def test_a_disk_that_refused_excuses_what_was_not_written(self):
        polls = self.good() + [poll(41, 5 * 10, life=1)]
        self.assertEqual(poll_problems(polls, [40.0], unsaved=[(22.0, 39.0)]), [])
        self.assertNotEqual(poll_problems(polls, [40.0], unsaved=[(30.0, 39.0)]), [])
        self.assertNotEqual(poll_problems(polls, [40.0], unsaved=[(2.0, 5.0)]), [])

    def test_an_ended_experiment_that_runs_again_is_reported(self):
        polls = self.good() + [poll(41, 300, state="solved"), poll(42, 300)]
        self.assertIn("was solved and became running", " ".join(poll_problems(polls, [])))

    def test_a_state_that_goes_back_under_the_next_hub_is_reported(self):
        polls = self.good() + [poll(41, 300, state="queued", life=1)]
        self.assertIn("the state went back", poll_problems(polls, [40.0])[0])

    def test_an_unknown_state_is_reported(self):
        self.assertIn("got the state lost", poll_problems([poll(1, 1, state="lost")], [])[0])


class GradientsTest(unittest.TestCase):
    GOOD = {"pushed": 10, "applied": 7, "refused": 2, "refused_by_reason": {"stale": 1, "future": 1}, "unanswered": 1,
            "rolled_back": 0}

    def test_gradients_that_add_up_have_no_problems(self):
        self.assertEqual(gradient_problems(self.GOOD), [])

    def test_gradients_that_do_not_add_up_are_reported(self):
        self.assertIn("pushed 11 gradients; applied, refused and unanswered ones are 10",
                      gradient_problems({**self.GOOD, "pushed": 11})[0])
        self.assertIn("by reason", gradient_problems({**self.GOOD, "refused_by_reason": {"stale": 1}})[0])
        self.assertIn("unanswered gradients: got -1",
                      gradient_problems({**self.GOOD, "pushed": 8, "unanswered": -1})[0])
        self.assertEqual(gradient_problems(None), ["has no gradients; wanted some"])


if __name__ == "__main__":
    unittest.main()
