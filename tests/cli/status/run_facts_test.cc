#include "cli/status/run_facts.h"

#include <optional>

#include "tests/cli/sample_snapshot.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using ::waggle::testing::SampleSnapshot;

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
  // Another worker has its place.
  v1::WorkerInfo* const later = testing::AddWorker(v1::ROLE_ACTOR, 0, &snapshot.overview);
  later->set_joined_at_us(later->joined_at_us() + 1);
  CHECK(GatherFacts(snapshot).gave_up.empty());
  snapshot.info.set_reason("waits for 1 learner");
  CHECK(GatherFacts(snapshot).cause == "waits for 1 learner");
  CHECK(CauseOf(snapshot.info) == "waits for 1 learner");
}

TEST_CASE("Roles and states of newer software have a counterpart", "[unit]") {
  v1::OverviewResponse overview;
  CHECK(RunStateOf(overview) == RunState::kNoExperiment);
  overview.set_run_state(static_cast<v1::RunState>(99));
  CHECK(RunStateOf(overview) == RunState::kNoExperiment);
  CHECK(RoleOf(*testing::AddWorker(static_cast<v1::Role>(99), 0, &overview)) == Role::kActor);
}

}  // namespace
}  // namespace waggle
