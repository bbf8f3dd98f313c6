#include "cli/experiments/experiment_report.h"

#include <nlohmann/json.hpp>

#include "tests/cli/fake_experiments.h"
#include "tests/cli/golden_json.h"
#include "tests/support/catch.h"
#include "tests/support/text_proto.h"

namespace waggle {
namespace {

using ::waggle::testing::RunningExperiment;

const absl::Time kNow = absl::FromUnixSeconds(1'000'310);

v1::ListExperimentsResponse TwoExperiments() {
  v1::ListExperimentsResponse experiments;
  *experiments.add_experiments() = RunningExperiment("pole-x7k2q");
  experiments.mutable_experiments(0)->set_running_ms(250'000);
  v1::ExperimentInfo* const other = experiments.add_experiments();
  *other = RunningExperiment("cart-99abc");
  other->MergeFrom(testing::FromText<v1::ExperimentInfo>(R"(
      state: RUN_STATE_SOLVED priority: -2 running_ms: 63000 ended_at_us: 1000125000000 reason: "mean return 480\033"
      result { evaluation { mean_return: 480 } })"));
  *experiments.add_experiments() = testing::FromText<v1::ExperimentInfo>(R"(
      id: "new-aaaaa" state: RUN_STATE_QUEUED submitted_at_us: 1000310000000 reason: "it waits for 2 actors")");
  return experiments;
}

TEST_CASE("Each experiment has a line with its age and running time", "[unit]") {
  CHECK(
      ExperimentsText(TwoExperiments(), kNow) ==
      "  experiment  state    priority  submitted  time   env steps  learner steps  best return  workers  \n"
      "  pole-x7k2q  running  0         5 min ago  4 min  198k       0              -            4 of 5   \n"
      "  cart-99abc  solved   -2        5 min ago  1 min  198k       0              480.0        4 of 5   mean return "
      "480?\n"
      "  new-aaaaa   queued   0         0 s ago    -      0          0              -            0 of 0   it waits for "
      "2 actors\n");
  CHECK(ExperimentsText(v1::ListExperimentsResponse(), kNow) == "  no experiment\n");
  v1::ListExperimentsResponse page = TwoExperiments();
  page.set_next_page_token("more");
  CHECK_THAT(ExperimentsText(page, kNow), Catch::EndsWith("  older ones are not shown: waggle list --limit N\n"));
}

TEST_CASE("Experiments are listed with the labels that tell them apart", "[unit]") {
  v1::ListExperimentsResponse experiments = TwoExperiments();
  for (v1::ExperimentInfo& one : *experiments.mutable_experiments()) {
    one.set_owner("ada");
  }
  CHECK_THAT(ExperimentsText(experiments, kNow), !Catch::Contains("owner") && !Catch::Contains("settings"));
  experiments.mutable_experiments(1)->set_owner("bob");
  experiments.mutable_experiments(1)->add_settings("a=1");
  experiments.mutable_experiments(1)->add_settings("s=2");
  experiments.mutable_experiments(0)->add_tags("paper");
  const std::string text = ExperimentsText(experiments, kNow);
  const std::string titles = text.substr(0, text.find('\n'));
  CHECK_THAT(titles, Catch::Contains(" settings ") && Catch::Contains(" tags ") && Catch::Contains(" owner "));
  CHECK_THAT(text, Catch::Contains(" a=1 s=2 ") && Catch::Contains(" paper ") && Catch::Contains(" bob"));
}

TEST_CASE("A group is one line with its states and its best member", "[unit]") {
  v1::ListExperimentsResponse experiments = TwoExperiments();
  *experiments.add_groups() = testing::FromText<v1::ExperimentGroup>(R"(
      id: "hop-x7k2q" name: "hop" members: 15 env_steps: 45000 workers: 8 workers_wanted: 8
      states { state: RUN_STATE_RUNNING count: 2 } states { state: RUN_STATE_QUEUED count: 13 }
      best_id: "hop-x7k2q-3" best { evaluation { mean_return: 487.25 } } best_settings: "experiment.seed=4"
      reason: "waits for 1 learner, busy with others")");
  experiments.mutable_groups(0)->set_submitted_at_us(absl::ToUnixMicros(kNow));
  const std::string text = ExperimentsText(experiments, kNow);
  CHECK_THAT(text, Catch::Contains("\n  hop-x7k2q (15) ") && Catch::Contains(" 2 running, 13 queued ") &&
                       Catch::Contains(" 487.2") && Catch::Contains("best: hop-x7k2q-3 experiment.seed=4; waits for"));
  CHECK(text.find("hop-x7k2q") < text.find("pole-x7k2q"));  // The newest first.
  const nlohmann::ordered_json json = GroupsJson(experiments);
  CHECK(json[0]["states"]["queued"] == 13);
  CHECK(json[0]["best_id"] == "hop-x7k2q-3");
}

TEST_CASE("A reason that members of a group share is written once", "[unit]") {
  v1::ListExperimentsResponse experiments = TwoExperiments();
  for (const char* const id : {"hop-x7k2q-2", "hop-x7k2q-1", "hop-x7k2q-0"}) {
    v1::ExperimentInfo* const member = experiments.add_experiments();
    *member = testing::FromText<v1::ExperimentInfo>(
        R"(group: "hop-x7k2q" state: RUN_STATE_QUEUED reason: "waits for 1 learner, busy with others")");
    member->set_id(id);
  }
  const std::string text = ExperimentsText(experiments, kNow);
  const size_t first = text.find("waits for 1 learner, busy with others");
  REQUIRE(first != std::string::npos);
  CHECK(text.find("waits for 1 learner, busy with others", first + 1) == std::string::npos);
  CHECK_THAT(text.substr(text.find("hop-x7k2q-1")),
             Catch::Contains(" as above\n  hop-x7k2q-0 ") && Catch::EndsWith(" as above\n"));
}

TEST_CASE("The JSON of experiments has times as numbers", "[unit]") {
  testing::CheckGolden(ExperimentsJson(TwoExperiments()).dump(), "experiments.json");
}

TEST_CASE("The list of the pool's processes shows their work", "[unit]") {
  auto pool = testing::FromText<v1::PoolResponse>(R"(
      members { worker_id: "actor-1-ff" kind: WORKER_KIND_ACTOR host: "bee" process_id: 4001
                resources { cores: 8 memory_bytes: 4294967296 devices: "cpu" }
                orders { experiment_id: "pole-x7k2q" role: ROLE_ACTOR index: 2 } })");
  v1::PoolMember* const gradient = pool.add_members();
  *gradient = pool.members(0);
  gradient->MergeFrom(testing::FromText<v1::PoolMember>(
      R"(kind: WORKER_KIND_GRADIENT address: "10.0.0.2:7004" silent_ms: 5000 leaving: true)"));
  gradient->mutable_orders(0)->set_role(v1::ROLE_LEARNER);
  gradient->mutable_orders(0)->set_index(0);
  pool.add_members()->set_kind(v1::WORKER_KIND_EVALUATOR);
  CHECK(PoolText(pool) ==
        "  process          host  pid   address        cores  memory   devices  heard    works as\n"
        "  actor            bee   4001  -              8      4.0 GiB  cpu      now      actor 2 of pole-x7k2q\n"
        "  gradient-worker  bee   4001  10.0.0.2:7004  8      4.0 GiB  cpu      5 s ago  primary 0 of pole-x7k2q; "
        "leaving\n"
        "  evaluator        -     0     -              0      0 B      -        now      nothing\n");
  testing::CheckGolden(PoolJson(pool).dump(), "pool.json");
  CHECK_THAT(PoolText(v1::PoolResponse()), Catch::Contains("no process is in the pool"));
}

TEST_CASE("Events have their time in UTC, and cannot control the terminal", "[unit]") {
  v1::ExperimentEvent event;
  event.set_at_us(1'777'636'800'000'000);
  event.set_text("begun\x1b[2J");
  CHECK(EventText(event) == "2026-05-01 12:00:00  begun?[2J\n");
}

}  // namespace
}  // namespace waggle
