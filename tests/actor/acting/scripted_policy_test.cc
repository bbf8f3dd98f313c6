#include "actor/acting/scripted_policy.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "actor/acting/random_policy.h"
#include "actor/environments/environment.h"
#include "actor/environments/open_environment.h"
#include "actor/evaluation/evaluator.h"
#include "common/base/metrics/sample_statistics.h"
#include "common/base/random.h"
#include "common/base/threads/stop_token.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::ValueOf;

// The mean return of 100 episodes of the policy that `make` returns for the environment's spec.
template <class Make>
double MeanReturn(const std::string& name, const Make& make) {
  EnvironmentOptions options;
  options.name = name;
  LaneOptions lanes;
  lanes.lanes = 20;
  lanes.in_order = true;
  std::unique_ptr<VectorEnvironment> environments =
      ValueOf(OpenEnvironment(BuiltinEnvironments(), options, lanes, Rng(3), StopToken()));
  const std::unique_ptr<Policy> policy = make(environments->spec());
  Evaluator evaluator(std::move(environments), policy.get());
  return StatisticsOf(ValueOf(evaluator.RunEpisodes(100, StopToken())).returns).mean;
}

double Scripted(const std::string& name) {
  const EnvironmentScript script = ValueOf(BuiltinEnvironments().Find(name))->script;
  return MeanReturn(name, [&](const EnvironmentSpec& spec) { return std::make_unique<ScriptedPolicy>(spec, script); });
}

TEST_CASE("every script earns more than random actions", "[unit]") {
  int64_t scripts = 0;
  const EnvironmentDefinitions definitions = BuiltinEnvironments();
  for (const std::string& name : definitions.Names()) {
    if (ValueOf(definitions.Find(name))->script != nullptr) {
      ++scripts;
      INFO(name);
      const double random = MeanReturn(
          name, [](const EnvironmentSpec& spec) { return std::make_unique<RandomPolicy>(spec, /*lanes=*/20, Rng(4)); });
      CHECK(Scripted(name) > random);
    }
  }
  CHECK(scripts > 0);
}

TEST_CASE("scripts solve their environments", "[unit]") {
  CHECK(Scripted("CartPole-v1") > 475);  // Gymnasium's threshold.
  CHECK(Scripted("MountainCar-v0") > -130);
  CHECK(Scripted("MountainCarContinuous-v0") > 80);
  CHECK(Scripted("Pendulum-v1") > -250);
  CHECK(Scripted("PointMass-v0") > -15);
  CHECK(Scripted("Spread-v0") > -8);
}

}  // namespace
}  // namespace waggle
