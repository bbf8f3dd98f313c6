#include <string>

#include "absl/strings/str_cat.h"
#include "common/config/experiment/experiment.h"
#include "common/config/experiment/experiment_plan.h"
#include "tests/common/config/experiment/fake_algorithm.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::FakeAlgorithms;
using testing::FakeEnvironmentSpec;
using testing::ValueOf;

absl::StatusOr<ExperimentPlan> PlanOf(const std::string& sections, const std::string& stop = "max_seconds: 1") {
  const absl::StatusOr<Experiment> experiment = ParseExperiment(
      absl::StrCat("algorithm: {name: fake}\nstop: {", stop, "}\n", sections), "x.yaml", {}, FakeAlgorithms());
  return experiment.ok() ? PlanExperiment(*experiment, FakeEnvironmentSpec(), FakeAlgorithms()) : experiment.status();
}

std::string Refusal(const std::string& sections, const std::string& stop = "max_seconds: 1") {
  const absl::Status status = PlanOf(sections, stop).status();
  CHECK(absl::IsInvalidArgument(status));
  return std::string(status.message());
}

TEST_CASE("a run without actors needs recorded episodes, and takes samples without a limit", "[unit]") {
  CHECK_THAT(Refusal("actor: {processes: 0}\n"), Catch::Contains("actor.processes: got 0"));
  const std::string replay = "replay: {import: a.replay, rate_limiter: {min_items: 7, samples_per_insert: 4}}\n";
  const ExperimentPlan alone = ValueOf(PlanOf(replay + "actor: {processes: 0}\n"));
  CHECK(alone.algorithm.tables[0].table.rate_limiter.samples_per_insert == 0);
  CHECK(alone.algorithm.tables[0].table.rate_limiter.min_items == 7);
  const ExperimentPlan beside = ValueOf(PlanOf(replay));
  CHECK(beside.algorithm.tables[0].table.rate_limiter.samples_per_insert == 4);
}

TEST_CASE("settings of recorded episodes that contradict others are refused by their keys", "[unit]") {
  const std::string alone = "replay: {import: a.replay}\nactor: {processes: 0}\n";
  CHECK_THAT(Refusal(alone, "max_env_steps: 5"), Catch::Contains("stop.max_env_steps: got 5"));
  CHECK_THAT(Refusal("actor: {first_learner_step: 3}\n"), Catch::Contains("actor.first_learner_step: got 3"));
  CHECK_THAT(Refusal("replay: {import: a.replay, imported_share: 0.5}\nactor: {processes: 0}\n"),
             Catch::Contains("replay.imported_share: got 0.5"));
  CHECK_THAT(Refusal("replay: {import: a.replay, imported_share: 0.5}\nactor: {first_learner_step: 3}\n"),
             Catch::Contains("actor.first_learner_step: got 3"));
  CHECK_THAT(Refusal("replay: {imported_share: 0.5}\n"), Catch::Contains("imported_share"));
  CHECK_THAT(Refusal("replay: {import: a.replay}\nlearner: {max_policy_lag: 10}\n"),
             Catch::Contains("learner.max_policy_lag: got 10"));
  CHECK_THAT(Refusal("replay: {import: a.replay, max_times_sampled: 1}\nactor: {processes: 0}\n"),
             Catch::Contains("replay.max_times_sampled: got 1"));
  const std::string single = Refusal("replay: {import: a.replay, imported_share: 0.5}\nlearner: {batch_size: 1}\n");
  CHECK_THAT(single, Catch::Contains("replay.imported_share: got 0.5"));
  CHECK_THAT(single, !Catch::Contains("learner.batch_size: "));
}

TEST_CASE("a share of imported rows has a table of its own, and its part of the batch", "[unit]") {
  const ExperimentPlan plan =
      ValueOf(PlanOf("replay: {import: a.replay, imported_share: 0.25, rate_limiter: {samples_per_insert: 4}}\n"
                     "learner: {batch_size: 64}\n"));
  REQUIRE(plan.algorithm.tables.size() == 2);
  CHECK(plan.algorithm.tables[0].batch_size == 48);
  CHECK(plan.algorithm.tables[0].adds_to.empty());
  CHECK(plan.algorithm.tables[1].batch_size == 16);
  CHECK(plan.algorithm.tables[1].adds_to == "replay");
  CHECK(plan.algorithm.tables[1].table.name == "experiment/imported_replay");
  CHECK(plan.algorithm.tables[1].table.rate_limiter.samples_per_insert == 0);
}

}  // namespace
}  // namespace waggle
