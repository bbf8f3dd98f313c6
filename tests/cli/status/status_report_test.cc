#include "cli/status/status_report.h"

#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/golden_json.h"
#include "tests/cli/sample_snapshot.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using ::waggle::testing::PushingSnapshot;
using ::waggle::testing::SampleSnapshot;

const absl::Time kNow = absl::FromUnixSeconds(1'000'310);

TEST_CASE("The text shows the run, each process and each table", "[unit]") {
  CHECK(
      StatusText(SampleSnapshot(), kNow) ==
      "pole-x7k2q: running, submitted 5 min ago, begun 5 min ago\n"
      "  apex_dqn on CartPole-v1, seed 7, priority 0, results in /data/pole-x7k2q\n"
      "  environment steps 198432, learner steps 12345, weights of step 12300 (epoch 1, 18.3 KiB), training return "
      "250.0\n"
      "  loop: environment 16.2k steps/s -> actor 16.2k items/s -> replay 259k items/s -> learner - weights/s -> hub - "
      "weights/s -> actor\n"
      "  slow: nothing is slow: actors wait 10 % of their time and the learner 3 %, at 16 samples an insert\n"
      "  policy lag: mean 2.0 inserted, 30.5 sampled, 31.0 learned from; max 80.0; 17-32: 75%, 65-128: 25%\n"
      "  evaluation: mean return 412.5 over 20 episodes (210.0 to 500.0), weights of learner step 5200\n"
      "\n"
      "  process          address         host  pid   since     heartbeat  state  rates\n"
      "  actor-0          -               bee   4001  5 m 10 s  0.2 s ago  busy   env_steps 8.10k/s\n"
      "  actor-1          -               bee   4002  5 m 10 s  0.2 s ago  busy   env_steps 8.10k/s\n"
      "  learner          -               bee   4003  5 m 10 s  0.2 s ago  busy   learner_steps 2.00k/s\n"
      "  replay-server-0  127.0.0.1:4242  bee   4004  5 m 10 s  0.2 s ago  busy   items_inserted 16.2k/s, "
      "items_sampled 259k/s\n"
      "  evaluator-0      -               bee   4005  5 m 10 s  0.2 s ago  busy   \n"
      "\n"
      "  table        server          items           bytes    inserted  sampled  limiter                              "
      "  durability  waiting\n"
      "  transitions  127.0.0.1:4242  40000 of 50000  1.2 MiB  198000    3160000  16 samples an insert, from 1000 "
      "items  none        none\n");
}

TEST_CASE("The status of a run whose actors push gradients shows their results, and no tables", "[unit]") {
  const std::string text = StatusText(PushingSnapshot(), kNow);
  CHECK_THAT(text, Catch::Contains("\n  gradients: 1200 pushed, 1187 applied, 8 refused (future 2, stale 6), 5 not "
                                   "answered, 40 undone by a restart, 3 sums split\n"));
  CHECK_THAT(text, !Catch::Contains("table"));
  const nlohmann::json json = nlohmann::json::parse(StatusJson(PushingSnapshot()));
  CHECK(json["gradients"]["pushed"] == 1'200);
  CHECK(json["gradients"]["refused_by_reason"]["stale"] == 6);
  CHECK(nlohmann::json::parse(StatusJson(SampleSnapshot()))["gradients"].is_null());
}

TEST_CASE("The status of an experiment that has not begun shows only why it waits", "[unit]") {
  ClusterSnapshot snapshot;
  snapshot.info = testing::RunningExperiment("pole-x7k2q");
  snapshot.info.set_state(v1::RUN_STATE_QUEUED);
  snapshot.info.set_reason("it waits for 2 actors");
  snapshot.info.set_attempts(0);
  snapshot.info.set_started_at_us(0);
  snapshot.overview.set_run_state(v1::RUN_STATE_QUEUED);
  CHECK(StatusText(snapshot, kNow) ==
        "pole-x7k2q: queued, submitted 5 min ago; it waits for 2 actors\n"
        "  apex_dqn on CartPole-v1, seed 7, priority 0, results in /data/pole-x7k2q\n");
  const auto json = nlohmann::json::parse(StatusJson(snapshot));
  CHECK(json["outcome"] == "queued");
  CHECK(json["reason"] == "it waits for 2 actors");
  CHECK(json["submitted_at"] == 999'990.0);
  CHECK(json["started_at"].is_null());
  CHECK(json["env_steps"] == 0);
}

TEST_CASE("A run's time and mean rates are those that the hub observed", "[unit]") {
  ClusterSnapshot snapshot = SampleSnapshot();
  snapshot.replay_servers.clear();
  snapshot.info.set_state(v1::RUN_STATE_SOLVED);
  snapshot.info.set_ended_at_us(1'000'101'250'000);
  snapshot.overview.set_run_state(v1::RUN_STATE_SOLVED);
  snapshot.overview.set_running_ms(100'000);
  (*snapshot.overview.mutable_totals())["replay/items_inserted"] = 5'000;
  const auto json = nlohmann::json::parse(StatusJson(snapshot));
  CHECK(json["outcome"] == "solved");
  CHECK(json["wall_seconds"] == 100.0);
  CHECK(json["seconds_to_first_env_step"] == 1.25);
  CHECK(json["rates"]["env_steps_per_s"] == 1'984.32);
  CHECK(json["rates"]["items_inserted_per_s"] == 50.0);
  CHECK_THAT(StatusText(snapshot, kNow), Catch::Contains("begun 5 min ago, ended 3 min ago\n"));
}

TEST_CASE("The status of an ended experiment shows no heartbeats", "[unit]") {
  ClusterSnapshot snapshot = SampleSnapshot();
  snapshot.replay_servers.clear();
  snapshot.info.set_state(v1::RUN_STATE_SOLVED);
  snapshot.info.set_ended_at_us(1'000'101'250'000);
  snapshot.overview.set_run_state(v1::RUN_STATE_SOLVED);
  const std::string text = StatusText(snapshot, kNow);
  CHECK_THAT(text, Catch::Contains("  actor-0          -               bee   4001  1 m 41 s  -          "));
  CHECK_THAT(text, !Catch::Contains("0.2 s ago"));
  const auto json = nlohmann::json::parse(StatusJson(snapshot));
  CHECK(json["processes"][0]["seconds_since_heartbeat"].is_null());
}

TEST_CASE("Repeated learner steps, and files that cannot be written, are shown", "[unit]") {
  ClusterSnapshot snapshot = SampleSnapshot();
  CHECK_THAT(StatusText(snapshot, kNow), !Catch::Contains("on the disk"));
  snapshot.overview.set_learner_steps_again(45);
  snapshot.overview.set_figures_unrecorded("cannot write metrics.csv: \x1b");
  snapshot.overview.set_weights_unsaved("no space left \x1b");
  snapshot.overview.set_progress_unsaved("cannot write hub.state \x1b");
  CHECK_THAT(StatusText(snapshot, kNow),
             Catch::Contains("learner steps 12345 (45 of them are being learned again), w") &&
                 Catch::Contains("\n  figures are not recorded: cannot write metrics.csv: ?\n") &&
                 Catch::Contains("\n  weights are not all on the disk: no space left ?\n") &&
                 Catch::Contains("\n  progress is not on the disk: cannot write hub.state ?\n"));
  const auto json = nlohmann::json::parse(StatusJson(snapshot));
  CHECK(json["learner_steps_again"] == 45);
  CHECK(json["weights_unsaved"] == "no space left \x1b");
  CHECK(json["progress_unsaved"] == "cannot write hub.state \x1b");
}

TEST_CASE("A replay server that does not answer and a process that is gone are shown", "[unit]") {
  ClusterSnapshot snapshot = SampleSnapshot();
  snapshot.overview.mutable_workers(0)->set_alive(false);
  ReplayServerState away;
  away.address = "127.0.0.1:4243";
  away.status = absl::UnavailableError("connection refused");
  snapshot.replay_servers.push_back(away);
  const std::string text = StatusText(snapshot, kNow);
  CHECK(text.find("gone") != std::string::npos);
  CHECK(text.find("does not answer: connection refused\n") != std::string::npos);
  const auto json = nlohmann::json::parse(StatusJson(snapshot));
  CHECK(json["tables"].size() == 1);
  REQUIRE(json["unanswered"].size() == 1);
  CHECK(json["unanswered"][0]["server"] == "127.0.0.1:4243");
  CHECK(json["unanswered"][0]["error"] == "connection refused");
}

TEST_CASE("Refusals of replay servers are shown by reason, if there are any", "[unit]") {
  ClusterSnapshot snapshot = SampleSnapshot();
  CHECK(StatusText(snapshot, kNow).find("refused") == std::string::npos);
  CHECK(nlohmann::json::parse(StatusJson(snapshot))["refusals"].empty());
  auto& refusals = *snapshot.replay_servers[0].tables.mutable_refusals();
  refusals["unknown_table"] = 3;
  refusals["bad_priority"] = 120;
  refusals["ev\x1bil"] = 1;
  // Rates of refusals and of policy lags are not shown.
  (*snapshot.overview.mutable_workers(3)->mutable_rates())["refused_bad_priority"] = 2;
  (*snapshot.overview.mutable_workers(2)->mutable_rates())["policy_lag/17-32"] = 64;
  const std::string text = StatusText(snapshot, kNow);
  CHECK(text.find("\n\n  refused by 127.0.0.1:4242: bad_priority 120, ev?il 1, unknown_table 3\n") !=
        std::string::npos);
  CHECK_THAT(text, !Catch::Contains("refused_") && !Catch::Contains("policy_lag"));
  const auto json = nlohmann::json::parse(StatusJson(snapshot));
  REQUIRE(json["refusals"].size() == 3);
  CHECK(json["refusals"][0]["server"] == "127.0.0.1:4242");
  CHECK(json["refusals"][0]["reason"] == "bad_priority");
  CHECK(json["refusals"][0]["count"] == 120);
}

TEST_CASE("The reason why a process gave up is shown, and cannot control the terminal", "[unit]") {
  ClusterSnapshot snapshot = SampleSnapshot();
  snapshot.info.set_environment("po\x1b[2Jle");
  snapshot.info.set_reason("evil\x1b[31m\nreason");
  v1::WorkerInfo* const actor = snapshot.overview.mutable_workers(0);
  actor->set_failure("no\r\nsuch device\x07");
  actor->set_activity("\x1b]0;title\x07");
  actor->set_host("h\tost");
  actor->set_address("\xff");
  const std::string text = StatusText(snapshot, kNow);
  CHECK(text.find("  actor-0, process 4001, gave up: no??such device?\n") != std::string::npos);
  CHECK(text.find("evil?[31m?reason\n") != std::string::npos);
  for (const char c : text) {
    CHECK(((c >= ' ' && c <= '~') || c == '\n'));
  }
  CHECK(nlohmann::json::parse(StatusJson(snapshot))["processes"][0]["failure"] == "no\r\nsuch device\x07");
}

TEST_CASE("The status shows the cause of a wait, and each table's number of waiting requests", "[unit]") {
  ClusterSnapshot snapshot = SampleSnapshot();
  v1::TableInfo* const table = snapshot.replay_servers[0].tables.mutable_tables(0);
  table->set_blocked_because("inserts wait for 32 more samples: one more insert may not take it past 16640");
  table->set_inserts_waiting(3);
  const std::string moving = StatusText(snapshot, kNow);
  CHECK_THAT(moving, !Catch::Contains("may not take it past"));
  CHECK_THAT(moving, Catch::EndsWith("  3 inserts\n"));
  (*snapshot.overview.mutable_figures())["replay/items_sampled_per_s"] = 0;
  CHECK_THAT(StatusText(snapshot, kNow), Catch::Contains("begun 5 min ago; inserts wait for 32 more samples: one"));
  snapshot.info.set_reason("waits for 1 learner");
  CHECK_THAT(StatusText(snapshot, kNow), Catch::Contains("begun 5 min ago; waits for 1 learner\n"));
}

TEST_CASE("The JSON of a status has the same facts", "[unit]") {
  ClusterSnapshot snapshot = SampleSnapshot();
  snapshot.overview.mutable_workers(0)->set_activity("bytes \xff");
  *snapshot.overview.mutable_result()->mutable_evaluation() = snapshot.overview.evaluations(0);
  testing::CheckGolden(StatusJson(snapshot), "status.json");
  CHECK(nlohmann::json::parse(StatusJson(ClusterSnapshot()))["model"].is_null());
  const std::string line = StatusJson(snapshot, /*indent=*/-1);
  CHECK(line.find('\n') == line.size() - 1);
}

}  // namespace
}  // namespace waggle
