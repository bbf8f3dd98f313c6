#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "actor/acting/rollout_loop.h"
#include "actor/acting/weight_refresher.h"
#include "actor/environments/builtin/cartpole.h"
#include "actor/environments/environment_settings.h"
#include "actor/environments/local_vector_environment.h"
#include "actor/writing/trajectory_writer.h"
#include "common/base/check.h"
#include "common/replay/ports/replay.h"
#include "common/rl/acting/policy.h"

// Shared by the actor's benchmarks: a rollout loop over CartPole that discards its blocks.

namespace waggle::bench {

// Takes all blocks and keeps none.
class DiscardingWriter : public ReplayWriter {
 public:
  absl::Status Append(InsertBlock, const StopToken&) override { return absl::OkStatus(); }
  absl::Status Flush(absl::Duration) override { return absl::OkStatus(); }
  Stats stats() const override { return {}; }
};

// Always has one version, and never a newer one.
class OneVersion : public ModelSubscriber {
 public:
  explicit OneVersion(ModelSnapshot snapshot) : snapshot_(std::move(snapshot)) {}
  absl::StatusOr<std::optional<ModelSnapshot>> PullNewer(std::optional<ModelVersion>, const StopToken&) override {
    return snapshot_;
  }
  absl::StatusOr<std::optional<ModelSnapshot>> PullBest(const StopToken&) override { return snapshot_; }
  absl::Status WaitNewer(std::optional<ModelVersion> version, const StopToken& stop) override {
    if (version.has_value()) {
      stop.Wait();
      return absl::CancelledError("stopped");
    }
    return absl::OkStatus();
  }

 private:
  const ModelSnapshot snapshot_;
};

// Stops the loop after a number of calls of another policy.
class CountedPolicy : public Policy {
 public:
  CountedPolicy(Policy* policy, int64_t calls, StopToken stop)
      : policy_(policy), left_(calls), stop_(std::move(stop)) {}
  std::vector<ArraySpec> columns() const override { return policy_->columns(); }
  std::vector<std::string> private_columns() const override { return policy_->private_columns(); }
  absl::Status Act(const PolicyInput& input, ActMode mode, PolicyOutput* output) override {
    if (--left_ == 0) {
      stop_.RequestStop();
    }
    return policy_->Act(input, mode, output);
  }
  absl::Status LoadWeights(const ModelSnapshot& snapshot) override { return policy_->LoadWeights(snapshot); }

 private:
  Policy* const policy_;
  int64_t left_;
  const StopToken stop_;
};

inline std::unique_ptr<LocalVectorEnvironment> CartPoles(int64_t lanes) {
  auto environments = MakeEnvironments(DefinitionOf<CartPole>("CartPole"), EnvironmentOptions(), lanes, Rng(1));
  WAGGLE_CHECK(environments.ok(), "CartPole can be made");
  return std::make_unique<LocalVectorEnvironment>(*std::move(environments));
}

// Environment steps per second of a rollout loop that acts `calls` times with `policy`, and writes as `plan` says.
inline double StepsPerSecond(Policy* policy, const ModelSnapshot& weights, const TablePlan& plan, int64_t lanes,
                             int64_t calls) {
  const auto environments = CartPoles(lanes);
  DiscardingWriter sink;
  TrajectoryWriterOptions options;
  options.lanes = lanes;
  options.environment = environments->spec();
  options.policy_columns = policy->columns();
  options.private_columns = static_cast<int64_t>(policy->private_columns().size());
  options.plans = {plan};
  auto writer = TrajectoryWriter::Create(options, &sink);
  WAGGLE_CHECK(writer.ok(), writer.status().message());
  const StopToken stop;
  Metrics metrics;
  CountedPolicy counted(policy, calls, stop);
  WeightRefresher refresher(absl::Milliseconds(50), Backoff(absl::Seconds(1), absl::Seconds(1), Rng(1)),
                            std::make_unique<OneVersion>(weights), stop);
  RolloutLoop loop(RolloutOptions(), {&counted, environments.get(), writer->get(), &sink, &refresher, &metrics});
  const absl::Time began = absl::Now();
  const absl::Status status = loop.Run(stop);
  const double seconds = absl::ToDoubleSeconds(absl::Now() - began);
  WAGGLE_CHECK(status.ok(), status.message());
  return static_cast<double>(loop.env_steps()) / seconds;
}

}  // namespace waggle::bench
