#include "common/rl/kit/model.h"

#include "tests/support/catch.h"
#include "tests/support/dqn.h"
#include "tests/support/state_copy.h"

namespace waggle {
namespace {

// An actor and twin critics with targets, and a scalar, on a small environment.
struct Fixture {
  explicit Fixture(uint64_t seed = 1) {
    environment.name = "test";
    environment.observations = {Box("observation", DType::kFloat32, {3})};
    environment.actions = {Box("action", DType::kFloat32, {2}, -1, 1)};
    NetworkNeed actor{"actor", {{"action", HeadKind::kDeterministic}}};
    actor.acts = actor.has_target = true;
    NetworkNeed critic{"critic", {{"value", HeadKind::kValue}}};
    critic.takes_action = critic.has_target = true;
    critic.members = 2;
    plan.algorithm.networks = {actor, critic};
    plan.algorithm.scalars = {{"log_temperature", -0.5}};
    for (const NetworkNeed& need : plan.algorithm.networks) {
      plan.networks.push_back(testing::ValueOf(PlanNetwork(need, NetworkSpec(), environment)));
    }
    model = testing::ValueOf(Model::Create(plan, environment, torch::kCPU, seed));
  }

  EnvironmentSpec environment;
  ExperimentPlan plan;
  std::unique_ptr<Model> model;
};

TEST_CASE("a model has what its plan asks for", "[unit]") {
  const Fixture f;
  CHECK(f.model->scalar("log_temperature")->value().item<double>() == Approx(-0.5));
  CHECK(f.model->scalar("log_temperature")->value().requires_grad());
  const Observations observations = {torch::randn({5, 3})};
  const torch::Tensor action = f.model->net("actor")(observations).action();
  CHECK(action.sizes() == torch::IntArrayRef({5, 2}));
  CHECK(action.abs().max().item<double>() < 1);
  Net& critic = f.model->net("critic");
  CHECK(critic(observations, action).value().sizes() == torch::IntArrayRef({2, 5}));
  CHECK(torch::equal(critic(observations, action).value(), critic.target()(observations, action).value()));
}

TEST_CASE("the network that acts is published, and put back into it and its target", "[unit]") {
  const Fixture one;
  const Fixture other(2);
  ModelSnapshot snapshot = testing::ValueOf(one.model->Publish());
  CHECK(DebugString(snapshot.tensors) == DebugString(one.plan.networks[0].parameters));
  snapshot.network_hash += 1;
  const torch::Tensor before = other.model->net("actor").group()->values().clone();
  REQUIRE_CODE(other.model->LoadPublished(snapshot), absl::StatusCode::kFailedPrecondition);
  CHECK(torch::equal(other.model->net("actor").group()->values(), before));
  snapshot.network_hash -= 1;
  REQUIRE_OK(other.model->LoadPublished(snapshot));
  const torch::Tensor values = one.model->net("actor").group()->values();
  CHECK(torch::equal(other.model->net("actor").group()->values(), values));
  CHECK(torch::equal(other.model->net("actor").target_network()->parameters().values(), values));
}

TEST_CASE("networks that act together are published together, and loaded all or none", "[unit]") {
  const auto make = [](uint64_t seed) {
    Fixture f(seed);
    f.plan.algorithm.networks[1].acts = true;
    f.model = testing::ValueOf(Model::Create(f.plan, f.environment, torch::kCPU, seed));
    return f;
  };
  const Fixture one = make(1);
  const Fixture other = make(2);
  ModelSnapshot snapshot = testing::ValueOf(one.model->Publish());
  CHECK(snapshot.tensors.size() == one.plan.networks[0].parameters.size() + one.plan.networks[1].parameters.size());
  CHECK(snapshot.tensors[0].name == "actor.torso.0.linear1.weight");
  CHECK(snapshot.network_hash == one.plan.acting_hash());
  CHECK(snapshot.network_hash != one.plan.networks[0].hash);
  ModelSnapshot alone = testing::ValueOf(Fixture(1).model->Publish());
  REQUIRE_CODE(other.model->LoadPublished(alone), absl::StatusCode::kFailedPrecondition);
  REQUIRE_OK(other.model->LoadPublished(snapshot));
  for (const char* name : {"actor", "critic"}) {
    const torch::Tensor values = one.model->net(name).network().parameters().values();
    CHECK(torch::equal(other.model->net(name).network().parameters().values(), values));
    CHECK(torch::equal(other.model->net(name).target_network()->parameters().values(), values));
  }
}

TEST_CASE("a network that does not learn has no optimizer, and one may have several", "[unit]") {
  Fixture f;
  f.plan.algorithm.networks[1].learns = false;
  OptimizerOptions slow;
  slow.type = "sgd";
  f.plan.algorithm.networks[0].more_optimizers["slow"] = slow;
  f.model = testing::ValueOf(Model::Create(f.plan, f.environment, torch::kCPU, 1));
  CHECK(f.model->net("critic").groups().empty());
  CHECK_FALSE(f.model->net("critic").network().parameters().gradients().defined());
  Net& actor = f.model->net("actor");
  CHECK(actor.groups().size() == 2);
  CHECK(actor.group("slow")->name() == "actor_slow");
  CHECK(actor.group("slow")->values().is_alias_of(actor.group()->values()));
}

TEST_CASE("a model's state is networks, targets, scalars and optimizers, a tensor a parameter", "[unit]") {
  const Fixture one;
  const Fixture other(2);
  {
    torch::NoGradGuard no_grad;
    torch::Tensor values = one.model->net("critic").target_network()->parameters().values();
    values.mul_(2);
    one.model->scalar("log_temperature")->parameters().values().fill_(3);
  }
  testing::StateCopy copy;
  one.model->VisitState(copy.Saver());
  other.model->VisitState(copy.Loader());
  for (const char* name : {"actor", "critic"}) {
    CHECK(torch::equal(one.model->net(name).group()->values(), other.model->net(name).group()->values()));
  }
  CHECK(torch::equal(one.model->net("critic").target_network()->parameters().values(),
                     other.model->net("critic").target_network()->parameters().values()));
  CHECK(other.model->scalar("log_temperature")->value().item<double>() == 3);
}

}  // namespace
}  // namespace waggle
