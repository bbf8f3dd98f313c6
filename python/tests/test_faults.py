"""Broken connections, and servers that stop, die, come back or never started. [e2e]"""

import os
import re
import subprocess
import sys
import threading
import unittest
from unittest import mock

import numpy as np
from support import COLUMNS, PATIENCE, Proxy, Server, ServerTest, fill, queue_table, row, wait_until

import waggle_client as waggle
from waggle_client import _link

VIEW = {"last": waggle.last("number"), "all": waggle.all_rows("number")}


class BrokenConnectionTest(ServerTest):
    def setUp(self):
        super().setUp()
        self.proxy = Proxy(self.server.port)
        self.addCleanup(self.proxy.close)
        self.far = waggle.Client(self.proxy.address, timeout=PATIENCE)
        self.addCleanup(self.far.close)
        self.client.create_table(queue_table(self.name, view=VIEW))

    def write(self, writer, begin, end):
        for number in range(begin, end):
            writer.append(row(number))
            writer.create_item(rows=min(4, number + 1))

    def check_all_once(self, count):
        self.assertEqual(self.client.table(self.name).items_inserted, count)
        self.assertEqual(self.drain(self.client, self.name, count), list(range(count)))

    def test_blocks_that_were_cut_off_are_sent_again_and_applied_once(self):
        with self.far.writer(self.name, block_bytes=100) as writer:
            for begin in range(0, 2000, 100):
                self.write(writer, begin, begin + 100)
                self.proxy.cut()
            writer.flush(PATIENCE)
            self.assertEqual(writer.stats().items_inserted, 2000)
        self.check_all_once(2000)

    def test_blocks_that_were_lost_or_whose_acknowledgement_was_are_applied_once(self):
        arrived = lambda: self.client.table(self.name).items_inserted == 150
        for switch, lost in (("drop_requests", lambda: self.proxy.dropped > 0), ("drop_answers", arrived)):
            self.name += "/" + switch
            self.client.create_table(queue_table(self.name, view=VIEW))
            with self.far.writer(self.name, block_bytes=100) as writer:
                self.write(writer, 0, 50)
                writer.flush(PATIENCE)
                setattr(self.proxy, switch, True)
                self.write(writer, 50, 150)
                wait_until(lost, "blocks or acknowledgements were lost")
                with self.assertRaises(waggle.DeadlineExceeded):
                    writer.flush(0.05)
                self.proxy.cut()
                setattr(self.proxy, switch, False)
                writer.flush(PATIENCE)
                self.assertEqual(writer.stats().items_inserted, 150)
            self.check_all_once(150)

    def test_a_sampler_goes_on_after_every_cut(self):
        self.client.create_table(queue_table(self.name + "/all", max_times_sampled=0, view=VIEW))
        with self.client.writer(self.name + "/all") as writer:
            self.write(writer, 0, 100)
        with self.far.sampler(self.name + "/all", 10, prefetch=3, timeout=PATIENCE) as sampler:
            for _ in range(10):
                for _ in range(5):
                    batch = sampler.next()
                    self.assertTrue(np.array_equal(batch["all"].max(1), batch["last"]))
                self.proxy.cut()

    def test_calls_try_again_and_then_have_the_last_error(self):
        self.proxy.cut()
        self.assertEqual(self.far.table(self.name).items, 0)
        self.proxy.accepts = False
        self.proxy.cut()
        with self.assertRaisesRegex(waggle.DeadlineExceeded, f"describing .*{self.proxy.address}.*the last attempt"):
            self.far.describe(timeout=1.0)

    def test_a_wait_while_the_server_is_away_says_so(self):
        with self.far.sampler(self.name, 1) as sampler:
            self.proxy.accepts = False
            self.proxy.cut()
            with self.assertRaisesRegex(waggle.DeadlineExceeded, "no batch.*(is away|does not answer)"):
                sampler.next(timeout=1.0)
            self.proxy.accepts = True
            with self.client.writer(self.name) as writer:
                self.write(writer, 0, 1)
            self.assertEqual(sampler.next(PATIENCE)["last"].tolist(), [0])


class StoppedServerTest(ServerTest):
    def setUp(self):
        super().setUp()
        self.client.create_table(queue_table(self.name, view=VIEW))
        self.addCleanup(self.server.resume)

    def test_a_paused_server_gets_everything_once_it_goes_on(self):
        with self.client.writer(self.name, block_bytes=100, max_unacknowledged_blocks=4, timeout=0.2) as writer:
            fill(writer, 1)
            writer.flush(PATIENCE)
            self.server.pause()
            added = 1
            with self.assertRaisesRegex(waggle.DeadlineExceeded, "no room.*does not answer"):
                while True:
                    writer.append(row(added))
                    added += 1
                    writer.create_item()
            with self.assertRaisesRegex(waggle.DeadlineExceeded, "not acknowledged"):
                writer.flush(0.1)
            self.server.resume()
            writer.flush(PATIENCE)
            inserted = writer.stats().items_inserted
        self.assertIn(inserted, (added, added - 1))  # The last row may lack its item.
        self.assertEqual(self.drain(self.client, self.name, inserted), list(range(inserted)))

    def test_a_timeout_has_the_time_that_was_asked_for(self):
        with self.client.writer(self.name) as writer, self.client.sampler(self.name, 1) as sampler:
            writer.append(row(0))
            writer.flush(PATIENCE)
            self.server.pause()
            writer.append(row(1))
            many = np.zeros(250_000, np.uint64)  # In several requests.
            for call in (
                lambda: self.client.describe(timeout=0.3),
                lambda: self.client.wait_for_table("none", timeout=0.3),
                lambda: self.client.sample(self.name, 1, timeout=0.3),
                lambda: self.client.update_priorities(self.name, many, many, many, timeout=0.3),
                lambda: self.client.reconfigure(queue_table(self.name), timeout=0.3),
                lambda: self.client.clear(self.name, timeout=0.3),
                lambda: sampler.next(0.3),
                lambda: writer.flush(0.3),
            ):
                with self.assertRaisesRegex(
                    waggle.DeadlineExceeded, "(within|after) 0.3 s.*does not answer|within 0.3 s$"
                ):
                    self.soon(call)
            self.server.resume()

    def test_closing_never_hangs_on_a_paused_server(self):
        writer = self.client.writer(self.name)
        sampler = self.client.sampler(self.name, 1)
        fill(writer, 1)
        writer.flush(PATIENCE)
        sampler.next(PATIENCE)
        self.server.pause()
        writer.append(row(1))
        with self.assertRaisesRegex(waggle.DeadlineExceeded, "not acknowledged"):
            self.soon(lambda: writer.close(timeout=0.1))
        self.soon(sampler.close)
        with self.assertRaises(waggle.DeadlineExceeded):
            self.soon(lambda: self.client.describe(timeout=0.1))
        self.soon(self.client.close)

    def test_closing_the_client_ends_what_waits_in_other_threads(self):
        client = waggle.Client(self.server.address, timeout=PATIENCE)
        sampler = client.sampler(self.name, 1)
        self.server.pause()
        ended = []

        def wait(function):
            try:
                function()
            except waggle.Error as error:
                ended.append(error)

        threads = [threading.Thread(target=wait, args=(call,), daemon=True) for call in (sampler.next, client.describe)]
        for thread in threads:
            thread.start()
        self.soon(client.close)
        for thread in threads:
            thread.join(PATIENCE)
        self.assertEqual(len(ended), 2, ended)

    def test_a_clients_writers_are_closed_side_by_side(self):
        client = waggle.Client(self.server.address, timeout=PATIENCE)
        writers = [client.writer(self.name) for _ in range(3)]
        together = threading.Barrier(3)

        def close(writer):
            together.wait(PATIENCE / 4)
            raise waggle.DeadlineExceeded(f"not {writer.writer_id}")

        with mock.patch.object(waggle.Writer, "close", close), self.assertLogs("waggle_client", "WARNING") as logs:
            with self.assertRaises(waggle.DeadlineExceeded) as raised:
                client.close()
        told = "".join([str(raised.exception), *logs.output])
        for writer in writers:
            self.assertIn(f"not {writer.writer_id}", told)

    def test_streams_of_a_closed_client_end_without_a_warning(self):
        client = waggle.Client(self.server.address, timeout=PATIENCE)
        writer, sampler = client.writer(self.name), client.sampler(self.name, 1)
        wait_until(lambda: writer._core._opened, "the streams are open")
        with mock.patch.object(_link.log, "warning") as warned:
            client._link.close()
            for core in (writer._core, sampler._core):
                core._thread.join(PATIENCE)
        warned.assert_not_called()
        for call in (lambda: writer.append(row(0)), sampler.next):
            with self.assertRaisesRegex(waggle.FailedPrecondition, "the client is closed"):
                call()

    def test_a_program_that_closes_nothing_ends_and_says_only_what_is_lost(self):
        program = """
import sys, waggle_client as waggle
client = waggle.Client(sys.argv[1])
writer, sampler = client.writer(sys.argv[2], max_delay=1000), client.sampler(sys.argv[2], 1)
writer.append({"number": 1, "vector": [0, 0, 0]})
writer.create_item()
writer.flush()
sampler.next()
if sys.argv[3] == "more":
    writer.append({"number": 2, "vector": [0, 0, 0]})
"""
        self.client.create_table(waggle.Table(f"{self.name}/uniform", COLUMNS))
        # Several at a time, because gRPC hung only now and then.
        for more, told in (("nothing", "^$"), ("more", "dropped without close.*1 rows and 0 items.*lost")):
            command = [sys.executable, "-c", program, self.server.address, f"{self.name}/uniform", more]
            running = [
                subprocess.Popen(
                    command, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": ":".join(sys.path)}
                )
                for _ in range(6)
            ]
            for process in running:
                self.addCleanup(process.kill)
            for process in running:
                errors = process.communicate(timeout=PATIENCE)[1]
                self.assertEqual(process.returncode, 0, errors)
                self.assertRegex(errors, told)


class RestartedServerTest(unittest.TestCase):
    def test_a_server_that_lost_everything_gets_its_tables_and_what_it_had_not_acknowledged(self):
        server = Server()
        self.addCleanup(lambda: server.kill())
        with waggle.Client(server.address, timeout=PATIENCE) as client:
            client.create_table(queue_table("queue", view=VIEW))
            with client.writer("queue", block_bytes=100) as writer, client.sampler("queue", 1) as sampler:
                fill(writer, 50)
                writer.flush(PATIENCE)
                self.assertEqual(sampler.next(PATIENCE)["last"].tolist(), [0])
                server.kill()
                fill(writer, 50, 100, rows=4)
                with self.assertLogs("waggle_client", "WARNING") as logs:
                    server = Server(server.port)
                    writer.flush(PATIENCE)
                stats = writer.stats()
                # The windows of the first three reach back to lost rows.
                self.assertEqual((stats.items_inserted, stats.items_without_rows), (50 + 47, 3))
                refused = re.findall(r"(\d+) items were refused", "".join(logs.output))
                self.assertEqual(sum(map(int, refused)), 3, logs.output)
                self.assertTrue(any("lost what it had acknowledged" in line for line in logs.output), logs.output)
                seen = set()
                while 99 not in seen:
                    seen.update(sampler.next(PATIENCE)["last"].tolist())
                self.assertLessEqual(set(range(53, 100)), seen)

    def test_a_table_that_is_not_made_again_is_an_error(self):
        server = Server()
        self.addCleanup(lambda: server.kill())
        with waggle.Client(server.address, timeout=PATIENCE) as maker:
            maker.create_table(queue_table("queue", view=VIEW))
        with waggle.Client(server.address, timeout=PATIENCE) as client:
            with client.sampler("queue", 1) as sampler:
                port = server.port
                server.kill()
                server = Server(port)
                with self.assertRaisesRegex(waggle.NotFound, "queue"):
                    sampler.next(PATIENCE)

    def test_a_batch_comes_from_another_table_of_the_name_after_a_restart(self):
        server = Server()
        self.addCleanup(lambda: server.kill())
        with waggle.Client(server.address, timeout=PATIENCE) as client:
            for column in ("one", "other"):
                with waggle.Client(server.address, timeout=PATIENCE) as maker:
                    maker.create_table(waggle.Table("t", {column: waggle.Column("int64")}))
                    with maker.writer("t") as writer:
                        writer.append({column: 3})
                        writer.create_item()
                for _ in range(2):
                    self.assertEqual(client.sample("t", 1, timeout=PATIENCE)[column].tolist(), [3])
                server.kill()
                server = Server(server.port)

    def test_an_idle_sampler_of_single_batches_does_not_warn_of_a_restart(self):
        server = Server()
        self.addCleanup(lambda: server.kill())
        with waggle.Client(server.address, timeout=PATIENCE) as client:
            client.create_table(queue_table("queue", view=VIEW))
            with client.writer("queue") as writer:
                fill(writer, 1)
            client.sample("queue", 1)
            (idle,) = client._idle._idle["queue"]
            with mock.patch.object(_link.log, "warning") as warned:
                server.kill()
                idle._core._thread.join(PATIENCE)
            warned.assert_not_called()
            self.assertFalse(idle._core._thread.is_alive())

    def test_the_last_attempt_of_a_call_lasts_until_its_timeout(self):
        server = Server()
        port = server.port
        server.kill()
        failed = threading.Event()

        def pause(backoff):
            failed.set()
            return 10 * PATIENCE

        answers = []
        with waggle.Client(f"127.0.0.1:{port}", timeout=PATIENCE / 10) as client:
            thread = threading.Thread(target=lambda: answers.append(client.describe()), daemon=True)
            with mock.patch.object(_link.Backoff, "next", pause):
                thread.start()
                self.assertTrue(failed.wait(PATIENCE))
                server = Server(port)
                self.addCleanup(lambda: server.kill())
                thread.join(PATIENCE)
            self.assertEqual(len(answers), 1)

    def test_a_server_may_come_after_its_client(self):
        server = Server()
        port = server.port
        server.kill()
        client = waggle.Client(f"127.0.0.1:{port}", timeout=PATIENCE)
        self.addCleanup(client.close)
        with self.assertRaisesRegex(waggle.DeadlineExceeded, "creating table.*the last attempt"):
            client.create_table(queue_table("queue"), timeout=0.5)
        created = []
        thread = threading.Thread(target=lambda: created.append(client.create_table(queue_table("queue"))))
        thread.start()
        server = Server(port)
        self.addCleanup(lambda: server.kill())
        thread.join(PATIENCE)
        self.assertEqual(created, [True])


if __name__ == "__main__":
    unittest.main()
