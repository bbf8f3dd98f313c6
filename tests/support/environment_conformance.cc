#include "tests/support/environment_conformance.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "common/base/random.h"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

constexpr int64_t kSteps = 5000;
constexpr char kGuard = 0x5a;
constexpr size_t kGuardBytes = 64;

// One environment and the buffers around it; bytes past the observation's end must stay as they are.
class Driver {
 public:
  Driver(const EnvironmentDefinition& definition, const EnvironmentOptions& options, uint64_t seed)
      : environment_(ValueOf(definition.create(options, seed))),
        observation_bytes_(static_cast<size_t>(environment_->spec().observation.NumBytes())),
        buffer_(observation_bytes_ + kGuardBytes, kGuard),
        action_(static_cast<size_t>(environment_->spec().action.Array().NumBytes())) {}

  const EnvironmentSpec& spec() const { return environment_->spec(); }
  void* action() { return action_.data(); }
  std::vector<char> observation() const { return {buffer_.begin(), buffer_.end() - kGuardBytes}; }

  void Reset() {
    REQUIRE_OK(environment_->Reset(buffer_.data()));
    CheckObservation();
  }

  StepOutcome Step() {
    const StepOutcome outcome = ValueOf(environment_->Step(action_.data(), buffer_.data()));
    CheckObservation();
    REQUIRE(std::isfinite(outcome.reward));
    return outcome;
  }

  absl::Status TryStep() { return environment_->Step(action_.data(), buffer_.data()).status(); }

  void ChooseAction(Rng* rng) {
    const ActionSpec& action = spec().action;
    if (action.kind == ActionSpec::Kind::kDiscrete) {
      const int64_t choice = static_cast<int64_t>(rng->UniformInt(static_cast<uint64_t>(action.num_values)));
      std::memcpy(action_.data(), &choice, sizeof(choice));
      return;
    }
    for (size_t i = 0; i < action.low.size(); ++i) {
      const double low = std::isfinite(action.low[i]) ? action.low[i] : -1;
      const double high = std::isfinite(action.high[i]) ? action.high[i] : low + 2;
      const float value = static_cast<float>(rng->Uniform(low, high));
      std::memcpy(action_.data() + i * sizeof(value), &value, sizeof(value));
    }
  }

 private:
  void CheckObservation() const {
    const ArraySpec& spec = environment_->spec().observation;
    REQUIRE(FindNonFinite(spec.dtype, buffer_.data(), spec.NumElements()) == -1);
    REQUIRE(std::vector<char>(buffer_.end() - kGuardBytes, buffer_.end()) == std::vector<char>(kGuardBytes, kGuard));
  }

  std::unique_ptr<Environment> environment_;
  const size_t observation_bytes_;
  std::vector<char> buffer_;
  std::vector<char> action_;
};

std::vector<std::vector<char>> InvalidActions(const ActionSpec& action) {
  std::vector<std::vector<char>> invalid;
  const auto add = [&invalid](const void* data, size_t size) {
    const char* bytes = static_cast<const char*>(data);
    invalid.emplace_back(bytes, bytes + size);
  };
  if (action.kind == ActionSpec::Kind::kDiscrete) {
    for (const int64_t choice : {int64_t{-1}, action.num_values, std::numeric_limits<int64_t>::max()}) {
      add(&choice, sizeof(choice));
    }
    return invalid;
  }
  const std::vector<float> not_a_number(action.low.size(), std::nanf(""));
  add(not_a_number.data(), not_a_number.size() * sizeof(float));
  return invalid;
}

void CheckSpec(const std::string& name, const EnvironmentDefinition& definition, const EnvironmentOptions& options) {
  REQUIRE_FALSE(definition.description.empty());
  const EnvironmentSpec spec = ValueOf(definition.spec(options));
  REQUIRE_OK(spec.Validate());
  REQUIRE(spec.name == name);
  REQUIRE(Driver(definition, options, 1).spec() == spec);
}

void CheckDeterminism(const EnvironmentDefinition& definition, const EnvironmentOptions& options) {
  Driver a(definition, options, 7);
  Driver b(definition, options, 7);
  Rng rng(11);
  int64_t episode_steps = 0;
  a.Reset();
  b.Reset();
  REQUIRE(a.observation() == b.observation());
  for (int64_t i = 0; i < kSteps; ++i) {
    a.ChooseAction(&rng);
    std::memcpy(b.action(), a.action(), static_cast<size_t>(a.spec().action.Array().NumBytes()));
    const StepOutcome left = a.Step();
    const StepOutcome right = b.Step();
    ++episode_steps;
    REQUIRE(a.observation() == b.observation());
    REQUIRE(left.reward == right.reward);
    REQUIRE(left.terminated == right.terminated);
    REQUIRE(left.truncated == right.truncated);
    if (left.terminated || left.truncated) {
      REQUIRE_CODE(a.TryStep(), absl::StatusCode::kFailedPrecondition);
      REQUIRE_CODE(b.TryStep(), absl::StatusCode::kFailedPrecondition);
      a.Reset();
      b.Reset();
      REQUIRE(a.observation() == b.observation());
      episode_steps = 0;
    }
    if (a.spec().max_episode_steps > 0) {
      REQUIRE(episode_steps < a.spec().max_episode_steps);
    }
  }
}

// Whether two seeds, or two episodes of one seed, ever lead to something else under the same actions.
void CheckSeedsDiffer(const EnvironmentDefinition& definition, const EnvironmentOptions& options) {
  Driver a(definition, options, 1);
  Driver b(definition, options, 2);
  Rng rng(13);
  a.Reset();
  b.Reset();
  bool differ = a.observation() != b.observation();
  for (int64_t i = 0; i < kSteps && !differ; ++i) {
    a.ChooseAction(&rng);
    std::memcpy(b.action(), a.action(), static_cast<size_t>(a.spec().action.Array().NumBytes()));
    const StepOutcome left = a.Step();
    const StepOutcome right = b.Step();
    differ = a.observation() != b.observation() || left.terminated != right.terminated;
    if (left.terminated || left.truncated || right.terminated || right.truncated) {
      a.Reset();
      b.Reset();
    }
  }
  REQUIRE(differ);
}

void CheckRefusals(const EnvironmentDefinition& definition, const EnvironmentOptions& options) {
  Driver driver(definition, options, 3);
  Driver untouched(definition, options, 3);
  Rng rng(17);
  driver.ChooseAction(&rng);
  REQUIRE_CODE(driver.TryStep(), absl::StatusCode::kFailedPrecondition);  // Before the first reset.

  driver.Reset();
  untouched.Reset();
  for (const std::vector<char>& action : InvalidActions(driver.spec().action)) {
    std::memcpy(driver.action(), action.data(), action.size());
    REQUIRE_CODE(driver.TryStep(), absl::StatusCode::kInvalidArgument);
  }
  // A refused action changes nothing.
  driver.ChooseAction(&rng);
  std::memcpy(untouched.action(), driver.action(), static_cast<size_t>(driver.spec().action.Array().NumBytes()));
  driver.Step();
  untouched.Step();
  REQUIRE(driver.observation() == untouched.observation());
}

}  // namespace

void CheckEnvironment(const std::string& name, const EnvironmentDefinition& definition,
                      const EnvironmentOptions& options) {
  INFO("environment " << name);
  CheckSpec(name, definition, options);
  CheckDeterminism(definition, options);
  CheckSeedsDiffer(definition, options);
  CheckRefusals(definition, options);
}

}  // namespace waggle::testing
