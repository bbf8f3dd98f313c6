#include "cli/status/environments_report.h"

#include "tests/support/catch.h"

namespace waggle {
namespace {

v1::WorkerInfo* AddActor(v1::OverviewResponse* overview, bool alive, double processes, double restarts, double broken) {
  v1::WorkerInfo* const worker = overview->add_workers();
  worker->set_role(v1::ROLE_ACTOR);
  worker->set_index(static_cast<uint32_t>(overview->workers_size() - 1));
  worker->set_alive(alive);
  (*worker->mutable_gauges())["environment_processes"] = processes;
  (*worker->mutable_counters())["environment_restarts"] = restarts;
  (*worker->mutable_counters())["broken_episodes"] = broken;
  return worker;
}

TEST_CASE("The line of environments sums all actors, and lists each one's last error", "[unit]") {
  v1::OverviewResponse overview;
  overview.add_workers()->set_role(v1::ROLE_ACTOR);  // Its environments are in the actor.
  CHECK(EnvironmentsText(overview, 100).empty());
  overview.clear_workers();
  AddActor(&overview, true, 2, 1, 1);
  AddActor(&overview, true, 1, 0, 0)
      ->set_last_error("lane 3: it raised\nTraceback:\n  File \"x.py\"\nValueError: \x1b");
  AddActor(&overview, false, 4, 2, 3);  // Its processes are gone.
  CHECK(EnvironmentsText(overview, 12'300) ==
        "  environments: 3 processes, 12.3k steps/s, 3 restarts, 4 broken episodes\n"
        "    last error of actor-1:\n"
        "      lane 3: it raised\n"
        "      Traceback:\n"
        "        File \"x.py\"\n"
        "      ValueError: ?\n");
  CHECK_THAT(EnvironmentsText(overview, std::nullopt), !Catch::Contains("steps/s"));
}

}  // namespace
}  // namespace waggle
