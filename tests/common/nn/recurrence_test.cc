#include "common/nn/recurrence.h"

#include <cmath>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/finite_differences.h"

namespace waggle {
namespace {

using torch::Tensor;

constexpr int64_t kUnits = 4;
constexpr int64_t kRows = 3;

// A step of random numbers.
struct Fixture {
  explicit Fixture(CorePlan::Kind step_kind) : kind(step_kind) {
    torch::manual_seed(6);
    const int64_t width = (is_lstm() ? 4 : 3) * kUnits;
    weight_hh = torch::randn({width, kUnits}, torch::kFloat64);
    bias_hh = is_lstm() ? torch::zeros({width}, torch::kFloat64) : torch::randn({width}, torch::kFloat64);
    inputs = torch::randn({kRows, width}, torch::kFloat64);
    for (int part = 0; part < (is_lstm() ? 2 : 1); ++part) {
      before.push_back(torch::randn({kRows, kUnits}, torch::kFloat64));
    }
  }

  bool is_lstm() const { return kind == CorePlan::Kind::kLstm; }

  std::vector<Tensor> Run(RecurrentStep* step) const {
    step->before = before;
    return Forward(kind, weight_hh, bias_hh, inputs.clone(), torch::empty({kRows, kUnits}, torch::kFloat64), step);
  }

  CorePlan::Kind kind;
  Tensor weight_hh, bias_hh, inputs;
  std::vector<Tensor> before;
};

double Sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

// The parts of the state after the step, of one unit of a row, number by number (the equations of torch.nn.LSTM's and
// GRU's pages).
std::vector<double> SlowStep(const Fixture& fixture, int64_t row, int64_t unit) {
  const auto in = [&](int64_t gate) { return fixture.inputs[row][gate * kUnits + unit].item<double>(); };
  const auto back = [&](int64_t gate) {
    double sum = fixture.bias_hh[gate * kUnits + unit].item<double>();
    for (int64_t i = 0; i < kUnits; ++i) {
      sum += fixture.weight_hh[gate * kUnits + unit][i].item<double>() * fixture.before[0][row][i].item<double>();
    }
    return sum;
  };
  const auto gate = [&](int64_t number) { return in(number) + back(number); };
  if (fixture.is_lstm()) {
    const double cell =
        Sigmoid(gate(1)) * fixture.before[1][row][unit].item<double>() + Sigmoid(gate(0)) * std::tanh(gate(2));
    return {Sigmoid(gate(3)) * std::tanh(cell), cell};
  }
  const double proposed = std::tanh(in(2) + Sigmoid(gate(0)) * back(2));
  return {(1 - Sigmoid(gate(1))) * proposed + Sigmoid(gate(1)) * fixture.before[0][row][unit].item<double>()};
}

const CorePlan::Kind kKinds[] = {CorePlan::Kind::kLstm, CorePlan::Kind::kGru};

TEST_CASE("a recurrent step follows its equations", "[unit]") {
  for (const CorePlan::Kind kind : kKinds) {
    const Fixture fixture(kind);
    RecurrentStep step;
    const std::vector<Tensor> after = fixture.Run(&step);
    REQUIRE(after.size() == fixture.before.size());
    for (int64_t row = 0; row < kRows; ++row) {
      for (int64_t unit = 0; unit < kUnits; ++unit) {
        const std::vector<double> wanted = SlowStep(fixture, row, unit);
        for (size_t part = 0; part < after.size(); ++part) {
          CHECK(after[part][row][unit].item<double>() == Approx(wanted[part]).epsilon(1e-12));
        }
      }
    }
  }
}

TEST_CASE("the way back through a recurrent step is that of finite differences", "[unit]") {
  for (const CorePlan::Kind kind : kKinds) {
    const Fixture fixture(kind);
    std::vector<Tensor> weights;
    for (const Tensor& part : fixture.before) {
      weights.push_back(torch::randn_like(part));
    }
    const auto loss = [&] {
      RecurrentStep step;
      const std::vector<Tensor> after = fixture.Run(&step);
      double sum = 0;
      for (size_t part = 0; part < after.size(); ++part) {
        sum += (after[part] * weights[part]).sum().item<double>();
      }
      return sum;
    };
    RecurrentStep step;
    fixture.Run(&step);
    const Tensor by_input = torch::empty_like(fixture.inputs);
    const Tensor by_output = fixture.is_lstm() ? by_input : torch::empty_like(by_input);
    std::vector<Tensor> gradients = weights;
    Back(kind, fixture.weight_hh, step, by_input, by_output, &gradients);
    const auto check = [&](const Tensor& values, const Tensor& got) {
      testing::CheckFiniteDifferences(values, got, loss, 1e-7);
    };
    check(fixture.inputs, by_input);
    if (!fixture.is_lstm()) {  // An LSTM's gates have got theirs before.
      check(fixture.bias_hh, by_output.sum(0));
    }
    for (size_t part = 0; part < gradients.size(); ++part) {
      check(fixture.before[part], gradients[part]);
    }
  }
}

}  // namespace
}  // namespace waggle
