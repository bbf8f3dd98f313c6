#include "cli/status/run_facts.h"

#include <optional>

#include "tests/cli/sample_snapshot.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using ::waggle::testing::SampleSnapshot;

TEST_CASE("Facts come from the hub, its figures and the tables", "[unit]") {
  const RunFacts facts = GatherFacts(SampleSnapshot());
  CHECK(facts.state == RunState::kRunning);
  CHECK(facts.env_steps == 198'432);
  CHECK(facts.env_steps_per_s == 16'200);
  CHECK(facts.training_return == 250.0);
  CHECK(facts.first_env_step_unix == 1'000'001.25);
  CHECK(facts.actor_waiting == 0.1);
  CHECK(facts.actors == 2);
  CHECK(facts.items_inserted == 198'000);
  CHECK(facts.items_inserted_per_s == 16'200);
  CHECK(facts.items_sampled == 3'160'000);
  CHECK(facts.items_sampled_per_s == 259'000);
  CHECK(facts.table_items == 40'000);
  CHECK(facts.table_max_items == 50'000);
  CHECK(facts.blocked.empty());
  CHECK(facts.learner_steps == 12'345);
  CHECK(facts.learner_steps_per_s == 2'000);
  CHECK(facts.learner_waiting == 0.03);
  CHECK(facts.policy_lag_mean == 31.0);
  CHECK(facts.policy_lag_max == 80.0);
  CHECK(facts.policy_lag_sum == 90'000);
  CHECK(facts.items_too_old == 40);
  CHECK(facts.items_learned == 3'000);
  CHECK(facts.evaluations.size() == 1);
  CHECK(facts.silent.empty());
}

TEST_CASE("Unknown figures are absent, not zero", "[unit]") {
  ClusterSnapshot snapshot = SampleSnapshot();
  snapshot.overview.mutable_workers(0)->set_alive(false);
  snapshot.overview.clear_figures();
  const RunFacts facts = GatherFacts(snapshot);
  CHECK(facts.actors == 1);
  CHECK(facts.env_steps == 198'432);
  CHECK(facts.first_env_step_unix == 1'000'001.25);
  for (const std::optional<double>& figure :
       {facts.env_steps_per_s, facts.training_return, facts.actor_waiting, facts.items_inserted_per_s,
        facts.items_sampled_per_s, facts.learner_steps_per_s, facts.learner_waiting, facts.policy_lag_mean}) {
    CHECK_FALSE(figure.has_value());
  }
}

TEST_CASE("A learner that is gone keeps its counts, and its largest lag", "[unit]") {
  ClusterSnapshot snapshot = SampleSnapshot();
  for (v1::WorkerInfo& worker : *snapshot.overview.mutable_workers()) {
    worker.set_alive(worker.role() != v1::ROLE_LEARNER);
  }
  const RunFacts facts = GatherFacts(snapshot);
  CHECK(facts.policy_lag_sum == 90'000);
  CHECK(facts.items_learned == 3'000);
  CHECK(facts.policy_lag_max == 80.0);
}

TEST_CASE("Before the first step there are no returns and no step counts", "[unit]") {
  ClusterSnapshot snapshot;
  testing::AddWorker(v1::ROLE_ACTOR, 0, &snapshot.overview);
  (*snapshot.overview.mutable_workers(0)->mutable_gauges())["first_env_step_unix_seconds"] = 0;
  const RunFacts facts = GatherFacts(snapshot);
  CHECK(facts.state == RunState::kNoExperiment);
  CHECK_FALSE(facts.training_return.has_value());
  CHECK_FALSE(facts.first_env_step_unix.has_value());
}

TEST_CASE("Items are the hub's counts if a replay server is not reached from here", "[unit]") {
  ClusterSnapshot snapshot = SampleSnapshot();
  (*snapshot.overview.mutable_totals())["replay/items_inserted"] = 1'234;
  (*snapshot.overview.mutable_totals())["replay/items_sampled"] = 5'678;
  CHECK(GatherFacts(snapshot).replay_servers_unheard == 0);
  CHECK(GatherFacts(snapshot).items_inserted == 198'000);
  ReplayServerState unreachable;
  unreachable.status = absl::UnavailableError("no route");
  snapshot.replay_servers.push_back(unreachable);
  const RunFacts facts = GatherFacts(snapshot);
  CHECK(facts.replay_servers_unheard == 1);
  CHECK(facts.items_inserted == 1'234);
  CHECK(facts.items_sampled == 5'678);
}

TEST_CASE("A wait at a table is reported if nothing moves there, but not while a ratio is kept", "[unit]") {
  ClusterSnapshot snapshot = SampleSnapshot();
  v1::TableInfo* const table = snapshot.replay_servers[0].tables.mutable_tables(0);
  table->set_blocked_because("inserts wait for 32 more samples");
  table->set_inserts_waiting(1);
  auto& figures = *snapshot.overview.mutable_figures();
  CHECK(GatherFacts(snapshot).blocked.empty());
  figures["replay/items_sampled_per_s"] = 0;
  CHECK(GatherFacts(snapshot).blocked == std::vector<std::string>{"inserts wait for 32 more samples"});
  CHECK(GatherFacts(snapshot).cause == "inserts wait for 32 more samples");
  figures.erase("replay/items_sampled_per_s");  // As in the first seconds.
  CHECK(GatherFacts(snapshot).blocked.empty());
  table->set_inserts_waiting(0);
  table->set_samples_waiting(1);
  CHECK(GatherFacts(snapshot).blocked.empty());
  figures["replay/items_inserted_per_s"] = 0;
  CHECK(GatherFacts(snapshot).blocked.size() == 1);
}

TEST_CASE("There is one cause: the hub's, or else workers that gave up, silent workers, or stuck tables", "[unit]") {
  ClusterSnapshot snapshot = SampleSnapshot();
  CHECK(GatherFacts(snapshot).cause.empty());
  v1::TableInfo* const table = snapshot.replay_servers[0].tables.mutable_tables(0);
  table->set_blocked_because("inserts wait for 16 more samples");
  table->set_inserts_waiting(1);
  (*snapshot.overview.mutable_figures())["replay/items_sampled_per_s"] = 0;
  CHECK(GatherFacts(snapshot).cause == "inserts wait for 16 more samples");
  snapshot.overview.mutable_workers(1)->set_silent_ms(7'300);
  CHECK(GatherFacts(snapshot).silent == std::vector<std::string>{"actor-1 (7 s)"});
  CHECK(GatherFacts(snapshot).cause == "silent: actor-1 (7 s)");
  snapshot.overview.mutable_workers(0)->set_alive(false);
  snapshot.overview.mutable_workers(0)->set_failure("no such device");
  CHECK(GatherFacts(snapshot).cause == "gave up: actor-0: no such device");
  snapshot.info.set_reason("waits for 1 learner");
  CHECK(GatherFacts(snapshot).cause == "waits for 1 learner");
  CHECK(CauseOf(snapshot.info) == "waits for 1 learner");
}

TEST_CASE("The reason why a worker gave up is shown until another worker has its place", "[unit]") {
  ClusterSnapshot snapshot = SampleSnapshot();
  v1::WorkerInfo* const actor = snapshot.overview.mutable_workers(0);
  actor->set_alive(false);
  actor->set_failure("no such device");
  CHECK(GatherFacts(snapshot).gave_up == std::vector<std::string>{"actor-0: no such device"});
  testing::AddWorker(v1::ROLE_ACTOR, 0, &snapshot.overview)->set_joined_at_us(actor->joined_at_us() + 1);
  CHECK(GatherFacts(snapshot).gave_up.empty());
}

TEST_CASE("Every role and state has a counterpart", "[unit]") {
  v1::OverviewResponse overview;
  CHECK(RunStateOf(overview) == RunState::kNoExperiment);
  overview.set_run_state(static_cast<v1::RunState>(99));  // From newer software.
  CHECK(RunStateOf(overview) == RunState::kNoExperiment);
  overview.set_run_state(v1::RUN_STATE_RUNNING);
  CHECK(RunStateOf(overview) == RunState::kRunning);
  overview.set_run_state(v1::RUN_STATE_SOLVED);
  CHECK(RunStateOf(overview) == RunState::kSolved);
  overview.set_run_state(v1::RUN_STATE_LIMIT);
  CHECK(RunStateOf(overview) == RunState::kLimit);
  overview.set_run_state(v1::RUN_STATE_FAILED);
  CHECK(RunStateOf(overview) == RunState::kFailed);
  CHECK(WorkerName(*testing::AddWorker(v1::ROLE_ACTOR, 3, &overview)) == "actor-3");
  CHECK(WorkerName(*testing::AddWorker(v1::ROLE_LEARNER, 0, &overview)) == "learner");
  CHECK(WorkerName(*testing::AddWorker(v1::ROLE_REPLAY_SERVER, 1, &overview)) == "replay-server-1");
  CHECK(WorkerName(*testing::AddWorker(v1::ROLE_PARAM_SERVER, 0, &overview)) == "param-server");
  CHECK(RoleOf(*testing::AddWorker(static_cast<v1::Role>(99), 0, &overview)) == Role::kActor);
  CHECK(WorkerName(*testing::AddWorker(v1::ROLE_EVALUATOR, 0, &overview)) == "evaluator-0");
}

}  // namespace
}  // namespace waggle
