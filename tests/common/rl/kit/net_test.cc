#include "common/rl/kit/net.h"

#include <memory>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/network_inputs.h"
#include "tests/support/networks.h"

namespace waggle {
namespace {

using testing::Environment;
using testing::NetworkCase;
using testing::NetworkInputs;
using testing::Vector;
using torch::Tensor;

const SpaceLeaf kReal = Box("action", DType::kFloat32, {2}, -1, 1);

NetworkCase Case(std::map<std::string, HeadNeed> heads, const SpaceLeaf& action, std::optional<int64_t> members = {},
                 std::vector<SpaceLeaf> observations = {Vector(3)}) {
  NetworkCase network;
  network.need.name = "net";
  network.need.heads = std::move(heads);
  network.need.members = members;
  network.spec.torso = {testing::Mlp({4}, "tanh")};
  network.environment = Environment(std::move(observations), action);
  return network;
}

SpaceLeaf Mask(int64_t choices) {
  return MultiBinary("action_mask", {choices});
}

Tensor Bools(const std::vector<int64_t>& values) {
  return torch::tensor(values).to(torch::kBool);
}

bool Same(const Tensor& a, const Tensor& b) {
  return a.sizes() == b.sizes() && torch::allclose(a, b);
}

TEST_CASE("a network's heads are asked for by name, each as its kind", "[unit]") {
  for (const int64_t members : {0, 1, 3}) {
    const std::optional<int64_t> count = members > 0 ? std::make_optional(members) : std::nullopt;
    std::vector<int64_t> rows = {5};
    if (members > 0) {
      rows.insert(rows.begin(), members);
    }
    std::vector<int64_t> with_choices = rows;
    with_choices.push_back(4);
    std::vector<int64_t> with_elements = rows;
    with_elements.push_back(2);
    const Observations observations = {torch::randn({5, 3})};
    const auto head = [&](const Network& network) { return network.Forward(observations)[0].values; };

    const auto q = testing::Build(Case({{"q", HeadKind::kQ}}, Discrete("action", 4), count));
    CHECK(Forward(*q, observations).q().sizes().vec() == with_choices);
    CHECK(torch::equal(Forward(*q, observations).q(), head(*q)));
    const auto value = testing::Build(Case({{"value", HeadKind::kValue}}, kReal, count));
    CHECK(Forward(*value, observations).value().sizes().vec() == rows);
    CHECK(torch::equal(Forward(*value, observations).value(), head(*value).squeeze(-1)));
    const auto action = testing::Build(Case({{"action", HeadKind::kDeterministic}}, kReal, count));
    CHECK(Same(Forward(*action, observations).action(), head(*action).tanh()));
    CHECK(Same(Forward(*action, observations).policy("action").Mode(), head(*action).tanh()));

    const auto categorical = testing::Build(Case({{"policy", HeadKind::kCategorical}}, Discrete("action", 4), count));
    CHECK(Same(Forward(*categorical, observations).policy().LogProbabilities(), head(*categorical).log_softmax(-1)));
    const auto several =
        testing::Build(Case({{"policy", HeadKind::kCategorical}}, MultiDiscrete("action", {2, 3}), count));
    const Tensor logits = head(*several);
    CHECK(torch::equal(Forward(*several, observations).policy().Mode(),
                       torch::stack({logits.narrow(-1, 0, 2).argmax(-1), logits.narrow(-1, 2, 3).argmax(-1)}, -1)));

    const auto tanh = testing::Build(Case({{"policy", HeadKind::kTanhNormal}}, kReal, count));
    CHECK(Forward(*tanh, observations).policy().Mode().sizes().vec() == with_elements);
    CHECK(Same(Forward(*tanh, observations).policy().Mode(), head(*tanh).narrow(-1, 0, 2).tanh()));
    CHECK_FALSE(Forward(*tanh, observations).mask().defined());
  }
}

TEST_CASE("a normal head's deviations are its own numbers or outputs, each member's its own", "[unit]") {
  const Observations observations = {torch::randn({3, 3})};
  for (const int64_t members : {0, 1, 3}) {
    NetworkCase network_case =
        Case({{"policy", HeadKind::kNormal}}, kReal, members > 0 ? std::make_optional(members) : std::nullopt);
    const auto free = testing::Build(network_case);
    const Tensor log_std = free->parameters().value_views().back();
    log_std.copy_(torch::arange(log_std.numel()).view(log_std.sizes()) / 10);
    const std::vector<Network::HeadOutput> heads = free->Forward(observations);
    const Tensor wide =
        members > 0 ? log_std.unsqueeze(1).expand_as(heads[0].values) : log_std.unsqueeze(0).expand_as(heads[0].values);
    const Tensor action = torch::randn(heads[0].values.sizes());
    CHECK(Same(Forward(*free, observations).policy().LogProb(action),
               Distribution::Normal(heads[0].values, wide).LogProb(action)));
    // The same with [T, rows].
    const Observations steps = {torch::stack({observations[0], observations[0]})};
    const Tensor twice = torch::stack({action, action}, members > 0 ? 1 : 0);
    CHECK(Same(Forward(*free, steps).policy().LogProb(twice).select(members > 0 ? 1 : 0, 1),
               Forward(*free, observations).policy().LogProb(action)));

    network_case.spec.heads["policy"].std = "of_state";
    const auto of_state = testing::Build(network_case);
    const Tensor values = of_state->Forward(observations)[0].values;
    CHECK(Same(Forward(*of_state, observations).policy().LogProb(action),
               Distribution::Normal(values.narrow(-1, 0, 2), values.narrow(-1, 2, 2)).LogProb(action)));
  }
}

TEST_CASE("a tanh-normal head's deviations stay within their bounds", "[unit]") {
  NetworkCase network_case = Case({{"policy", HeadKind::kTanhNormal}}, kReal);
  network_case.spec.heads["policy"].min_log_std = -1;
  network_case.spec.heads["policy"].max_log_std = 0.5;
  const auto network = testing::Build(network_case);
  network->parameters().values().mul_(20);
  const Observations observations = {torch::randn({50, 3})};
  const Tensor values = network->Forward(observations)[0].values;
  const Tensor log_std = values.narrow(-1, 2, 2);
  REQUIRE((log_std > 0.5).any().item<bool>());
  REQUIRE((log_std < -1).any().item<bool>());
  const Tensor action = torch::zeros({50, 2});
  CHECK(Same(Forward(*network, observations).policy().LogProb(action),
             Distribution::TanhNormal(values.narrow(-1, 0, 2), log_std.clamp(-1, 0.5)).LogProb(action)));
}

TEST_CASE("illegal choices have the least value and are never drawn", "[unit]") {
  for (const int64_t members : {0, 3}) {
    const std::optional<int64_t> count = members > 0 ? std::make_optional(members) : std::nullopt;
    const Tensor mask = Bools({1, 0, 1, 0, 0, 0, 0, 1, 1, 1, 1, 1}).view({3, 4});
    const Observations observations = {torch::randn({3, 3}), mask};
    const auto q = testing::Build(Case({{"q", HeadKind::kQ}}, Discrete("action", 4), count, {Vector(3), Mask(4)}));
    const Tensor raw = q->Forward(observations)[0].values;
    const Tensor values = Forward(*q, observations).q();
    const Tensor legal = mask.expand_as(values);
    CHECK(torch::equal(values.masked_select(legal), raw.masked_select(legal)));
    CHECK((values.masked_select(legal.logical_not()) == -1e9).all().item<bool>());
    CHECK(torch::equal(Forward(*q, observations).mask(), mask));

    const auto policy =
        testing::Build(Case({{"policy", HeadKind::kCategorical}}, Discrete("action", 4), count, {Vector(3), Mask(4)}));
    Noise noise(3, torch::kCPU);
    for (int i = 0; i < 100; ++i) {
      const Tensor action = Forward(*policy, observations).policy().Sample(&noise).action;
      CHECK(legal.gather(-1, action.unsqueeze(-1)).all().item<bool>());
    }
    // [T, rows], each with its own mask.
    const Observations steps = {torch::stack({observations[0], observations[0]}),
                                torch::stack({mask, mask.logical_not()})};
    const Tensor masked = Forward(*q, steps).q();
    const Tensor both = Legal(steps[1]).expand_as(masked);
    CHECK(torch::equal(masked == -1e9, both.logical_not()));
  }
}

TEST_CASE("choices have the network's values if no choice is legal", "[unit]") {
  const auto q = testing::Build(Case({{"q", HeadKind::kQ}}, Discrete("action", 4), {}, {Vector(3), Mask(4)}));
  const Observations observations = {torch::randn({2, 3}), Bools({0, 0, 0, 0, 0, 1, 0, 0}).view({2, 4})};
  const Tensor values = Forward(*q, observations).q();
  CHECK(torch::equal(values[0], q->Forward(observations)[0].values[0]));
  CHECK((values[1] == -1e9).sum().item<int64_t>() == 3);
}

TEST_CASE("the actions of all leaves are one to a policy, with their masks side by side", "[unit]") {
  for (const int64_t members : {0, 3}) {
    const std::optional<int64_t> count = members > 0 ? std::make_optional(members) : std::nullopt;
    NetworkCase network_case = Case({{"policy", HeadKind::kMixed}}, kReal, count,
                                    {Vector(3), MultiBinary("action_mask/b", {4}), MultiBinary("action_mask/d", {2})});
    network_case.environment.observations[0].array.name = "observation/vector";
    network_case.environment.actions = {Box("action/a", DType::kFloat32, {2}), Discrete("action/b", 4),
                                        MultiBinary("action/c", {2}), MultiDiscrete("action/d", {2})};
    const Tensor first = Bools({1, 0, 1, 0, 0, 0, 0, 1, 1, 1, 1, 1}).view({3, 4});
    const Tensor second = Bools({1, 0, 0, 1, 1, 1}).view({3, 2});
    const Observations observations = {torch::randn({3, 3}), first, second};
    const Tensor mask = torch::cat({first, torch::ones({3, 4}, torch::kBool), second}, -1);
    const auto free = testing::Build(network_case);
    free->parameters().value_views().back().fill_(0.3);
    const Output output = Forward(*free, observations);
    CHECK(torch::equal(output.mask(), mask));
    const Network::HeadOutput head = free->Forward(observations)[0];
    const Tensor logits = head.values.narrow(-1, 0, 10);
    const Tensor mean = head.values.narrow(-1, 10, 2);
    const Distribution expected = Distribution::Mixed(
        logits, {4, 2, 2, 2}, members > 0 ? mask.expand({members, 3, 10}) : mask, mean, torch::full_like(mean, 0.3));
    CHECK(Same(output.policy().Mode(), expected.Mode()));
    CHECK(Same(output.policy().LogProb(expected.Mode()), expected.LogProb(expected.Mode())));
    CHECK(Same(output.policy().Entropy(), expected.Entropy()));

    network_case.spec.heads["policy"].std = "of_state";
    const auto of_state = testing::Build(network_case);
    const Tensor values = of_state->Forward(observations)[0].values;
    REQUIRE(values.size(-1) == 10 + 4);
    CHECK(Same(
        Forward(*of_state, observations).policy().Entropy(),
        Distribution::Mixed(values.narrow(-1, 0, 10), {4, 2, 2, 2}, members > 0 ? mask.expand({members, 3, 10}) : mask,
                            values.narrow(-1, 10, 2), values.narrow(-1, 12, 2))
            .Entropy()));
  }
  // A multi-discrete action of one element is a vector of one.
  const auto one = testing::Build(Case({{"policy", HeadKind::kCategorical}}, MultiDiscrete("action", {4})));
  const Output output = Forward(*one, {torch::randn({5, 3})});
  CHECK(output.policy().Mode().sizes() == at::IntArrayRef{5, 1});
  CHECK(output.policy().LogProb(torch::zeros({5, 1}, torch::kInt64)).sizes() == at::IntArrayRef{5});
}

TEST_CASE("a head of distributions gives each choice's value its expectation", "[unit]") {
  for (const int64_t members : {0, 2}) {
    const std::optional<int64_t> count = members > 0 ? std::make_optional(members) : std::nullopt;
    const std::vector<SpaceLeaf> observations = {testing::Vector(3), Mask(4)};
    const Tensor legal = Bools({1, 0, 1, 1}).expand({5, 4}).contiguous();
    const Observations rows = {torch::randn({5, 3}), legal};
    const torch::NoGradGuard no_grad;
    const auto atoms = testing::Build(
        Case({{"q", HeadNeed(HeadKind::kCategoricalQ, 3, -1, 3)}}, Discrete("action", 4), count, observations));
    const Output of_atoms = Forward(*atoms, rows);
    std::vector<int64_t> shape = {5, 4, 3};
    if (members > 0) {
      shape.insert(shape.begin(), members);
    }
    CHECK(of_atoms.atoms().sizes().vec() == shape);
    CHECK(Same(of_atoms.atoms().exp().sum(-1), torch::ones_like(of_atoms.q())));
    const Tensor mean = (of_atoms.atoms().exp() * torch::tensor({-1.0F, 1.0F, 3.0F})).sum(-1);
    CHECK(Same(of_atoms.q(), mean.masked_fill(legal.logical_not(), -1e9)));
    const auto quantiles =
        testing::Build(Case({{"q", HeadNeed(HeadKind::kQuantileQ, 3)}}, Discrete("action", 4), count, observations));
    const Output of_quantiles = Forward(*quantiles, rows);
    CHECK(of_quantiles.quantiles().sizes().vec() == shape);
    CHECK(Same(of_quantiles.q(), of_quantiles.quantiles().mean(-1).masked_fill(legal.logical_not(), -1e9)));
    CHECK_THROWS_AS(of_quantiles.atoms(), c10::Error);
    CHECK_THROWS_AS(of_atoms.quantiles(), c10::Error);
  }
}

TEST_CASE("an algorithm's own inputs must be as many as its plan has", "[unit]") {
  NetworkCase network_case = Case({{"value", HeadKind::kValue}}, kReal);
  network_case.need.extra = {{"skill", 2}};
  const auto network = testing::Build(network_case);
  const Observations rows = {torch::randn({2, 3})};
  CHECK(Forward(*network, rows, {}, {torch::randn({2, 2})}).value().sizes() == at::IntArrayRef{2});
  CHECK_THROWS_AS(Forward(*network, rows), c10::Error);
  CHECK_THROWS_AS(Forward(*network, rows, {}, {torch::randn({2, 2}), torch::randn({2, 2})}), c10::Error);
}

TEST_CASE("samples of an input that multiplies are one more dimension of all outputs", "[unit]") {
  NetworkCase network_case = Case({{"q", HeadKind::kQ}}, Discrete("action", 4), {}, {Vector(3), Mask(4)});
  network_case.need.extra = {{"fractions", 2, true}};
  const auto network = testing::Build(network_case);
  const Tensor legal = Bools({1, 0, 1, 1}).expand({5, 4}).contiguous();
  const torch::NoGradGuard no_grad;
  const Tensor observation = torch::randn({5, 3});
  const Tensor fractions = torch::randn({5, 6, 2});
  const Tensor values = Forward(*network, {observation, legal}, {}, {fractions}).q();
  REQUIRE(values.sizes() == at::IntArrayRef({5, 6, 4}));
  CHECK(Same(values.select(1, 4), Forward(*network, {observation, legal}, {}, {fractions.select(1, 4)}).q()));
  const auto twice = [](const Tensor& rows) { return torch::stack({rows, rows}); };
  const Tensor wide = Forward(*network, {twice(observation), twice(legal)}, {}, {twice(fractions)}).q();
  CHECK(Same(wide, twice(values)));
}

TEST_CASE("all leading dimensions of observations are rows, in their order", "[unit]") {
  for (NetworkCase& network_case : testing::NetworkCases()) {
    INFO(network_case.name);
    const auto network = testing::Build(network_case);
    const NetworkInputs inputs = testing::RandomInputs(network_case, 6, torch::kFloat32);
    const torch::NoGradGuard no_grad;
    const auto split = [](const Tensor& leaf) {
      if (!leaf.defined()) {
        return leaf;
      }
      std::vector<int64_t> shape = leaf.sizes().vec();
      shape[0] = 3;
      shape.insert(shape.begin(), 2);
      return leaf.view(shape);
    };
    Observations steps;
    for (const Tensor& leaf : inputs.leaves) {
      steps.push_back(split(leaf));
    }
    ExtraInputs extra;
    for (const Tensor& input : inputs.extra) {
      extra.push_back(split(input));
    }
    const Output flat = Forward(*network, inputs.leaves, inputs.action, inputs.extra);
    const Output wide = Forward(*network, steps, split(inputs.action), extra);
    for (const HeadPlan& head : network->plan().heads) {
      const auto of = [&](const Output& output) {
        switch (head.kind) {
          case HeadKind::kQ:
          case HeadKind::kCategoricalQ:
          case HeadKind::kQuantileQ:
            return output.q(head.name);
          case HeadKind::kQuantiles:
            return output.quantiles(head.name);
          case HeadKind::kVector:
            return output.vector(head.name);
          case HeadKind::kValue:
            return output.value(head.name);
          default:
            return output.policy(head.name).Mode();
        }
      };
      const Tensor one = of(flat);
      const Tensor two = of(wide);
      std::vector<int64_t> shape = one.sizes().vec();
      const size_t rows = network->plan().members.has_value() ? 1 : 0;
      shape[rows] = 3;
      shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(rows), 2);
      REQUIRE(two.sizes().vec() == shape);
      CHECK(torch::allclose(two.to(torch::kFloat32), one.view(shape).to(torch::kFloat32)));
    }
  }
}

TEST_CASE("a missing head, or one of another kind, is an error that names both", "[unit]") {
  const auto network = testing::Build(Case({{"q", HeadKind::kQ}, {"value", HeadKind::kValue}}, Discrete("action", 4)));
  const Output output = Forward(*network, {torch::randn({2, 3})});
  CHECK_THROWS_AS(output.policy(), c10::Error);
  CHECK_THROWS_AS(output.atoms(), c10::Error);
  CHECK_THROWS_AS(output.quantiles(), c10::Error);
  CHECK_THROWS_AS(output.vector("q"), c10::Error);
  CHECK_THROWS_AS(output.q("Q"), c10::Error);
  CHECK_THROWS_AS(output.q("value"), c10::Error);
  CHECK_THROWS_AS(output.value("q"), c10::Error);
  CHECK_THROWS_AS(output.action("q"), c10::Error);
  CHECK_THROWS_AS(output.policy("q"), c10::Error);
  CHECK_THROWS_AS(output.policy("value"), c10::Error);
}

TEST_CASE("inputs that are missing, too many or without rows are errors", "[unit]") {
  NetworkCase network_case = Case({{"q", HeadKind::kQ}}, Discrete("action", 4), {}, {Vector(3), Mask(4)});
  const auto q = testing::Build(network_case);
  const Tensor mask = torch::ones({2, 4}, torch::kBool);
  CHECK_THROWS_AS(Forward(*q, {torch::randn({3}), mask}), c10::Error);
  CHECK_THROWS_AS(Forward(*q, {}), c10::Error);
  CHECK_THROWS_AS(Forward(*q, {Tensor(), mask}), c10::Error);
  CHECK_THROWS_AS(Forward(*q, {torch::randn({2, 3})}), c10::Error);
  CHECK_THROWS_AS(Forward(*q, {torch::randn({2, 3}), mask}, torch::randn({2, 2})), c10::Error);
  network_case = Case({{"q", HeadKind::kValue}}, kReal);
  network_case.need.takes_action = true;
  CHECK_THROWS_AS(Forward(*testing::Build(network_case), {torch::randn({2, 3})}), c10::Error);
}

std::unique_ptr<Net> MakeNet(const NetworkCase& network_case, bool has_target) {
  std::unique_ptr<Network> online = testing::Build(network_case);
  Net::Groups groups;
  groups[""] = testing::ValueOf(ParameterGroup::Create("net", &online->parameters(), OptimizerOptions()));
  std::unique_ptr<Network> target;
  if (has_target) {
    target = testing::Build(network_case, torch::kFloat32, 8, /*learns=*/false);
  }
  return std::make_unique<Net>(std::move(online), std::move(target), std::move(groups));
}

TEST_CASE("a target follows by a share, or copies", "[unit]") {
  const NetworkCase network_case = Case({{"q", HeadKind::kQ}}, Discrete("action", 4), 3);
  const std::unique_ptr<Net> net = MakeNet(network_case, /*has_target=*/true);
  const Observations observations = {torch::randn({2, 3})};
  const Tensor online = net->network().parameters().values();
  const Tensor target = net->target_network()->parameters().values();
  const Tensor first = target.clone();
  const Tensor own = online.clone();
  net->FollowTarget(0.25);
  CHECK(torch::allclose(target, 0.25 * own + 0.75 * first));
  net->FollowTarget(0.25);
  CHECK(torch::allclose(target, 0.4375 * own + 0.5625 * first));
  CHECK_FALSE(torch::allclose(net->target()(observations).q(), (*net)(observations).q()));
  net->FollowTarget(1);
  CHECK(torch::equal(target, own));
  CHECK(torch::equal(online, own));
  CHECK(torch::equal(net->target()(observations).q(), (*net)(observations).q()));
}

TEST_CASE("gradients flow through a target to its inputs alone", "[unit]") {
  NetworkCase network_case = Case({{"q", HeadKind::kValue}}, kReal);
  network_case.need.takes_action = true;
  const std::unique_ptr<Net> net = MakeNet(network_case, /*has_target=*/true);
  const Tensor action = torch::randn({2, 2}).requires_grad_();
  net->target()({torch::randn({2, 3})}, action).value("q").sum().backward();
  CHECK(action.grad().abs().max().item<double>() > 0);
  CHECK(net->group()->gradients().abs().max().item<double>() == 0);
  CHECK_FALSE(net->target()({torch::randn({2, 3})}, action.detach()).value("q").requires_grad());
  (*net)({torch::randn({2, 3})}, action.detach()).value("q").sum().backward();
  CHECK(net->group()->gradients().abs().max().item<double>() > 0);
}

TEST_CASE("without a target the network itself answers, and nothing follows", "[unit]") {
  const std::unique_ptr<Net> net = MakeNet(Case({{"q", HeadKind::kQ}}, Discrete("action", 4)), /*has_target=*/false);
  const Observations observations = {torch::randn({2, 3})};
  const Tensor own = net->network().parameters().values().clone();
  CHECK(net->target_network() == nullptr);
  net->FollowTarget(0.5);
  CHECK(torch::equal(net->network().parameters().values(), own));
  CHECK(torch::equal(net->target()(observations).q(), (*net)(observations).q()));
}

TEST_CASE("a network with a core is unrolled over time, or for a step, and its target alike", "[unit]") {
  NetworkCase network_case = Case({{"policy", HeadKind::kCategorical}, {"value", HeadKind::kValue}},
                                  Discrete("action", 4), {}, {Vector(3), Mask(4)});
  network_case.spec.core.type = "lstm";
  network_case.spec.core.units = 2;
  const std::unique_ptr<Net> net = MakeNet(network_case, /*has_target=*/true);
  const Observations steps = {torch::randn({5, 2, 3}), torch::rand({5, 2, 4}) < 0.7};
  const Tensor first = torch::rand({5, 2}) < 0.3;
  const Tensor state = torch::randn({2, 4});
  const Output online = net->Unroll(steps, first, state);
  CHECK(online.value().sizes() == c10::IntArrayRef({5, 2}));
  CHECK(online.policy().LogProbabilities().sizes() == c10::IntArrayRef({5, 2, 4}));
  CHECK(online.core_state().sizes() == c10::IntArrayRef({2, 4}));
  CHECK(torch::equal(online.mask(), steps[1]));
  Tensor now = state;
  for (int64_t t = 0; t < 5; ++t) {
    const Output step = net->Unroll({steps[0][t], steps[1][t]}, first[t], now);
    CHECK(Same(step.value(), online.value()[t]));
    now = step.core_state();
  }
  CHECK(Same(now, online.core_state()));
  const Output target = net->target().Unroll(steps, first, state);
  CHECK_FALSE(target.value().requires_grad());
  CHECK_FALSE(Same(target.value(), online.value()));
  net->FollowTarget(1);
  CHECK(torch::equal(net->target().Unroll(steps, first, state).value(), online.value()));
  CHECK_THROWS_AS((*net)(steps), c10::Error);
  CHECK_THROWS_AS(net->target()(steps), c10::Error);
}

TEST_CASE("a network without a core is unrolled as it is called", "[unit]") {
  const std::unique_ptr<Net> net = MakeNet(Case({{"q", HeadKind::kQ}}, Discrete("action", 4), 3), /*has_target=*/true);
  const Observations steps = {torch::randn({5, 2, 3})};
  CHECK(torch::equal(net->Unroll(steps, {}, {}).q(), (*net)(steps).q()));
  CHECK(torch::equal(net->Unroll(steps, torch::ones({5, 2}, torch::kBool), {}).q(), (*net)(steps).q()));
  CHECK(torch::equal(net->target().Unroll(steps, {}, {}).q(), net->target()(steps).q()));
  CHECK_FALSE(net->Unroll(steps, {}, {}).core_state().defined());
}

}  // namespace
}  // namespace waggle
