#include "tests/support/conformance/environment_conformance.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "common/base/random.h"
#include "common/base/tensor/elements.h"
#include "tests/support/catch.h"
#include "tests/support/counted_memory.h"

namespace waggle::testing {
namespace {

constexpr int64_t kSteps = 5000;
constexpr int64_t kSearchedEpisodes = 2000;
constexpr int64_t kSearchesPerSeed = 250;
constexpr char kGuard = 0x5a;
constexpr size_t kGuardBytes = 64;

// An array for each leaf; bytes past the end of each must not change.
class Arrays {
 public:
  explicit Arrays(const std::vector<ArraySpec>& specs) : specs_(specs) {
    for (const ArraySpec& spec : specs) {
      memory_.emplace_back(static_cast<size_t>(spec.NumBytes()) + kGuardBytes, kGuard);
      pointers_.push_back(memory_.back().data());
    }
  }
  Arrays(const Arrays&) = delete;
  Arrays& operator=(const Arrays&) = delete;

  const std::vector<void*>& pointers() const { return pointers_; }
  const std::vector<std::vector<char>>& memory() const { return memory_; }
  void CopyFrom(const Arrays& other) {
    for (size_t i = 0; i < memory_.size(); ++i) {
      std::copy(other.memory_[i].begin(), other.memory_[i].end(), memory_[i].begin());
    }
  }

  void CheckGuards() const {
    for (const std::vector<char>& memory : memory_) {
      REQUIRE(std::vector<char>(memory.end() - kGuardBytes, memory.end()) == std::vector<char>(kGuardBytes, kGuard));
    }
  }
  void CheckFinite() const {
    for (size_t i = 0; i < specs_.size(); ++i) {
      INFO(specs_[i].name);
      REQUIRE(FindNonFinite(specs_[i].dtype, memory_[i].data(), specs_[i].NumElements()) == -1);
    }
  }

 private:
  const std::vector<ArraySpec> specs_;
  std::vector<std::vector<char>> memory_;
  std::vector<void*> pointers_;
};

bool Allows(const SpaceLeaf& leaf, int64_t element, double value) {
  switch (leaf.kind) {
    case SpaceKind::kMultiBinary:
      return value == 0 || value == 1;
    case SpaceKind::kBox:
      return value >= static_cast<double>(static_cast<float>(leaf.Low(element))) &&
             value <= static_cast<double>(static_cast<float>(leaf.High(element)));
    default:
      return value >= 0 && value < static_cast<double>(leaf.num_values[static_cast<size_t>(element)]);
  }
}

// Checks that an observation is within its kind and its bounds.
void CheckInSpace(const SpaceLeaf& leaf, const void* data) {
  if (leaf.array.dtype == DType::kUint8 && leaf.low == std::vector<double>{0} &&
      leaf.high == std::vector<double>{255}) {
    return;  // A picture: every byte is allowed.
  }
  const bool half = leaf.array.dtype == DType::kFloat16 || leaf.array.dtype == DType::kBfloat16;
  // Read as a byte, as the memory may hold a value that is not a bool's.
  const DType dtype = leaf.array.dtype == DType::kBool ? DType::kUint8 : leaf.array.dtype;
  for (int64_t i = 0; i < leaf.array.NumElements() && !half; ++i) {
    const double value = ElementAsDouble(dtype, data, i);
    if (!Allows(leaf, i, value)) {  // An assertion for each element would take minutes for large frames.
      FAIL(leaf.DebugString() << ", element " << i << ": " << value);
    }
  }
}

// One environment and the arrays around it.
class Driver {
 public:
  Driver(const EnvironmentDefinition& definition, const EnvironmentOptions& options, uint64_t seed)
      : environment_(ValueOf(definition.create(options, seed))),
        observations_(ArraysOf(spec().observations)),
        actions_(ArraysOf(spec().actions)),
        rewards_({ArraySpec{"rewards", DType::kFloat32, {NumRewards(spec().rewards)}}}) {}

  const EnvironmentSpec& spec() const { return environment_->spec(); }
  Arrays& actions() { return actions_; }
  // All observations written.
  const std::vector<std::vector<char>>& observations() const { return observations_.memory(); }
  const std::vector<std::vector<char>>& rewards() const { return rewards_.memory(); }

  void Reset() {
    REQUIRE_OK(environment_->Reset(observations_.pointers()));
    CheckObservations();
  }

  StepOutcome Step() {
    const StepOutcome outcome = ValueOf(Call());
    CheckObservations();
    rewards_.CheckGuards();
    rewards_.CheckFinite();
    return outcome;
  }

  absl::Status TryStep() { return Call().status(); }
  StepOutcome StepWithoutChecks() { return Call().value(); }
  // A step, and a reset if the episode has ended; returns the number of their allocations.
  int64_t MemoryOfStep() {
    const int64_t before = MemoryTaken();
    const StepOutcome outcome = Call().value();
    if (outcome.terminated || outcome.truncated) {
      environment_->Reset(observations_.pointers()).IgnoreError();
    }
    return MemoryTaken() - before;
  }

  void ChooseActions(Rng* rng) {
    for (size_t i = 0; i < spec().actions.size(); ++i) {
      ChooseAction(spec().actions[i], actions_.pointers()[i], rng);
    }
  }

  // The newest mask of an action, or null.
  const bool* MaskOf(const SpaceLeaf& action) const {
    const SpaceLeaf* const mask = FindMaskOfAction(spec(), action);
    return mask == nullptr ? nullptr
                           : static_cast<const bool*>(
                                 observations_.pointers()[static_cast<size_t>(mask - spec().observations.data())]);
  }

 private:
  absl::StatusOr<StepOutcome> Call() {
    return environment_->Step(actions_.pointers(), observations_.pointers(),
                              static_cast<float*>(rewards_.pointers()[0]));
  }

  void CheckObservations() const {
    observations_.CheckGuards();
    observations_.CheckFinite();
    for (size_t i = 0; i < spec().observations.size(); ++i) {
      CheckInSpace(spec().observations[i], observations_.pointers()[i]);
    }
  }

  // Chooses a random action, a legal one if there is a mask.
  void ChooseAction(const SpaceLeaf& action, void* data, Rng* rng) const {
    const int64_t elements = action.array.NumElements();
    if (action.kind == SpaceKind::kBox) {
      REQUIRE(action.array.dtype == DType::kFloat32);
      for (int64_t i = 0; i < elements; ++i) {
        const double low = std::isfinite(action.Low(i)) ? action.Low(i) : -1;
        const double high = std::isfinite(action.High(i)) ? action.High(i) : low + 2;
        static_cast<float*>(data)[i] = static_cast<float>(rng->Uniform(low, high));
      }
    } else if (action.kind == SpaceKind::kMultiBinary) {
      for (int64_t i = 0; i < elements; ++i) {
        static_cast<bool*>(data)[i] = rng->UniformInt(2) == 1;
      }
    } else {
      const bool* mask = MaskOf(action);
      for (int64_t i = 0; i < elements; ++i) {
        const int64_t choices = action.num_values[static_cast<size_t>(i)];
        std::vector<int64_t> legal;
        for (int64_t choice = 0; choice < choices; ++choice) {
          if (mask == nullptr || mask[choice]) {
            legal.push_back(choice);
          }
        }
        REQUIRE_FALSE(legal.empty());
        static_cast<int64_t*>(data)[i] = legal[rng->UniformInt(legal.size())];
        mask = mask == nullptr ? nullptr : mask + choices;
      }
    }
  }

  std::unique_ptr<Environment> environment_;
  Arrays observations_;
  Arrays actions_;
  Arrays rewards_;
};

// Invalid arrays of an action leaf: a wrong value in its first and in its last element, and each choice that its mask
// forbids. `mask`: null if it has none.
std::vector<std::vector<char>> InvalidActions(const SpaceLeaf& action, const void* valid, const bool* mask) {
  std::vector<std::vector<char>> invalid;
  const auto add = [&](auto value, int64_t element) {
    const char* const bytes = static_cast<const char*>(valid);
    invalid.emplace_back(bytes, bytes + action.array.NumBytes());
    std::memcpy(invalid.back().data() + static_cast<size_t>(element) * sizeof(value), &value, sizeof(value));
  };
  for (const int64_t element : {int64_t{0}, action.array.NumElements() - 1}) {
    if (!action.num_values.empty()) {
      add(int64_t{-1}, element);
      add(action.num_values[static_cast<size_t>(element)], element);
      add(std::numeric_limits<int64_t>::max(), element);
    } else if (action.array.dtype == DType::kFloat32) {
      add(std::numeric_limits<float>::quiet_NaN(), element);
    }
  }
  for (size_t element = 0; mask != nullptr && element < action.num_values.size(); ++element) {
    for (int64_t choice = 0; choice < action.num_values[element]; ++choice, ++mask) {
      if (!*mask) {
        add(choice, static_cast<int64_t>(element));
      }
    }
  }
  return invalid;
}

void CheckSpec(const std::string& name, const EnvironmentDefinition& definition, const EnvironmentOptions& options) {
  REQUIRE_FALSE(definition.description.empty());
  const EnvironmentSpec spec = ValueOf(definition.spec(options));
  REQUIRE_OK(spec.Validate());
  REQUIRE(spec.name == name);
  REQUIRE(Driver(definition, options, 1).spec() == spec);
}

// Asserts that a step of an episode, counted from 1, is truncated if it reaches the time limit and is not terminated,
// and not truncated otherwise.
void CheckTruncation(int64_t limit, int64_t step, const StepOutcome& outcome) {
  const bool ends = step == limit;
  if (ends ? !outcome.truncated && !outcome.terminated : outcome.truncated) {
    FAIL("step " << step << " of an episode is " << (ends ? "not truncated" : "truncated")
                 << "; spec.max_episode_steps is " << limit);
  }
}

void CheckDeterminism(const EnvironmentDefinition& definition, const EnvironmentOptions& options) {
  Driver a(definition, options, 7);
  Driver b(definition, options, 7);
  Rng rng(11);
  int64_t episode_steps = 0;
  a.Reset();
  b.Reset();
  REQUIRE(a.observations() == b.observations());
  for (int64_t i = 0; i < kSteps; ++i) {
    a.ChooseActions(&rng);
    b.actions().CopyFrom(a.actions());
    const StepOutcome left = a.Step();
    const StepOutcome right = b.Step();
    ++episode_steps;
    REQUIRE(a.observations() == b.observations());
    REQUIRE(a.rewards() == b.rewards());
    REQUIRE(left.terminated == right.terminated);
    REQUIRE(left.truncated == right.truncated);
    CheckTruncation(a.spec().max_episode_steps, episode_steps, left);
    if (left.terminated || left.truncated) {
      REQUIRE_CODE(a.TryStep(), absl::StatusCode::kFailedPrecondition);
      REQUIRE_CODE(b.TryStep(), absl::StatusCode::kFailedPrecondition);
      a.Reset();
      b.Reset();
      REQUIRE(a.observations() == b.observations());
      episode_steps = 0;
    }
  }
}

// Searches for an episode that lasts until the time limit. Random actions rarely reach it, so other actions are tried
// from some step of the longest episode on.
void CheckTimeLimit(const EnvironmentDefinition& definition, const EnvironmentOptions& options) {
  const int64_t limit = ValueOf(definition.spec(options)).max_episode_steps;
  Rng rng(19);
  std::vector<uint64_t> longest;  // Seeds of its steps' actions.
  for (int64_t i = 0; i < kSearchedEpisodes && static_cast<int64_t>(longest.size()) < limit; ++i) {
    if (i % kSearchesPerSeed == 0) {
      longest.clear();
    }
    Driver driver(definition, options, static_cast<uint64_t>(i / kSearchesPerSeed));
    driver.Reset();
    driver.ChooseActions(&rng);
    driver.StepWithoutChecks();
    driver.Reset();  // The step before it must not count.
    // Later steps are changed more often than earlier ones.
    const auto changed = static_cast<size_t>(std::pow(static_cast<double>(longest.size()) + 1, rng.Uniform()));
    std::vector<uint64_t> episode(longest.begin(),
                                  longest.end() - static_cast<int64_t>(std::min(changed, longest.size())));
    StepOutcome outcome;
    for (size_t step = 0; !outcome.terminated && !outcome.truncated; ++step) {
      if (step == episode.size()) {
        episode.push_back(rng.Next());
      }
      Rng actions(episode[step]);
      driver.ChooseActions(&actions);
      outcome = driver.StepWithoutChecks();
      CheckTruncation(limit, static_cast<int64_t>(step) + 1, outcome);
    }
    if (episode.size() >= longest.size()) {
      longest = std::move(episode);
    }
  }
}

// Checks whether two seeds, or two episodes of one seed, differ under the same actions, as follows_seed says.
void CheckSeedsDiffer(const EnvironmentDefinition& definition, const EnvironmentOptions& options) {
  Driver a(definition, options, 1);
  Driver b(definition, options, 2);
  Rng rng(13);
  a.Reset();
  b.Reset();
  bool differ = a.observations() != b.observations();
  for (int64_t i = 0; i < kSteps && !differ; ++i) {
    a.ChooseActions(&rng);
    b.actions().CopyFrom(a.actions());
    const StepOutcome left = a.Step();
    const StepOutcome right = b.Step();
    differ = a.observations() != b.observations() || left.terminated != right.terminated;
    if (left.terminated || left.truncated || right.terminated || right.truncated) {
      a.Reset();
      b.Reset();
    }
  }
  INFO("seeds or episodes " << (differ ? "differ" : "are all alike") << "; the definition's follows_seed is "
                            << definition.follows_seed);
  REQUIRE(differ == definition.follows_seed);
}

void CheckRefusals(const EnvironmentDefinition& definition, const EnvironmentOptions& options) {
  Driver driver(definition, options, 3);
  Driver untouched(definition, options, 3);
  Rng rng(17);
  REQUIRE_CODE(driver.TryStep(), absl::StatusCode::kFailedPrecondition);  // Before the first reset.

  driver.Reset();
  untouched.Reset();
  driver.ChooseActions(&rng);
  untouched.actions().CopyFrom(driver.actions());
  for (size_t i = 0; i < driver.spec().actions.size(); ++i) {
    const SpaceLeaf& leaf = driver.spec().actions[i];
    void* const data = driver.actions().pointers()[i];
    for (const std::vector<char>& action : InvalidActions(leaf, data, driver.MaskOf(leaf))) {
      INFO(leaf.DebugString());
      std::memcpy(data, action.data(), action.size());
      REQUIRE_CODE(driver.TryStep(), absl::StatusCode::kInvalidArgument);
      driver.actions().CopyFrom(untouched.actions());
    }
  }
  // A refused action changes nothing.
  driver.Step();
  untouched.Step();
  REQUIRE(driver.observations() == untouched.observations());
  REQUIRE(driver.rewards() == untouched.rewards());
}

void CheckTakesNoMemory(const EnvironmentDefinition& definition, const EnvironmentOptions& options) {
  Driver driver(definition, options, 5);
  Rng rng(23);
  driver.Reset();
  for (int64_t i = 0; i < kSteps; ++i) {
    driver.ChooseActions(&rng);
    REQUIRE(driver.MemoryOfStep() == 0);
  }
}

}  // namespace

void CheckEnvironment(const std::string& name, const EnvironmentDefinition& definition,
                      const EnvironmentOptions& options) {
  INFO("environment " << name);
  CheckSpec(name, definition, options);
  CheckDeterminism(definition, options);
  CheckTimeLimit(definition, options);
  CheckSeedsDiffer(definition, options);
  CheckRefusals(definition, options);
}

void CheckBuiltin(const std::string& name, const std::string& settings) {
  EnvironmentOptions options;
  options.name = name;
  options.options = settings;
  const EnvironmentDefinitions definitions = BuiltinEnvironments();
  const EnvironmentDefinition& definition = *ValueOf(definitions.Find(name));
  CheckEnvironment(name, definition, options);
  CheckTakesNoMemory(definition, options);
}

}  // namespace waggle::testing
