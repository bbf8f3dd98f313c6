#include "tests/support/conformance/environment_conformance.h"

#include <cstdint>
#include <memory>

#include "actor/environments/builtin/cartpole.h"
#include "tests/support/catch.h"
#include "tests/support/many_leaves.h"

namespace waggle::testing {
namespace {

TEST_CASE("an environment of many leaves passes the conformance suite", "[unit]") {
  CheckEnvironment("ManyLeaves", ManyLeaves::Definition(), EnvironmentOptions());
}

// CartPole with a time limit that tests may break.
struct Limit {
  int64_t in_spec = 500;
  int64_t steps = 500;
  bool cleared_by_reset = true;
};

class LimitedCartPole : public Environment {
 public:
  LimitedCartPole(uint64_t seed, const Limit& limit)
      : limit_(limit), spec_(CartPole::Spec()), pole_(CartPole::Settings(), seed) {
    spec_.max_episode_steps = limit.in_spec;
  }

  const EnvironmentSpec& spec() const override { return spec_; }
  absl::Status Reset(absl::Span<void* const> observations) override {
    steps_ = limit_.cleared_by_reset ? 0 : steps_;
    truncated_ = false;
    return pole_.Reset(observations);
  }
  absl::StatusOr<StepOutcome> Step(absl::Span<const void* const> actions, absl::Span<void* const> observations,
                                   float* rewards) override {
    if (truncated_) {
      return absl::FailedPreconditionError("the episode is over");
    }
    absl::StatusOr<StepOutcome> outcome = pole_.Step(actions, observations, rewards);
    if (outcome.ok()) {
      truncated_ = ++steps_ >= limit_.steps;
      outcome->truncated = outcome->truncated || truncated_;
    }
    return outcome;
  }

 private:
  const Limit limit_;
  EnvironmentSpec spec_;
  CartPole pole_;
  int64_t steps_ = 0;
  bool truncated_ = false;
};

void CheckLimited(const Limit& limit) {
  EnvironmentDefinition definition;
  definition.description = "CartPole with a time limit of its own";
  definition.spec = [limit](const EnvironmentOptions&) { return LimitedCartPole(0, limit).spec(); };
  definition.create = [limit](const EnvironmentOptions&,
                              uint64_t seed) -> absl::StatusOr<std::unique_ptr<Environment>> {
    return std::make_unique<LimitedCartPole>(seed, limit);
  };
  CheckEnvironment("CartPole-v1", definition, EnvironmentOptions());
}

TEST_CASE("CartPole with its time limit passes the conformance suite", "[unit]") {
  CheckLimited(Limit());
}

// The suite's assertions must fail in these tests.
TEST_CASE("a step counter that Reset does not clear fails the conformance suite", "[unit][!shouldfail]") {
  Limit limit;
  limit.cleared_by_reset = false;
  CheckLimited(limit);
}

TEST_CASE("a truncation before max_episode_steps fails the conformance suite", "[unit][!shouldfail]") {
  Limit limit;
  limit.steps = 100;
  CheckLimited(limit);
}

TEST_CASE("a truncation after max_episode_steps fails the conformance suite", "[unit][!shouldfail]") {
  Limit limit;
  limit.in_spec = 200;
  CheckLimited(limit);
}

TEST_CASE("an environment without random numbers that claims to follow seeds fails the suite", "[unit][!shouldfail]") {
  const EnvironmentDefinitions definitions = BuiltinEnvironments();
  EnvironmentDefinition definition = *ValueOf(definitions.Find("DeepSea-v0"));
  definition.follows_seed = true;
  CheckEnvironment("DeepSea-v0", definition, EnvironmentOptions());
}

TEST_CASE("an environment with random starts that claims to follow no seeds fails the suite", "[unit][!shouldfail]") {
  const EnvironmentDefinitions definitions = BuiltinEnvironments();
  EnvironmentDefinition definition = *ValueOf(definitions.Find("CartPole-v1"));
  definition.follows_seed = false;
  CheckEnvironment("CartPole-v1", definition, EnvironmentOptions());
}

}  // namespace
}  // namespace waggle::testing
