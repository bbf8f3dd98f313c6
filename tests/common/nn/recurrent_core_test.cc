#include "common/nn/recurrent_core.h"

#include <torch/nn.h>

#include <cmath>
#include <memory>
#include <vector>

#include "tests/support/catch.h"

namespace waggle {
namespace {

using torch::Tensor;

constexpr int64_t kInputs = 3;
constexpr int64_t kUnits = 4;
constexpr int64_t kSteps = 5;
constexpr int64_t kRows = 2;

// A core with random parameters, and its inputs.
struct Fixture {
  explicit Fixture(CorePlan::Kind kind, torch::ScalarType dtype = torch::kFloat64) {
    plan.kind = kind;
    plan.units = kUnits;
    plan.weight = 0;
    const int64_t gates = plan.gates() * kUnits;
    parameters = std::make_unique<FlatParameters>(testing::ValueOf(FlatParameters::Create(
        {ArraySpec{"weight_ih_l0", DType::kFloat32, {gates, kInputs}},
         ArraySpec{"weight_hh_l0", DType::kFloat32, {gates, kUnits}}, ArraySpec{"bias_ih_l0", DType::kFloat32, {gates}},
         ArraySpec{"bias_hh_l0", DType::kFloat32, {gates}}},
        torch::kCPU, dtype)));
    core = std::make_unique<RecurrentCore>(plan, /*learns=*/true, parameters.get());
    torch::manual_seed(5);
    parameters->values().normal_(0, 0.7);
    features = torch::randn({kSteps * kRows, kInputs}, dtype).requires_grad_();
    state = torch::randn({kRows, plan.state_size()}, dtype).requires_grad_();
    first = torch::zeros({kSteps, kRows}, torch::kBool);
    first[0][1] = true;
    first[2][0] = true;
    first[4][0] = true;
  }

  RecurrentCore::Unrolled Run(const Tensor& begins) const { return (*core)(features, begins, state); }

  CorePlan plan;
  std::unique_ptr<FlatParameters> parameters;
  std::unique_ptr<RecurrentCore> core;
  Tensor features, state, first;
};

const CorePlan::Kind kKinds[] = {CorePlan::Kind::kLstm, CorePlan::Kind::kGru};

// A number that depends on all outputs.
Tensor LossOf(const RecurrentCore::Unrolled& unrolled) {
  const auto part = [](const Tensor& values) {
    return (values.flatten() * torch::arange(1, values.numel() + 1, values.options()).sin()).sum() +
           values.square().sum() / 4;
  };
  return part(unrolled.outputs) + part(unrolled.state);
}

bool Same(const Tensor& a, const Tensor& b) {
  return a.sizes() == b.sizes() && torch::allclose(a, b, 1e-10, 1e-12);
}

// The outputs [T, rows, units] and the state of LibTorch's own module, with the same parameters.
template <class Module, class Call>
RecurrentCore::Unrolled ByModule(const Fixture& fixture, Module* module, const Call& call) {
  (*module)->to(torch::kFloat64);
  torch::NoGradGuard no_grad;
  for (const ArraySpec& parameter : fixture.parameters->layout()) {
    const size_t i = static_cast<size_t>(&parameter - fixture.parameters->layout().data());
    (*module)->named_parameters()[parameter.name].copy_(fixture.parameters->value_views()[i]);
  }
  torch::AutoGradMode grad(true);
  return call();
}

TEST_CASE("a core has the outputs and the gradients of LibTorch's module", "[unit]") {
  for (const CorePlan::Kind kind : kKinds) {
    Fixture fixture(kind);
    const RecurrentCore::Unrolled got = fixture.Run({});
    LossOf(got).backward();
    const Tensor features = fixture.features.detach().clone().requires_grad_();
    const Tensor state = fixture.state.detach().clone().requires_grad_();
    const Tensor steps = features.view({kSteps, kRows, kInputs});
    const Tensor h = state.narrow(1, 0, kUnits).unsqueeze(0).contiguous();
    RecurrentCore::Unrolled wanted;
    std::vector<Tensor> gradients;
    const auto finish = [&](auto& module) {
      LossOf(wanted).backward();
      for (const ArraySpec& parameter : fixture.parameters->layout()) {
        gradients.push_back(module->named_parameters()[parameter.name].grad());
      }
    };
    if (kind == CorePlan::Kind::kLstm) {
      torch::nn::LSTM module(kInputs, kUnits);
      wanted = ByModule(fixture, &module, [&] {
        const Tensor c = state.narrow(1, kUnits, kUnits).unsqueeze(0).contiguous();
        const auto [outputs, last] = module->forward(steps, std::make_tuple(h, c));
        return RecurrentCore::Unrolled{outputs.flatten(0, 1),
                                       torch::cat({std::get<0>(last)[0], std::get<1>(last)[0]}, 1)};
      });
      finish(module);
    } else {
      torch::nn::GRU module(kInputs, kUnits);
      wanted = ByModule(fixture, &module, [&] {
        const auto [outputs, last] = module->forward(steps, h);
        return RecurrentCore::Unrolled{outputs.flatten(0, 1), last[0]};
      });
      finish(module);
    }
    CHECK(Same(got.outputs, wanted.outputs));
    CHECK(Same(got.state, wanted.state));
    CHECK(Same(fixture.features.grad(), features.grad()));
    CHECK(Same(fixture.state.grad(), state.grad()));
    for (size_t i = 0; i < gradients.size(); ++i) {
      CHECK(Same(fixture.parameters->gradient_views()[i], gradients[i]));
    }
  }
}

TEST_CASE("a core has autograd's outputs and gradients, whichever of them are wanted", "[unit]") {
  for (const CorePlan::Kind kind : kKinds) {
    for (const auto dtype : {torch::kFloat32, torch::kFloat64}) {
      // For outputs, for the state after the last step, and for both.
      for (const std::vector<double>& shares : {std::vector<double>{1, 0}, {0, 1}, {1, 0.5}}) {
        const auto pass = [&](bool by_autograd) {
          const Fixture fixture(kind, dtype);
          const RecurrentCore::Unrolled unrolled =
              by_autograd ? fixture.core->ByAutograd(fixture.features, fixture.first, fixture.state)
                          : fixture.Run(fixture.first);
          Tensor loss = torch::zeros({}, dtype);
          if (shares[0] != 0) {
            loss = loss + shares[0] * (unrolled.outputs * unrolled.outputs.detach().exp()).sum();
          }
          if (shares[1] != 0) {
            loss = loss + shares[1] * (unrolled.state * unrolled.state.detach().exp()).sum();
          }
          loss.backward();
          return std::vector<Tensor>{unrolled.outputs.detach(), unrolled.state.detach(),
                                     fixture.parameters->gradients(), fixture.features.grad(), fixture.state.grad()};
        };
        const std::vector<Tensor> wanted = pass(true);
        const std::vector<Tensor> got = pass(false);
        const double tolerance = dtype == torch::kFloat64 ? 1e-12 : 1e-5;
        for (size_t i = 0; i < wanted.size(); ++i) {
          REQUIRE(got[i].sizes() == wanted[i].sizes());
          CHECK((got[i] - wanted[i]).abs().max().item<double>() <=
                tolerance * (1 + wanted[i].abs().max().item<double>()));
        }
      }
    }
  }
}

TEST_CASE("gradients through a core reach only the requested tensors", "[unit]") {
  for (const CorePlan::Kind kind : kKinds) {
    const Fixture fixture(kind);
    fixture.parameters->gradients().normal_();
    const Tensor untouched = fixture.parameters->gradients().clone();
    torch::autograd::backward({LossOf(fixture.Run(fixture.first))}, {}, c10::nullopt, false, {fixture.state});
    CHECK(torch::equal(fixture.parameters->gradients(), untouched));
    CHECK(fixture.state.grad().defined());
    CHECK_FALSE(fixture.features.grad().defined());
    // A core that does not learn passes gradients on.
    const RecurrentCore acts(fixture.plan, /*learns=*/false, fixture.parameters.get());
    LossOf(acts(fixture.features, fixture.first, fixture.state)).backward();
    CHECK(torch::equal(fixture.parameters->gradients(), untouched));
    CHECK(fixture.features.grad().abs().max().item<double>() > 0);
    CHECK_FALSE(acts(fixture.features.detach(), {}, fixture.state.detach()).outputs.requires_grad());
  }
}

TEST_CASE("a core's parameters must not change before its gradients are taken, once", "[unit]") {
  for (const CorePlan::Kind kind : kKinds) {
    const Fixture fixture(kind);
    const Tensor loss = LossOf(fixture.Run({}));
    fixture.parameters->values().mul_(0.9);
    CHECK_THROWS_AS(loss.backward(), c10::Error);
    const Tensor again = LossOf(fixture.Run({}));
    again.backward();
    CHECK_THROWS(again.backward());
  }
}

TEST_CASE("an episode begins from zero whatever the state was, even NaN", "[unit]") {
  for (const CorePlan::Kind kind : kKinds) {
    const Fixture fixture(kind, torch::kFloat32);
    const torch::NoGradGuard no_grad;
    fixture.state.fill_(std::nanf(""));
    const Tensor first = torch::zeros({kSteps, kRows}, torch::kBool);
    first[0].fill_(true);
    CHECK(torch::isfinite(fixture.Run(first).outputs).all().item<bool>());
    CHECK_FALSE(torch::isfinite(fixture.Run({}).outputs).any().item<bool>());
  }
}

}  // namespace
}  // namespace waggle
