#pragma once

#include <string>

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

// Two actors, a learner, a replay server and an evaluator in the middle of a run, which has gone on for 100 seconds.
inline v1::OverviewResponse SampleOverview() {
  v1::OverviewResponse overview;
  overview.set_run_state(v1::RUN_STATE_RUNNING);
  overview.set_experiment_name("pole");
  overview.set_env_steps(198'432);
  overview.set_learner_steps(12'345);
  overview.set_model("pole");
  overview.mutable_model_version()->set_epoch(1);
  overview.mutable_model_version()->set_version(12'300);
  overview.set_model_bytes(18'700);
  overview.set_running_ms(10'000);
  for (const uint32_t index : {0u, 1u}) {
    v1::WorkerInfo* actor = AddWorker(v1::ROLE_ACTOR, index, &overview);
    (*actor->mutable_rates())["env_steps"] = 8'100;
    (*actor->mutable_counters())["episodes"] = 100;
    (*actor->mutable_gauges())["return_mean"] = index == 0 ? 200 : 300;
    (*actor->mutable_gauges())["waiting_fraction"] = 0.1;
  }
  v1::WorkerInfo* learner = AddWorker(v1::ROLE_LEARNER, 0, &overview);
  (*learner->mutable_rates())["learner_steps"] = 2'000;
  (*learner->mutable_gauges())["algorithm/loss"] = 0.125;
  (*learner->mutable_gauges())["policy_lag_mean"] = 31;
  (*learner->mutable_gauges())["waiting_fraction"] = 0.03;
  v1::WorkerInfo* replay = AddWorker(v1::ROLE_REPLAY_SERVER, 0, &overview);
  replay->set_address("127.0.0.1:4242");
  (*replay->mutable_rates())["items_inserted"] = 16'200;
  (*replay->mutable_rates())["items_sampled"] = 259'000;
  AddWorker(v1::ROLE_EVALUATOR, 0, &overview);
  auto& totals = *overview.mutable_totals();
  totals["actor/first_env_step_unix_seconds"] = 1'000'001.25;
  totals["learner/policy_lag_max"] = 80;
  totals["learner/policy_lag_sum"] = 90'000;
  totals["learner/items_too_old"] = 40;
  totals["learner/items_sampled"] = 3'000;
  totals["learner/policy_lag/17-32"] = 2'250;
  totals["learner/policy_lag/65-128"] = 750;
  auto& figures = *overview.mutable_figures();
  figures["actor/env_steps_per_s"] = 16'200;
  figures["actor/return_mean"] = 250;
  figures["actor/waiting_fraction"] = 0.1;
  figures["algorithm/loss"] = 0.125;
  figures["actor/policy_lag_when_inserted_mean"] = 2;
  figures["learner/policy_lag_mean"] = 31;
  figures["learner/policy_lag_when_sampled_mean"] = 30.5;
  figures["learner/steps_per_s"] = 2'000;
  figures["learner/waiting_fraction"] = 0.03;
  figures["replay/items_inserted_per_s"] = 16'200;
  figures["replay/items_sampled_per_s"] = 259'000;
  v1::Evaluation* evaluation = overview.add_evaluations();
  evaluation->mutable_version()->set_epoch(1);
  evaluation->mutable_version()->set_version(5'200);
  evaluation->set_episodes(20);
  evaluation->set_mean_return(412.5);
  evaluation->set_min_return(210);
  evaluation->set_max_return(500);
  evaluation->set_finished_at_us(1'000'008'000'000);
  return overview;
}

// The same for a run whose actors push gradients: without tables, one actor gone, a primary in the learner's place.
inline v1::OverviewResponse PushingOverview() {
  v1::OverviewResponse overview = SampleOverview();
  overview.clear_workers();
  for (const uint32_t index : {0u, 1u, 2u}) {
    AddWorker(v1::ROLE_ACTOR, index, &overview);
  }
  overview.mutable_workers(1)->set_alive(false);
  AddWorker(v1::ROLE_LEARNER, 0, &overview);
  auto& totals = *overview.mutable_totals();
  totals.clear();
  totals["actor/gradients_pushed"] = 1'200;
  totals["actor/gradients_applied"] = 1'187;
  totals["actor/gradients_refused_stale"] = 6;
  totals["actor/gradients_refused_future"] = 2;
  totals["learner/gradients_rolled_back"] = 40;
  totals["learner/gradient_sums_split"] = 3;
  auto& figures = *overview.mutable_figures();
  figures.clear();
  figures["actor/env_steps_per_s"] = 16'200;
  figures["actor/gradients_pushed_per_s"] = 250;
  figures["actor/waiting_fraction"] = 0.1;
  figures["learner/steps_per_s"] = 120;
  return overview;
}

}  // namespace waggle::testing
