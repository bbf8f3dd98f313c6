#pragma once

#include <initializer_list>
#include <string>
#include <utility>

#include "tests/support/text_proto.h"
#include "waggle/v1/worker.pb.h"

namespace waggle::testing {

inline v1::WorkerInfo* AddWorker(v1::Role role, uint32_t index, v1::OverviewResponse* overview) {
  v1::WorkerInfo* worker = overview->add_workers();
  worker->set_worker_id("id-" + std::to_string(overview->workers_size()));
  worker->set_role(role);
  worker->set_index(index);
  worker->set_host("bee");
  worker->set_process_id(4000 + overview->workers_size());
  worker->set_joined_at_us(1'000'000'000'000);  // Second 1 000 000.
  worker->set_silent_ms(200);
  worker->set_activity("busy");
  worker->set_alive(true);
  return worker;
}

using Numbers = google::protobuf::Map<std::string, double>;

inline void SetNumbers(std::initializer_list<std::pair<const char*, double>> numbers, Numbers* map) {
  for (const auto& [name, number] : numbers) {
    (*map)[name] = number;
  }
}

// Two actors, a learner, a replay server and an evaluator in the middle of a run, which has gone on for 10 seconds.
inline v1::OverviewResponse SampleOverview() {
  auto overview = FromText<v1::OverviewResponse>(R"(
      run_state: RUN_STATE_RUNNING experiment_name: "pole" env_steps: 198432 learner_steps: 12345 running_ms: 10000
      model: "pole" model_version { epoch: 1 version: 12300 } model_bytes: 18700
      evaluations { version { epoch: 1 version: 5200 } episodes: 20 mean_return: 412.5 min_return: 210 max_return: 500
                    finished_at_us: 1000008000000 })");
  for (const uint32_t index : {0u, 1u}) {
    v1::WorkerInfo* actor = AddWorker(v1::ROLE_ACTOR, index, &overview);
    SetNumbers({{"env_steps", 8'100}}, actor->mutable_rates());
    SetNumbers({{"episodes", 100}}, actor->mutable_counters());
    SetNumbers({{"return_mean", index == 0 ? 200 : 300}, {"waiting_fraction", 0.1}}, actor->mutable_gauges());
  }
  v1::WorkerInfo* learner = AddWorker(v1::ROLE_LEARNER, 0, &overview);
  SetNumbers({{"learner_steps", 2'000}}, learner->mutable_rates());
  SetNumbers({{"algorithm/loss", 0.125}, {"policy_lag_mean", 31}, {"waiting_fraction", 0.03}},
             learner->mutable_gauges());
  v1::WorkerInfo* replay = AddWorker(v1::ROLE_REPLAY_SERVER, 0, &overview);
  replay->set_address("127.0.0.1:4242");
  SetNumbers({{"items_inserted", 16'200}, {"items_sampled", 259'000}}, replay->mutable_rates());
  AddWorker(v1::ROLE_EVALUATOR, 0, &overview);
  SetNumbers({{"actor/first_env_step_unix_seconds", 1'000'001.25},
              {"learner/policy_lag_max", 80},
              {"learner/policy_lag_sum", 90'000},
              {"learner/items_too_old", 40},
              {"learner/items_sampled", 3'000},
              {"learner/policy_lag/17-32", 2'250},
              {"learner/policy_lag/65-128", 750}},
             overview.mutable_totals());
  SetNumbers({{"actor/env_steps_per_s", 16'200},
              {"actor/return_mean", 250},
              {"actor/waiting_fraction", 0.1},
              {"algorithm/loss", 0.125},
              {"actor/policy_lag_when_inserted_mean", 2},
              {"learner/policy_lag_mean", 31},
              {"learner/policy_lag_when_sampled_mean", 30.5},
              {"learner/steps_per_s", 2'000},
              {"learner/waiting_fraction", 0.03},
              {"replay/items_inserted_per_s", 16'200},
              {"replay/items_sampled_per_s", 259'000}},
             overview.mutable_figures());
  return overview;
}

// The same for a run whose actors push gradients: without tables, one actor gone, a primary in the learner's place.
inline v1::OverviewResponse PushingOverview() {
  v1::OverviewResponse overview = SampleOverview();
  overview.clear_workers();
  overview.clear_totals();
  overview.clear_figures();
  for (const uint32_t index : {0u, 1u, 2u}) {
    AddWorker(v1::ROLE_ACTOR, index, &overview)->set_alive(index != 1);
  }
  AddWorker(v1::ROLE_LEARNER, 0, &overview);
  SetNumbers({{"actor/gradients_pushed", 1'200},
              {"actor/gradients_applied", 1'187},
              {"actor/gradients_refused_stale", 6},
              {"actor/gradients_refused_future", 2},
              {"learner/gradients_rolled_back", 40},
              {"learner/gradient_sums_split", 3}},
             overview.mutable_totals());
  SetNumbers({{"actor/env_steps_per_s", 16'200},
              {"actor/gradients_pushed_per_s", 250},
              {"actor/waiting_fraction", 0.1},
              {"learner/steps_per_s", 120}},
             overview.mutable_figures());
  return overview;
}

}  // namespace waggle::testing
