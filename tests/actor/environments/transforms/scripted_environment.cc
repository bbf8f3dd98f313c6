#include "tests/actor/environments/transforms/scripted_environment.h"

#include <cstring>

namespace waggle::testing {
namespace {

EnvironmentSpec ScriptedSpec() {
  EnvironmentSpec spec;
  spec.name = "Scripted";
  spec.observations = {Box("observation/camera", DType::kUint8, {7, 5, 3}, 0, 255),
                       Box("observation/plane", DType::kFloat32, {2, 8, 2}, 0, 1),
                       Box("observation/speed", DType::kFloat32, {3}, {0, 0, 0}, {1e6, 2, 100}),
                       MultiDiscrete("observation/gear", {5, 2}),
                       MultiBinary("observation/flags", {2, 2}),
                       Box("observation/level", DType::kFloat32, {}, 0, 1),
                       MultiBinary("action_mask/move", {3})};
  spec.actions = {Discrete("action/move", 3), MultiBinary("action/push", {2})};
  spec.rewards = {ArraySpec{"reward", DType::kFloat32, {2}}};
  spec.max_episode_steps = 10;
  return spec;
}

}  // namespace

ScriptedEnvironment::ScriptedEnvironment(uint64_t seed) : spec_(ScriptedSpec()), rng_(seed) {}

void ScriptedEnvironment::DrawNext(absl::Span<void* const> observations) {
  auto* const camera = static_cast<uint8_t*>(observations[kCamera]);
  for (int i = 0; i < 7 * 5 * 3; ++i) {
    camera[i] = static_cast<uint8_t>(rng_.UniformInt(256));
  }
  auto* const plane = static_cast<float*>(observations[kPlane]);
  for (int i = 0; i < 2 * 8 * 2; ++i) {
    plane[i] = static_cast<float>(rng_.UniformInt(64)) / 64;
  }
  std::memcpy(observations[kSpeed], speed_, sizeof(speed_));
  auto* const gear = static_cast<int64_t*>(observations[kGear]);
  gear[0] = static_cast<int64_t>(rng_.UniformInt(5));
  gear[1] = static_cast<int64_t>(rng_.UniformInt(2));
  auto* const flags = static_cast<uint8_t*>(observations[kFlags]);
  for (int i = 0; i < 4; ++i) {
    flags[i] = static_cast<uint8_t>(rng_.UniformInt(2));
  }
  *static_cast<float*>(observations[kLevel]) = static_cast<float>(rng_.Uniform());
  std::memset(mask_, 1, sizeof(mask_));
  mask_[rng_.UniformInt(3)] = rng_.UniformInt(4) == 0 ? 0 : 1;
  std::memcpy(observations[kMask], mask_, sizeof(mask_));
}

absl::Status ScriptedEnvironment::Reset(absl::Span<void* const> observations) {
  ended_ = false;
  std::memset(speed_, 0, sizeof(speed_));
  DrawNext(observations);
  return absl::OkStatus();
}

absl::StatusOr<StepOutcome> ScriptedEnvironment::Step(absl::Span<const void* const> actions,
                                                      absl::Span<void* const> observations, float* rewards) {
  const int64_t move = *static_cast<const int64_t*>(actions[0]);
  if (ended_ || move < 0 || move > 2 || mask_[move] == 0) {
    return absl::FailedPreconditionError("the episode is over, or the mask forbids the action");
  }
  const auto* const push = static_cast<const uint8_t*>(actions[1]);
  speed_[0] += 1;
  speed_[1] = static_cast<float>(move);
  speed_[2] = static_cast<float>(10 * push[0] + push[1]);
  DrawNext(observations);
  rewards[0] = static_cast<float>(rng_.UniformInt(9)) - 4;
  rewards[1] = static_cast<float>(rng_.UniformInt(9)) - 4;
  StepOutcome outcome;
  ended_ = speed_[0] >= 10 || rng_.UniformInt(10) == 0;
  outcome.terminated = ended_ && rng_.UniformInt(2) == 0;
  outcome.truncated = ended_ && !outcome.terminated;
  return outcome;
}

std::vector<std::unique_ptr<Environment>> ScriptedCopies(int64_t lanes, uint64_t seed) {
  std::vector<std::unique_ptr<Environment>> copies;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    copies.push_back(std::make_unique<ScriptedEnvironment>(seed + static_cast<uint64_t>(lane)));
  }
  return copies;
}

}  // namespace waggle::testing
