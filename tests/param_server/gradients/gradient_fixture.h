#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/metrics/metrics.h"
#include "param_server/gradients/gradient_primary.h"
#include "tests/support/catch.h"

namespace waggle::testing {

constexpr uint64_t kNetworkHash = 0xABC;

// The first weights of a worker, with one tensor.
inline ModelSnapshot Weights(const std::vector<float>& values) {
  ModelSnapshot snapshot;
  snapshot.model = "x";
  snapshot.network_hash = kNetworkHash;
  snapshot.tensors = {ArraySpec{"weight", DType::kFloat32, {static_cast<int64_t>(values.size())}}};
  const size_t bytes = values.size() * sizeof(float);
  const std::shared_ptr<char> data = AllocateBytes(bytes);
  std::copy_n(reinterpret_cast<const char*>(values.data()), bytes, data.get());
  snapshot.data = ByteSlices(ByteSlice{data.get(), bytes, data});
  return snapshot;
}

inline std::vector<float> ValuesOf(const ModelSnapshot& snapshot) {
  std::vector<float> values(snapshot.data.size() / sizeof(float));
  snapshot.data.CopyTo(reinterpret_cast<char*>(values.data()));
  return values;
}

inline std::shared_ptr<const float> Numbers(const std::vector<float>& values) {
  const auto kept = std::make_shared<std::vector<float>>(values);
  return std::shared_ptr<const float>(kept, kept->data());
}

inline GradientModel ModelOf(size_t elements) {
  return {kNetworkHash, {{"policy", static_cast<int64_t>(elements)}}};
}

inline GradientMember Member(const std::string& worker, uint64_t sequence, ModelVersion based_on = {1, 0},
                             uint64_t acknowledged = 0, uint64_t applied = 0) {
  return {worker, 0, sequence, based_on, acknowledged, applied};
}

inline GradientPush PushOf(const std::vector<float>& values, std::vector<GradientMember> members) {
  return {ModelOf(values.size()), std::move(members), Numbers(values)};
}

inline OptimizerOptions PlainSgd() {
  OptimizerOptions options;
  options.type = "sgd";
  options.learning_rate = 1;
  return options;
}

// The parameters with one group of all weights.
inline std::unique_ptr<SteppedParameters> Stepped(const std::vector<float>& values,
                                                  const OptimizerOptions& optimizer = PlainSgd()) {
  return ValueOf(
      SteppedParameters::Create(Weights(values), {{{"policy", static_cast<int64_t>(values.size())}, optimizer}}));
}

// A reply that may come later.
using Answered = std::shared_ptr<std::optional<GradientAnswer>>;

inline Answered NewAnswered() {
  return std::make_shared<std::optional<GradientAnswer>>();
}
inline GradientTaker::Answer Into(const Answered& answered) {
  return [answered](GradientAnswer answer) {
    CHECK_FALSE(answered->has_value());
    *answered = std::move(answer);
  };
}

inline double CounterOf(const Metrics& metrics, const std::string& name) {
  const Metrics::Snapshot snapshot = metrics.TakeSnapshot();
  const auto it = snapshot.counters.find(name);
  return it == snapshot.counters.end() ? 0 : it->second;
}

// A primary core with a clock that the test moves.
struct PrimaryCore {
  explicit PrimaryCore(const GradientPrimaryOptions& options, const std::vector<float>& weights = {1, 2, 3},
                       SettledGradients settled_before = SettledGradients())
      : parameters(Stepped(weights)),
        settled(std::move(settled_before)),
        core(options, parameters.get(), &settled, &metrics, nullptr) {}

  Answered Take(GradientPush push) {
    Answered answered = NewAnswered();
    core.Take(std::move(push), Into(answered), now);
    return answered;
  }
  std::vector<float> values() const { return ValuesOf(parameters->Snapshot()); }
  double Counter(const std::string& name) const { return CounterOf(metrics, name); }

  Metrics metrics;
  std::unique_ptr<SteppedParameters> parameters;
  SettledGradients settled;
  GradientPrimary core;
  absl::Time now = absl::UnixEpoch();
};

// The verdict on the only member.
inline GradientVerdict VerdictOf(const Answered& answered) {
  REQUIRE(answered->has_value());
  REQUIRE((*answered)->results.size() == 1);
  return (*answered)->results[0].verdict;
}

}  // namespace waggle::testing
