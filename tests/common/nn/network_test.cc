#include "common/nn/network.h"

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/finite_differences.h"
#include "tests/support/network_inputs.h"
#include "tests/support/networks.h"

namespace waggle {
namespace {

using testing::Build;
using testing::LossOf;
using testing::NetworkCase;
using testing::NetworkInputs;
using testing::RandomInputs;
using testing::UnrollInputs;
using torch::Tensor;

NetworkCase Case(const std::string& name) {
  for (NetworkCase& network : testing::NetworkCases()) {
    if (network.name == name) {
      return network;
    }
  }
  FAIL("no case named " << name);
  return {};
}

void CheckClose(const Tensor& got, const Tensor& wanted) {
  REQUIRE(got.sizes() == wanted.sizes());
  const double tolerance = wanted.scalar_type() == torch::kFloat64 ? 1e-12 : 1e-5;
  CHECK((got - wanted).abs().max().item<double>() <= tolerance * (1 + wanted.abs().max().item<double>()));
}

// No initialisation gives these values, so that every parameter counts.
void Randomize(Network* network) {
  torch::manual_seed(11);
  network->parameters().values().normal_(0, 0.5);
}

Tensor RandomLike(const Tensor& like) {
  return torch::randn_like(like);
}

TEST_CASE("every network has the parameters and the outputs that were planned", "[unit]") {
  for (const NetworkCase& network_case : testing::NetworkCases()) {
    INFO(network_case.name);
    const NetworkPlan plan = testing::PlanOf(network_case);
    const std::unique_ptr<Network> network = Build(network_case);
    CHECK(network->parameters().size() == plan.num_parameters);
    CHECK((network->parameters().layout() == plan.parameters));
    const NetworkInputs inputs = RandomInputs(network_case, 5, torch::kFloat32);
    const std::vector<Network::HeadOutput> outputs = network->Forward(inputs.leaves, inputs.action, inputs.extra);
    REQUIRE(outputs.size() == plan.heads.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
      std::vector<int64_t> shape = {5, plan.heads[i].outputs};
      if (plan.members.has_value()) {
        shape.insert(shape.begin(), *plan.members);
      }
      CHECK(outputs[i].values.sizes().vec() == shape);
      CHECK(torch::isfinite(outputs[i].values).all().item<bool>());
      REQUIRE(outputs[i].log_std.defined() == (plan.heads[i].free_log_std >= 0));
      if (outputs[i].log_std.defined()) {
        const std::vector<int64_t>& free = plan.parameters[static_cast<size_t>(plan.heads[i].free_log_std)].shape;
        CHECK(outputs[i].log_std.sizes().vec() == free);
        CHECK(torch::allclose(outputs[i].log_std.exp(), torch::full(free, 0.5F)));
      }
    }
  }
}

TEST_CASE("every network has the outputs and the gradients that autograd has", "[unit]") {
  for (const NetworkCase& network_case : testing::NetworkCases()) {
    for (const auto dtype : {torch::kFloat32, torch::kFloat64}) {
      const std::unique_ptr<Network> network = Build(network_case, dtype);
      Randomize(network.get());
      network->SetNoise(RandomLike);
      for (const int64_t rows : {1, 7}) {
        INFO(network_case.name << " " << dtype << " rows " << rows);
        const auto pass = [&](ForwardPass kind) {
          const NetworkInputs inputs = RandomInputs(network_case, rows, dtype);
          network->parameters().gradients().zero_();
          const std::vector<Network::HeadOutput> outputs =
              network->Forward(inputs.leaves, inputs.action, inputs.extra, kind);
          LossOf(outputs).backward();
          std::vector<Tensor> result = {network->parameters().gradients().clone()};
          for (const Network::HeadOutput& output : outputs) {
            result.push_back(output.values.detach());
          }
          for (const Tensor& input : inputs.Differentiable()) {
            REQUIRE(input.grad().defined());
            result.push_back(input.grad());
          }
          return result;
        };
        const std::vector<Tensor> wanted = pass(ForwardPass::kByAutograd);
        const std::vector<Tensor> got = pass(ForwardPass::kPlain);
        REQUIRE(got.size() == wanted.size());
        for (size_t i = 0; i < got.size(); ++i) {
          CheckClose(got[i], wanted[i]);
        }
      }
    }
  }
}

TEST_CASE("every network's gradients are those of finite differences", "[unit]") {
  for (const NetworkCase& network_case : testing::NetworkCases()) {
    INFO(network_case.name);
    const std::unique_ptr<Network> network = Build(network_case, torch::kFloat64);
    Randomize(network.get());
    network->SetNoise(RandomLike);
    const NetworkInputs inputs = RandomInputs(network_case, 2, torch::kFloat64);
    LossOf(network->Forward(inputs.leaves, inputs.action, inputs.extra)).backward();
    const auto check = [&](const Tensor& values, const Tensor& gradients) {
      testing::CheckFiniteDifferences(
          values, gradients,
          [&] { return LossOf(network->Forward(inputs.leaves, inputs.action, inputs.extra)).item<double>(); },
          1e-6 * (1 + gradients.abs().max().item<double>()));
    };
    check(network->parameters().values(), network->parameters().gradients());
    for (const Tensor& input : inputs.Differentiable()) {
      check(input, input.grad().contiguous());
    }
  }
}

TEST_CASE("a loss's gradients reach only the requested leaves", "[unit]") {
  for (const NetworkCase& network_case : testing::NetworkCases()) {
    INFO(network_case.name);
    const std::unique_ptr<Network> one = Build(network_case);
    const std::unique_ptr<Network> other = Build(network_case, torch::kFloat32, 8);
    const NetworkInputs inputs = RandomInputs(network_case, 3, torch::kFloat32);
    const auto loss = [&](const Network& network) {
      return LossOf(network.Forward(inputs.leaves, inputs.action, inputs.extra));
    };
    loss(*one).backward();
    const Tensor wanted = one->parameters().gradients().clone();
    one->parameters().gradients().zero_();
    other->parameters().gradients().normal_();
    const Tensor untouched = other->parameters().gradients().clone();
    torch::autograd::backward({loss(*one) + loss(*other)}, {}, c10::nullopt, false, one->parameters().leaves());
    CHECK(torch::equal(other->parameters().gradients(), untouched));
    CHECK(torch::allclose(one->parameters().gradients(), wanted));
  }
}

TEST_CASE("an actor learns through a critic whose gradients do not change", "[unit]") {
  const NetworkCase actor_case = Case("a deterministic head");
  for (const char* members : {"", "; members: 1", "; members: 3"}) {
    const NetworkCase critic_case = Case(std::string("a critic") + members);
    const std::unique_ptr<Network> actor = Build(actor_case, torch::kFloat64);
    const std::unique_ptr<Network> critic = Build(critic_case, torch::kFloat64, 9);
    const NetworkInputs inputs = RandomInputs(actor_case, 4, torch::kFloat64);
    critic->parameters().gradients().normal_();
    const Tensor untouched = critic->parameters().gradients().clone();
    const auto gradients = [&](ForwardPass kind) {
      actor->parameters().gradients().zero_();
      const Tensor action = actor->Forward(inputs.leaves, {}, {}, kind)[0].values.tanh();
      const Tensor loss = critic->Forward(inputs.leaves, action, {}, kind)[0].values.sum();
      torch::autograd::backward({loss}, {}, c10::nullopt, false, actor->parameters().leaves());
      return actor->parameters().gradients().clone();
    };
    const Tensor got = gradients(ForwardPass::kPlain);
    CHECK(got.abs().max().item<double>() > 0);
    CHECK(torch::equal(critic->parameters().gradients(), untouched));
    CheckClose(got, gradients(ForwardPass::kByAutograd));
  }
}

TEST_CASE("a network that does not learn has the same outputs, and passes gradients on to its inputs", "[unit]") {
  for (const NetworkCase& network_case : testing::NetworkCases()) {
    INFO(network_case.name);
    const std::unique_ptr<Network> learns = Build(network_case);
    const std::unique_ptr<Network> acts = Build(network_case, torch::kFloat32, 7, /*learns=*/false);
    CHECK(torch::equal(learns->parameters().values(), acts->parameters().values()));
    CHECK_FALSE(acts->parameters().gradients().defined());
    CHECK(acts->parameters().leaves().empty());
    const NetworkInputs a = RandomInputs(network_case, 3, torch::kFloat32);
    const NetworkInputs b = RandomInputs(network_case, 3, torch::kFloat32);
    const Tensor wanted = LossOf(learns->Forward(a.leaves, a.action, a.extra));
    const Tensor got = LossOf(acts->Forward(b.leaves, b.action, b.extra));
    CHECK(torch::equal(got, wanted));
    const std::vector<Tensor> inputs = b.Differentiable();
    REQUIRE(got.requires_grad() == !inputs.empty());
    if (!inputs.empty()) {
      wanted.backward();
      got.backward();
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      CHECK(torch::allclose(inputs[i].grad(), a.Differentiable()[i].grad()));
    }
  }
}

TEST_CASE("a parameter that changes between a network's pass and the descent is an error", "[unit]") {
  for (const NetworkCase& network_case : testing::NetworkCases()) {
    INFO(network_case.name);
    const std::unique_ptr<Network> network = Build(network_case);
    const NetworkInputs inputs = RandomInputs(network_case, 3, torch::kFloat32);
    const Tensor loss = LossOf(network->Forward(inputs.leaves, inputs.action, inputs.extra));
    network->parameters().values().mul_(0.9);
    CHECK_THROWS_AS(loss.backward(), c10::Error);
    const Tensor again = LossOf(network->Forward(inputs.leaves, inputs.action, inputs.extra));
    again.backward();
    CHECK_THROWS(again.backward());
  }
}

TEST_CASE("each member computes as a network without members that has its values", "[unit]") {
  for (const NetworkCase& network_case : testing::NetworkCases()) {
    if (!network_case.need.members.has_value()) {
      continue;
    }
    INFO(network_case.name);
    NetworkCase alone = network_case;
    alone.need.members.reset();
    const std::unique_ptr<Network> network = Build(network_case, torch::kFloat64);
    Randomize(network.get());
    const std::unique_ptr<Network> one = Build(alone, torch::kFloat64);
    const NetworkInputs inputs = RandomInputs(network_case, 4, torch::kFloat64);
    const torch::NoGradGuard no_grad;
    const std::vector<Network::HeadOutput> outputs = network->Forward(inputs.leaves, inputs.action, inputs.extra);
    for (int64_t m = 0; m < *network_case.need.members; ++m) {
      for (size_t i = 0; i < one->parameters().value_views().size(); ++i) {
        one->parameters().value_views()[i].copy_(network->parameters().value_views()[i].select(0, m));
      }
      const std::vector<Network::HeadOutput> own = one->Forward(inputs.leaves, inputs.action, inputs.extra);
      for (size_t i = 0; i < own.size(); ++i) {
        CheckClose(outputs[i].values[m], own[i].values);
        if (own[i].log_std.defined()) {
          CHECK(torch::equal(outputs[i].log_std[m], own[i].log_std));
        }
      }
    }
  }
}

TEST_CASE("the same seed builds the same network, another seed another, and each member begins differently", "[unit]") {
  for (const NetworkCase& network_case : testing::NetworkCases()) {
    INFO(network_case.name);
    const Tensor values = Build(network_case)->parameters().values();
    CHECK(torch::equal(values, Build(network_case)->parameters().values()));
    // Except for rounding: logarithms are float64's own.
    CHECK(torch::allclose(values.to(torch::kFloat64), Build(network_case, torch::kFloat64)->parameters().values()));
    CHECK_FALSE(torch::equal(values, Build(network_case, torch::kFloat32, 8)->parameters().values()));
    if (!network_case.need.members.has_value()) {
      continue;
    }
    NetworkCase alone = network_case;
    alone.need.members.reset();
    const std::unique_ptr<Network> network = Build(network_case);
    const std::unique_ptr<Network> one = Build(alone);
    for (size_t i = 0; i < one->parameters().value_views().size(); ++i) {
      const ArraySpec& parameter = network->parameters().layout()[i];
      INFO(parameter.name);
      const Tensor& members = network->parameters().value_views()[i];
      CHECK(torch::equal(members[0], one->parameters().value_views()[i]));
      const bool drawn = (members[0].max() > members[0].min()).item<bool>();
      for (int64_t m = 1; drawn && m < *network_case.need.members; ++m) {
        CHECK_FALSE(torch::equal(members[m], members[m - 1]));
      }
    }
  }
}

TEST_CASE("bytes are scaled to between 0 and 1, and yes is 1", "[unit]") {
  NetworkCase network_case{
      "",
      {},
      {},
      testing::Environment({Box("observation/a", DType::kUint8, {3}), MultiBinary("observation/b", {2})},
                           Discrete("action", 2))};
  network_case.need = {"net", {{"q", HeadKind::kQ}}};
  network_case.spec.torso = {};
  const std::unique_ptr<Network> network = Build(network_case);
  const Tensor& weight = network->parameters().value_views()[0];
  const Tensor& bias = network->parameters().value_views()[1];
  const Tensor bytes = torch::tensor({0, 51, 255}, torch::kUInt8).view({1, 3});
  const Tensor lamps = torch::tensor({0, 1}, torch::kInt64).to(torch::kBool).view({1, 2});
  const Tensor wanted = torch::linear(torch::tensor({{0.0F, 0.2F, 1.0F, 0.0F, 1.0F}}), weight, bias);
  CHECK(torch::allclose(network->Forward({bytes, lamps})[0].values, wanted));
}

TEST_CASE("a dueling head is the value plus the advantages less their mean", "[unit]") {
  NetworkCase network_case = Case("a dueling head alone");
  network_case.environment.observations = {testing::Vector(2)};
  network_case.spec.heads["q"].units = {};
  const std::unique_ptr<Network> network = Build(network_case);
  const torch::NoGradGuard no_grad;
  const std::vector<Tensor>& values = network->parameters().value_views();
  values[0].copy_(torch::tensor({{1.0F, 2.0F}}));
  values[1].fill_(10);
  values[2].copy_(torch::tensor({{1.0F, 0.0F}, {0.0F, 1.0F}, {0.0F, 0.0F}}));
  values[3].zero_();
  // V = 1 * 3 + 2 * 6 + 10 = 25; A = (3, 6, 0), whose mean is 3.
  const Tensor outputs = network->Forward({torch::tensor({{3.0F, 6.0F}})})[0].values;
  CHECK(torch::allclose(outputs, torch::tensor({{25.0F, 28.0F, 22.0F}})));
}

TEST_CASE("a dueling head of atoms takes the mean of advantages over choices, atom by atom", "[unit]") {
  NetworkCase network_case = Case("a dueling head of atoms");
  const std::unique_ptr<Network> network = Build(network_case, torch::kFloat64);
  Randomize(network.get());
  const NetworkInputs inputs = RandomInputs(network_case, 2, torch::kFloat64);
  const torch::NoGradGuard no_grad;
  const Tensor atoms = network->Forward(inputs.leaves)[0].values.view({2, 3, 4});
  network_case.need.heads = {{"value", HeadNeed(HeadKind::kVector, 4)}};
  network_case.spec.heads = {{"value", testing::Head("vector", {3}, "tanh")}};
  const std::unique_ptr<Network> value = Build(network_case, torch::kFloat64);
  // The torso's and the value stream's parameters come first.
  value->parameters().values().copy_(network->parameters().values().narrow(0, 0, value->parameters().size()));
  CheckClose(atoms.mean(1), value->Forward(inputs.leaves)[0].values);
}

TEST_CASE("a noisy layer's weights are their means without noise, and else move by its factors", "[unit]") {
  NetworkCase network_case = Case("mlp none");
  network_case.spec.torso = {};
  network_case.spec.heads = {{"q", testing::Head("q")}};
  network_case.spec.heads["q"].noise = 0.5;
  const std::unique_ptr<Network> network = Build(network_case);
  CHECK(network->noisy());
  CHECK_FALSE(Build(Case("mlp none"))->noisy());
  const std::vector<Tensor>& values = network->parameters().value_views();
  REQUIRE(values.size() == 4);
  CHECK(torch::allclose(values[2], torch::full({3, 3}, 0.5F / std::sqrt(3.0F))));
  CHECK(torch::allclose(values[3], torch::full({3}, 0.5F / std::sqrt(3.0F))));
  Randomize(network.get());
  const torch::NoGradGuard no_grad;
  const Tensor input = torch::tensor({{1.0F, 2.0F, 3.0F}});
  const Tensor mean = torch::linear(input, values[0], values[1]);
  CHECK(torch::allclose(network->Forward({input})[0].values, mean));
  // f(x) = sgn(x) sqrt |x| of the numbers that are drawn: 4 for each input, then -9 for each output.
  float next = 4;
  network->SetNoise([&](const Tensor& like) { return torch::full_like(like, std::exchange(next, -9.0F)); });
  const Tensor noise = torch::full({3}, -3.0F);
  const Tensor weight = values[0] + values[2] * noise.unsqueeze(1) * 2;
  CHECK(torch::allclose(network->Forward({input})[0].values,
                        torch::linear(input, weight, values[1] + values[3] * noise), 1e-4, 1e-4));
  network->SetNoise(nullptr);
  CHECK(torch::allclose(network->Forward({input})[0].values, mean));
}

TEST_CASE("samples of an input that multiplies are rows of their own with the same observation", "[unit]") {
  const NetworkCase network_case = Case("an algorithm's own inputs");
  const std::unique_ptr<Network> network = Build(network_case, torch::kFloat64);
  const NetworkInputs inputs = RandomInputs(network_case, 4, torch::kFloat64);
  const Tensor fractions = torch::randn({4, 3, 5}, torch::kFloat64);
  const torch::NoGradGuard no_grad;
  const Tensor all = network->Forward(inputs.leaves, {}, {fractions, inputs.extra[1]})[0].values.view({4, 3, 3});
  for (int64_t sample = 0; sample < 3; ++sample) {
    const Tensor one = network->Forward(inputs.leaves, {}, {fractions.select(1, sample), inputs.extra[1]})[0].values;
    CheckClose(all.select(1, sample), one);
  }
}

TEST_CASE("encoders' outputs stand one after the other, or are added", "[unit]") {
  NetworkCase network_case{
      "",
      {"net", {{"value", HeadKind::kValue}}},
      {},
      testing::Environment({Box("observation/a", DType::kFloat32, {2}), Discrete("observation/b", 2)},
                           Discrete("action", 2))};
  network_case.spec.torso = {};
  for (const char* join : {"concat", "sum"}) {
    network_case.spec.join = join;
    const std::unique_ptr<Network> network = Build(network_case);
    const Tensor a = torch::tensor({{3.0F, 4.0F}});
    const Tensor b = torch::tensor({1}, torch::kInt64);
    const Tensor joined =
        network_case.spec.join == "sum" ? torch::tensor({{3.0F, 5.0F}}) : torch::tensor({{3.0F, 4.0F, 0.0F, 1.0F}});
    const std::vector<Tensor>& values = network->parameters().value_views();
    CHECK(torch::allclose(network->Forward({a, b})[0].values, torch::linear(joined, values[0], values[1])));
  }
}

// The inputs of one step of an unroll.
NetworkInputs Step(const NetworkInputs& inputs, int64_t step, int64_t rows) {
  NetworkInputs own;
  for (const Tensor& leaf : inputs.leaves) {
    own.leaves.push_back(leaf.narrow(0, step * rows, rows));
  }
  own.action = inputs.action.defined() ? inputs.action.narrow(0, step * rows, rows) : Tensor();
  return own;
}

Network::Unrolled Unroll(const Network& network, const UnrollInputs& unroll, ForwardPass pass = ForwardPass::kPlain) {
  return network.Unroll(unroll.inputs.leaves, unroll.first, unroll.state, unroll.inputs.action, unroll.inputs.extra,
                        pass);
}

Tensor LossOf(const Network::Unrolled& unrolled) {
  return LossOf(unrolled.heads) + (unrolled.state * unrolled.state.detach().sin()).sum();
}

TEST_CASE("an unroll is its steps one by one, each from the state after the one before or from zero", "[unit]") {
  constexpr int64_t kSteps = 4;
  constexpr int64_t kRows = 3;
  for (const NetworkCase& network_case : testing::RecurrentNetworkCases()) {
    INFO(network_case.name);
    const std::unique_ptr<Network> network = Build(network_case, torch::kFloat64);
    Randomize(network.get());
    const NetworkPlan& plan = network->plan();
    const UnrollInputs unroll = testing::RandomUnroll(network_case, plan.state_size, kSteps, kRows, torch::kFloat64);
    const torch::NoGradGuard no_grad;
    const Network::Unrolled all = Unroll(*network, unroll);
    REQUIRE(all.state.sizes() == c10::IntArrayRef({kRows, plan.state_size}));
    Tensor state = unroll.state;
    for (int64_t t = 0; t < kSteps; ++t) {
      state = state.masked_fill(unroll.first[t].unsqueeze(1), 0);
      const NetworkInputs step = Step(unroll.inputs, t, kRows);
      const Network::Unrolled one = network->Unroll(step.leaves, {}, state, step.action);
      for (size_t i = 0; i < plan.heads.size(); ++i) {
        CheckClose(all.heads[i].values.narrow(-2, t * kRows, kRows), one.heads[i].values);
      }
      state = one.state;
    }
    CheckClose(all.state, state);
  }
}

TEST_CASE("every recurrent network's gradients are those of finite differences and of autograd", "[unit]") {
  for (const NetworkCase& network_case : testing::RecurrentNetworkCases()) {
    INFO(network_case.name);
    const std::unique_ptr<Network> network = Build(network_case, torch::kFloat64);
    Randomize(network.get());
    const UnrollInputs unroll = testing::RandomUnroll(network_case, network->plan().state_size, 3, 2, torch::kFloat64);
    LossOf(Unroll(*network, unroll, ForwardPass::kByAutograd)).backward();
    const Tensor wanted = network->parameters().gradients().clone();
    const Tensor wanted_state = unroll.state.grad().clone();
    network->parameters().gradients().zero_();
    unroll.state.mutable_grad().reset();
    const Network::Unrolled unrolled = Unroll(*network, unroll);
    const Tensor weights = unrolled.state.detach().sin();
    LossOf(unrolled).backward();
    CheckClose(network->parameters().gradients(), wanted);
    CheckClose(unroll.state.grad(), wanted_state);
    const torch::NoGradGuard no_grad;
    const auto loss = [&] {
      const Network::Unrolled again = Unroll(*network, unroll);
      return (LossOf(again.heads) + (again.state * weights).sum()).item<double>();
    };
    const auto check = [&](const Tensor& values, const Tensor& gradients) {
      testing::CheckFiniteDifferences(values, gradients, loss, 2e-6);
    };
    check(network->parameters().values(), network->parameters().gradients());
    check(unroll.state, unroll.state.grad());
  }
}

TEST_CASE("a recurrent network's parameters and outputs are the same for the same seed, learning or not", "[unit]") {
  for (const NetworkCase& network_case : testing::RecurrentNetworkCases()) {
    INFO(network_case.name);
    const std::unique_ptr<Network> network = Build(network_case);
    CHECK_FALSE((network->parameters().values() == 0).all().item<bool>());
    const std::unique_ptr<Network> acts = Build(network_case, torch::kFloat32, 7, /*learns=*/false);
    CHECK(torch::equal(network->parameters().values(), acts->parameters().values()));
    CHECK_FALSE(
        torch::equal(network->parameters().values(), Build(network_case, torch::kFloat32, 8)->parameters().values()));
    const UnrollInputs unroll = testing::RandomUnroll(network_case, network->plan().state_size, 2, 3, torch::kFloat32);
    const Network::Unrolled one = Unroll(*network, unroll);
    const Network::Unrolled other = Unroll(*acts, unroll);
    CHECK(torch::equal(one.heads[0].values, other.heads[0].values));
    CHECK(torch::equal(one.state, other.state));
  }
}

TEST_CASE("a network without a core gives back the state that an unroll was given", "[unit]") {
  const NetworkCase network_case = Case("mlp tanh");
  const std::unique_ptr<Network> network = Build(network_case);
  const NetworkInputs inputs = RandomInputs(network_case, 6, torch::kFloat32);
  const Tensor state = torch::randn({2, 4});
  const Network::Unrolled unrolled = network->Unroll(inputs.leaves, torch::ones({3, 2}, torch::kBool), state);
  CHECK(torch::equal(unrolled.heads[0].values, network->Forward(inputs.leaves)[0].values));
  CHECK(torch::equal(unrolled.state, state));
  CHECK_FALSE(network->Unroll(inputs.leaves, {}, {}).state.defined());
}

TEST_CASE("an unroll without a state, or with a state of other rows, is an error", "[unit]") {
  NetworkCase network_case = Case("mlp tanh");
  network_case.spec.core.type = "gru";
  const std::unique_ptr<Network> network = Build(network_case);
  const std::vector<Tensor> leaves = {torch::randn({6, 3})};
  CHECK_THROWS_AS(network->Forward(leaves), c10::Error);
  CHECK_THROWS_AS(network->Unroll(leaves, {}, {}), c10::Error);
  CHECK_THROWS_AS(network->Unroll(leaves, {}, torch::zeros({6, 63})), c10::Error);
  CHECK_THROWS_AS(network->Unroll(leaves, {}, torch::zeros({4, 64})), c10::Error);
  CHECK_THROWS_AS(network->Unroll(leaves, torch::zeros({2, 2}, torch::kBool), torch::zeros({3, 64})), c10::Error);
}

}  // namespace
}  // namespace waggle
