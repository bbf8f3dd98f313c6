#include "cli/status/top_screen.h"

#include "absl/strings/str_join.h"
#include "tests/cli/fake_experiments.h"
#include "tests/common/hub/summary/sample_overview.h"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1'000'310);

// A run of two actors and others, one queued experiment, and one that has ended.
PoolSnapshot Sample() {
  PoolSnapshot snapshot;
  snapshot.pool.set_software_version("1.2");
  snapshot.pool.add_members()->set_kind(v1::WORKER_KIND_LEARNER);
  *snapshot.experiments.add_experiments() = RunningExperiment("pole-x7k2q");
  v1::ExperimentInfo queued = RunningExperiment("pole-later");
  queued.set_state(v1::RUN_STATE_QUEUED);
  queued.set_reason("waits for a learner");
  *snapshot.experiments.add_experiments() = queued;
  v1::ExperimentInfo ended = RunningExperiment("pole-ended");
  ended.set_state(v1::RUN_STATE_SOLVED);
  ended.set_ended_at_us(1);
  *snapshot.experiments.add_experiments() = ended;
  v1::OverviewResponse run = SampleOverview();
  SetNumbers({{"waiting_fraction", 0.5}, {"resident_bytes", 64 << 20}}, run.mutable_workers(1)->mutable_gauges());
  snapshot.runs["pole-x7k2q"] = run;
  return snapshot;
}

size_t LineWith(const std::vector<std::string>& screen, const std::string& begin) {
  for (size_t i = 0; i < screen.size(); ++i) {
    if (screen[i].rfind(begin, 0) == 0) {
      return i;
    }
  }
  FAIL("no line begins with " << begin << ":\n" << absl::StrJoin(screen, "\n"));
  return 0;
}

TEST_CASE("the screen has the experiments that have not ended, running ones first, and their workers", "[unit]") {
  const std::vector<std::string> screen = TopScreen(Sample(), TopOrder::kWaiting, kNow, 200, 100);
  const std::string text = absl::StrJoin(screen, "\n");
  CHECK_THAT(text, Catch::Contains("1 learner") && Catch::Contains("1 running, 1 queued"));
  CHECK(LineWith(screen, "pole-x7k2q") < LineWith(screen, "pole-later"));
  CHECK_THAT(text, !Catch::Contains("pole-ended"));
  CHECK_THAT(screen[LineWith(screen, "pole-x7k2q")],
             Catch::Contains("16.2k") && Catch::Contains("10 %") && Catch::Contains("nothing is slow"));
  CHECK_THAT(screen[LineWith(screen, "pole-later")], Catch::Contains("waits for a learner"));
  CHECK_THAT(screen[LineWith(screen, "actor-1")], Catch::Contains("50 %") && Catch::Contains("64.0 MiB"));
}

TEST_CASE("workers are in the chosen order", "[unit]") {
  const std::vector<std::string> by_waiting = TopScreen(Sample(), TopOrder::kWaiting, kNow, 200, 100);
  CHECK(LineWith(by_waiting, "actor-1") < LineWith(by_waiting, "actor-0"));
  CHECK(LineWith(by_waiting, "actor-0") < LineWith(by_waiting, "learner"));
  const std::vector<std::string> by_rate = TopScreen(Sample(), TopOrder::kRate, kNow, 200, 100);
  CHECK(LineWith(by_rate, "replay-server-0") < LineWith(by_rate, "actor-0"));
  const std::vector<std::string> by_memory = TopScreen(Sample(), TopOrder::kMemory, kNow, 200, 100);
  CHECK(LineWith(by_memory, "actor-1") < LineWith(by_memory, "actor-0"));
}

TEST_CASE("a silent worker is called so, and one that is gone is left out", "[unit]") {
  PoolSnapshot snapshot = Sample();
  snapshot.runs["pole-x7k2q"].mutable_workers(2)->set_silent_ms(9'000);
  snapshot.runs["pole-x7k2q"].mutable_workers(0)->set_gone(true);
  const std::vector<std::string> screen = TopScreen(snapshot, TopOrder::kWaiting, kNow, 200, 100);
  CHECK_THAT(screen[LineWith(screen, "learner ")], Catch::Contains("SILENT"));
  CHECK_THAT(screen[LineWith(screen, "pole-x7k2q")], Catch::Contains("learner-0 (9 s)"));
  CHECK_THAT(absl::StrJoin(screen, "\n"), !Catch::Contains("actor-0"));
}

TEST_CASE("the screen fits the terminal, and both parts have room", "[unit]") {
  PoolSnapshot snapshot = Sample();
  for (int i = 0; i < 300; ++i) {
    v1::ExperimentInfo queued = snapshot.experiments.experiments(1);
    queued.set_id("more-" + std::to_string(i) + "\x1b[2J");
    *snapshot.experiments.add_experiments() = queued;
    AddWorker(v1::ROLE_ACTOR, static_cast<uint32_t>(i + 10), &snapshot.runs["pole-x7k2q"]);
  }
  for (const size_t height : {1, 2, 3, 5, 24, 50}) {
    for (const size_t width : {1, 20, 80}) {
      const std::vector<std::string> screen = TopScreen(snapshot, TopOrder::kWaiting, kNow, width, height);
      REQUIRE(screen.size() <= height);
      for (const std::string& line : screen) {
        REQUIRE(line.size() <= width);
        REQUIRE(line.find('\x1b') == std::string::npos);
      }
    }
  }
  const std::vector<std::string> screen = TopScreen(snapshot, TopOrder::kWaiting, kNow, 80, 24);
  CHECK(LineWith(screen, "pole-x7k2q") > 0);
  CHECK(LineWith(screen, "actor-1") > 0);
}

TEST_CASE("a hub without experiments has a screen too", "[unit]") {
  CHECK(TopScreen(PoolSnapshot(), TopOrder::kWaiting, kNow, 80, 24).size() >= 3);
}

}  // namespace
}  // namespace waggle::testing
