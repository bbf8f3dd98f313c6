#include "param_server/metrics/run_figures.h"

#include <limits>

#include "param_server/run/hub.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

WorkerView* AddWorker(Role role, HubOverview* overview) {
  WorkerView& worker = overview->workers.emplace_back();
  worker.introduction.role = role;
  worker.alive = true;
  worker.current = true;
  return &worker;
}

// Two actors, a learner and a replay server.
HubOverview SampleOverview() {
  HubOverview overview;
  overview.env_steps = 5'000;
  overview.learner_steps = 900;
  overview.replay_servers = 1;
  for (const double factor : {1.0, 3.0}) {
    WorkerView* const actor = AddWorker(Role::kActor, &overview);
    actor->figures.Change()->counters = {{"env_steps", 2'000}, {"episodes", 10 * factor}};
    actor->figures.Change()->gauges = {{"return_mean", 100 * factor}, {"first_env_step_unix_seconds", 1e9}};
    actor->rates = std::map<std::string, double>{{"env_steps", 50 * factor}, {"episodes", factor}};
  }
  WorkerView* const learner = AddWorker(Role::kLearner, &overview);
  learner->figures.Change()->counters = {{"learner_steps", 850}, {"policy_lag_sum", 4'000}};
  learner->figures.Change()->gauges = {{"policy_lag_mean", 12}, {"algorithm/loss", 0.5}};
  learner->rates = std::map<std::string, double>{{"learner_steps", 80}, {"policy_lag_sum", 400}};
  WorkerView* const replay = AddWorker(Role::kReplayServer, &overview);
  replay->figures.Change()->counters = {{"items_inserted", 700}};
  replay->figures.Change()->gauges = {{"items", 600}};
  replay->rates = std::map<std::string, double>{{"items_inserted", 70}};
  return overview;
}

TEST_CASE("A figure combines all processes of its role", "[unit]") {
  HubOverview overview = SampleOverview();
  overview.model_version = ModelVersion{2, 850};
  overview.model_bytes = 4'096;
  CHECK(RunFigures(overview) == Figures{{"actor/env_steps", 5'000},
                                        {"actor/env_steps_per_s", 200},
                                        {"actor/episodes", 40},
                                        {"actor/episodes_per_s", 4},
                                        {"actor/return_mean", 200},
                                        {"algorithm/loss", 0.5},
                                        {"learner/policy_lag_mean", 12},
                                        {"learner/steps", 900},
                                        {"learner/steps_per_s", 80},
                                        {"model/bytes", 4'096},
                                        {"model/epoch", 2},
                                        {"model/version", 850},
                                        {"replay/items", 600},
                                        {"replay/items_inserted", 700},
                                        {"replay/items_inserted_per_s", 70}});
}

TEST_CASE("A role without living workers has no figures, and the others keep theirs", "[unit]") {
  for (const Role away : {Role::kActor, Role::kLearner, Role::kReplayServer}) {
    HubOverview overview = SampleOverview();
    for (WorkerView& worker : overview.workers) {
      worker.current = worker.introduction.role != away;
    }
    const Figures figures = RunFigures(overview);
    const auto has = [&figures](const char* name) { return figures.count(name) == 1; };
    CHECK(has("actor/env_steps") == (away != Role::kActor));
    CHECK(has("actor/return_mean") == (away != Role::kActor));
    CHECK(has("learner/steps") == (away != Role::kLearner));
    CHECK(has("algorithm/loss") == (away != Role::kLearner));
    CHECK(has("replay/items") == (away != Role::kReplayServer));
    CHECK(has("replay/items_inserted") == (away != Role::kReplayServer));
  }
}

TEST_CASE("An actor that is away has no rates, and its counters stay", "[unit]") {
  HubOverview overview = SampleOverview();
  overview.workers[1].alive = overview.workers[1].current = false;
  overview.workers[1].rates = {};
  const Figures figures = RunFigures(overview);
  CHECK(figures.at("actor/episodes") == 40);
  CHECK(figures.at("actor/env_steps_per_s") == 50);
  CHECK(figures.at("actor/return_mean") == 100);
}

TEST_CASE("Figures of replay servers are sums, and known only if all of them are", "[unit]") {
  HubOverview overview = SampleOverview();
  overview.replay_servers = 2;
  CHECK(RunFigures(overview).count("replay/items") == 0);
  CHECK(RunFigures(overview).count("replay/items_inserted_per_s") == 0);
  overview.workers.push_back(overview.workers.back());
  CHECK(RunFigures(overview).at("replay/items") == 1'200);
  CHECK(RunFigures(overview).at("replay/items_inserted_per_s") == 140);
  // A restarted replay server has no rates before its second heartbeat.
  overview.workers.back().rates = {};
  CHECK(RunFigures(overview).at("replay/items") == 1'200);
  CHECK(RunFigures(overview).count("replay/items_inserted_per_s") == 0);
  // A replay server without counters needs no rates.
  overview.workers.back().figures.Change()->counters.clear();
  CHECK(RunFigures(overview).at("replay/items_inserted_per_s") == 70);
}

TEST_CASE("A rate is absent while a replay server with this counter has no rate yet", "[unit]") {
  HubOverview overview = SampleOverview();
  WorkerView& replay = overview.workers.back();
  replay.figures.Change()->counters["items_sampled"] = 64;
  CHECK(RunFigures(overview).count("replay/items_sampled_per_s") == 0);
  CHECK(RunFigures(overview).at("replay/items_inserted_per_s") == 70);
  (*replay.rates.Change())["items_sampled"] = 640;
  CHECK(RunFigures(overview).at("replay/items_sampled_per_s") == 640);
}

TEST_CASE("A gauge that is NaN is ignored", "[unit]") {
  HubOverview overview = SampleOverview();
  overview.workers[0].figures.Change()->gauges["return_mean"] = std::numeric_limits<double>::quiet_NaN();
  CHECK(RunFigures(overview).at("actor/return_mean") == 300);
  overview.workers[1].figures.Change()->gauges["return_mean"] = std::numeric_limits<double>::quiet_NaN();
  CHECK(RunFigures(overview).count("actor/return_mean") == 0);
}

TEST_CASE("A hub without workers has no figures", "[unit]") {
  CHECK(RunFigures(HubOverview()).empty());
}

}  // namespace
}  // namespace waggle
