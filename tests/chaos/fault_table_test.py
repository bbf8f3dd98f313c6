#!/usr/bin/env python3
"""Tests of the table of faults and of the schedule: python3 tests/chaos/fault_table_test.py. [unit]"""

import importlib.util
import sys
import unittest

import schedule
import staged

SKIPPED = 77


class FaultTableTest(unittest.TestCase):
    def test_all_faults_of_the_catalogue_are_accounted_for(self):
        numbers = {entry.number for entry in (*fault_table.FAULTS, *fault_table.ELSEWHERE)}
        self.assertEqual(numbers, {f"F{number}" for number in range(1, 42)})

    def test_names_are_unique_and_invariants_exist(self):
        names = [fault.name for fault in fault_table.FAULTS]
        self.assertEqual(len(names), len(set(names)))
        for fault in fault_table.FAULTS:
            self.assertTrue(set(fault.checked_by) <= set(fault_table.INVARIANTS), fault)
            self.assertTrue(fault.run.__doc__, fault)

    def test_tests_that_have_other_faults_exist(self):
        for other in fault_table.ELSEWHERE:
            if other.file:
                self.assertIn(other.test, (staged.ROOT / other.file).read_text(encoding="utf-8"), other)
                self.assertTrue(other.test, other)

    def test_an_unknown_fault_is_refused(self):
        with self.assertRaisesRegex(KeyError, "there is no fault kill-bee"):
            fault_table.by_name(["kill-hub", "kill-bee"])


class ScheduleTest(unittest.TestCase):
    def plan(self, seed, seconds=300):
        return schedule.plan(seed, seconds, fault_table.FAULTS, lambda fault: [f"{kind}-0" for kind in fault.targets])

    def test_a_plan_follows_from_its_seed(self):
        self.assertEqual(self.plan(7), self.plan(7))
        self.assertNotEqual(self.plan(7), self.plan(8))

    def test_each_fault_comes_before_any_comes_again(self):
        names = [planned.fault.name for planned in self.plan(7)]
        first = names[: len(fault_table.FAULTS)]
        self.assertEqual(len(set(first)), len(first))

    def test_times_grow_and_end_in_time(self):
        times = [planned.at for planned in self.plan(7)]
        self.assertEqual(times, sorted(times))
        self.assertLess(times[-1], 300)


if __name__ == "__main__":
    if importlib.util.find_spec("grpc") is None:
        print("SKIPPED: the table of faults is NOT TESTED: this Python has no grpc", file=sys.stderr)
        sys.exit(SKIPPED)
    import fault_table

    unittest.main()
