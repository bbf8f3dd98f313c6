#include "common/nn/recurrent_core.h"

#include <torch/nn.h>

#include <cmath>
#include <vector>

#include "tests/support/catch.h"

namespace waggle {
namespace {

using torch::Tensor;

constexpr int64_t kInputs = 3;
constexpr int64_t kUnits = 4;
constexpr int64_t kSteps = 5;
constexpr int64_t kRows = 2;

// A core whose parameters are random, and what it is given.
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

// A number that depends on all that comes out.
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

// What LibTorch's own module makes of the same, with the same parameters: outputs [T, rows, units] and the state.
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

TEST_CASE("a core computes what LibTorch's module does, gradients as well", "[unit]") {
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

double Sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

// One step of one row, number by number: the state after it (the equations of torch.nn.LSTM's and GRU's pages).
std::vector<double> SlowStep(const Fixture& fixture, const double* features, const std::vector<double>& before) {
  const std::vector<Tensor>& values = fixture.parameters->value_views();
  // What gate `gate` gets of the input and of the output before.
  const auto in = [&](int64_t gate, int64_t unit) {
    const int64_t row = gate * kUnits + unit;
    double sum = values[2][row].item<double>();
    for (int64_t i = 0; i < kInputs; ++i) {
      sum += values[0][row][i].item<double>() * features[i];
    }
    return sum;
  };
  const auto back = [&](int64_t gate, int64_t unit) {
    const int64_t row = gate * kUnits + unit;
    double sum = values[3][row].item<double>();
    for (int64_t i = 0; i < kUnits; ++i) {
      sum += values[1][row][i].item<double>() * before[static_cast<size_t>(i)];
    }
    return sum;
  };
  std::vector<double> after(before.size());
  for (int64_t unit = 0; unit < kUnits; ++unit) {
    const auto u = static_cast<size_t>(unit);
    const auto gate = [&](int64_t number) { return in(number, unit) + back(number, unit); };
    if (fixture.plan.kind == CorePlan::Kind::kLstm) {
      const double cell = Sigmoid(gate(1)) * before[kUnits + u] + Sigmoid(gate(0)) * std::tanh(gate(2));
      after[u] = Sigmoid(gate(3)) * std::tanh(cell);
      after[kUnits + u] = cell;
    } else {
      const double proposed = std::tanh(in(2, unit) + Sigmoid(gate(0)) * back(2, unit));
      after[u] = (1 - Sigmoid(gate(1))) * proposed + Sigmoid(gate(1)) * before[u];
    }
  }
  return after;
}

TEST_CASE("an unroll is its steps one by one, from zero where an episode begins", "[unit]") {
  for (const CorePlan::Kind kind : kKinds) {
    const Fixture fixture(kind);
    const torch::NoGradGuard no_grad;
    const RecurrentCore::Unrolled got = fixture.Run(fixture.first);
    REQUIRE(got.outputs.sizes() == c10::IntArrayRef({kSteps * kRows, kUnits}));
    REQUIRE(got.state.sizes() == fixture.state.sizes());
    for (int64_t row = 0; row < kRows; ++row) {
      std::vector<double> state;
      for (int64_t i = 0; i < fixture.plan.state_size(); ++i) {
        state.push_back(fixture.state[row][i].item<double>());
      }
      for (int64_t t = 0; t < kSteps; ++t) {
        if (fixture.first[t][row].item<bool>()) {
          state.assign(state.size(), 0);
        }
        const int64_t at = t * kRows + row;
        state = SlowStep(fixture, fixture.features.data_ptr<double>() + at * kInputs, state);
        for (int64_t unit = 0; unit < kUnits; ++unit) {
          CHECK(got.outputs[at][unit].item<double>() == Approx(state[static_cast<size_t>(unit)]).epsilon(1e-12));
        }
      }
      for (int64_t i = 0; i < fixture.plan.state_size(); ++i) {
        CHECK(got.state[row][i].item<double>() == Approx(state[static_cast<size_t>(i)]).epsilon(1e-12));
      }
    }
  }
}

TEST_CASE("a core's gradients are those of finite differences, with episodes that begin", "[unit]") {
  constexpr double kStep = 1e-6;
  for (const CorePlan::Kind kind : kKinds) {
    const Fixture fixture(kind);
    LossOf(fixture.Run(fixture.first)).backward();
    const torch::NoGradGuard no_grad;
    const auto check = [&](const Tensor& values, const Tensor& gradients) {
      auto* const value = values.data_ptr<double>();
      for (int64_t i = 0; i < values.numel(); ++i) {
        const double before = value[i];
        value[i] = before + kStep;
        const double above = LossOf(fixture.Run(fixture.first)).item<double>();
        value[i] = before - kStep;
        const double below = LossOf(fixture.Run(fixture.first)).item<double>();
        value[i] = before;
        CHECK((above - below) / (2 * kStep) == Approx(gradients.flatten()[i].item<double>()).margin(1e-6));
      }
    };
    check(fixture.parameters->values(), fixture.parameters->gradients());
    check(fixture.features, fixture.features.grad());
    check(fixture.state, fixture.state.grad());
    // Nothing reaches back to before an episode.
    CHECK(fixture.state.grad()[1].abs().max().item<double>() == 0);
    CHECK(fixture.state.grad()[0].abs().max().item<double>() > 0);
  }
}

TEST_CASE("an episode begins from zero whatever was remembered, not-a-numbers too", "[unit]") {
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
