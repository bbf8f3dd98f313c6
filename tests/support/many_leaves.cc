#include "tests/support/many_leaves.h"

#include <memory>

namespace waggle::testing {
namespace {

constexpr int64_t kChoices[2] = {3, 4};

}  // namespace

ManyLeaves::ManyLeaves(uint64_t seed) : rng_(seed), seed_(static_cast<int64_t>(seed % 100)) {
  spec_.name = "ManyLeaves";
  spec_.observations = {Box("observation/camera", DType::kUint8, {2, 3}, 0, 255),
                        Box("observation/place", DType::kFloat32, {2}), MultiBinary("action_mask/move", {7})};
  spec_.actions = {MultiDiscrete("action/move", {kChoices[0], kChoices[1]}),
                   Box("action/turn", DType::kFloat32, {1}, -2, 6)};
  spec_.rewards = {ArraySpec{"reward", DType::kFloat32, {2}}};
}

EnvironmentDefinition ManyLeaves::Definition() {
  EnvironmentDefinition definition;
  definition.description = "Several leaves of each sort";
  definition.spec = [](const EnvironmentOptions&) { return ManyLeaves(0).spec(); };
  definition.create = [](const EnvironmentOptions&, uint64_t seed) -> absl::StatusOr<std::unique_ptr<Environment>> {
    return std::make_unique<ManyLeaves>(seed);
  };
  return definition;
}

absl::Status ManyLeaves::Reset(absl::Span<void* const> observations) {
  step_ = 0;
  length_ = 3 + static_cast<int64_t>(rng_.UniformInt(7));
  Write(observations);
  return absl::OkStatus();
}

absl::StatusOr<StepOutcome> ManyLeaves::Step(absl::Span<const void* const> actions,
                                             absl::Span<void* const> observations, float* rewards) {
  if (step_ >= length_) {
    return absl::FailedPreconditionError("the episode is over");
  }
  const auto* const move = static_cast<const int64_t*>(actions[0]);
  const float turn = *static_cast<const float*>(actions[1]);
  if (const absl::Status checked = CheckActions(move, turn); !checked.ok()) {
    return checked;
  }
  rewards[0] = static_cast<float>(10 * step_ + move[0] + 100 * move[1]);
  rewards[1] = turn;
  ++step_;
  Write(observations);
  StepOutcome outcome;
  outcome.terminated = step_ == length_;
  return outcome;
}

absl::Status ManyLeaves::CheckActions(const int64_t* move, float turn) const {
  for (int64_t i = 0, first = 0; i < 2; first += kChoices[i], ++i) {
    if (move[i] < 0 || move[i] >= kChoices[i] || first + move[i] == step_ % 7) {
      return absl::InvalidArgumentError("no such move");
    }
  }
  // False for NaN.
  return turn >= -2 && turn <= 6 ? absl::OkStatus() : absl::InvalidArgumentError("no such turn");
}

void ManyLeaves::Write(absl::Span<void* const> observations) const {
  for (int64_t i = 0; i < 6; ++i) {
    static_cast<uint8_t*>(observations[0])[i] = static_cast<uint8_t>((6 * step_ + i + seed_) % 256);
  }
  auto* const place = static_cast<float*>(observations[1]);
  place[0] = static_cast<float>(seed_);
  place[1] = static_cast<float>(step_);
  for (int64_t i = 0; i < 7; ++i) {
    static_cast<bool*>(observations[2])[i] = i != step_ % 7;
  }
}

}  // namespace waggle::testing
