// A recurrent core's unroll, forward and backward, with episodes that begin inside it. The limit is LibTorch's own
// modules, which know no episodes.

#include <torch/nn.h>

#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/log.h"
#include "common/nn/device.h"
#include "common/nn/recurrent_core.h"
#include "tests/bench/bench.h"
#include "tests/bench/must.h"

namespace waggle::bench {
namespace {

using torch::Tensor;

struct Size {
  int64_t steps = 0;
  int64_t rows = 0;
  int64_t units = 0;  // Units of the core, and values of its input.
};

// The output of `forward` for these features, and its backward pass.
template <class Forward>
void Pass(const Forward& forward, const Tensor& features, const Tensor& gradient) {
  Tensor leaf = features.detach().requires_grad_();
  forward(leaf).backward(gradient);
}

// For LSTM and GRU of `torch::nn`, whose output is their first result.
template <class Module>
Result Unrolls(CorePlan::Kind kind, const Size& size) {
  CorePlan plan;
  plan.kind = kind;
  plan.units = size.units;
  plan.weight = 0;
  const int64_t gates = plan.gates() * size.units;
  FlatParameters parameters = Must(FlatParameters::Create(
      {ArraySpec{"weight_ih", DType::kFloat32, {gates, size.units}},
       ArraySpec{"weight_hh", DType::kFloat32, {gates, size.units}}, ArraySpec{"bias_ih", DType::kFloat32, {gates}},
       ArraySpec{"bias_hh", DType::kFloat32, {gates}}},
      torch::kCPU));
  parameters.values().uniform_(-0.1, 0.1);
  const RecurrentCore core(plan, /*learns=*/true, &parameters);
  Module module(size.units, size.units);
  const Tensor features = torch::randn({size.steps * size.rows, size.units});
  const Tensor gradient = torch::randn({size.steps * size.rows, size.units});
  const Tensor first = torch::rand({size.steps, size.rows}) < 0.05;
  const Tensor state = torch::zeros({size.rows, plan.state_size()});
  const TimingBesideLimit timing = TimeBesideLimit(
      [&] { Pass([&](const Tensor& leaf) { return core(leaf, first, state).outputs; }, features, gradient); },
      [&] {
        const auto forward = [&](const Tensor& leaf) {
          return std::get<0>(module->forward(leaf.view({size.steps, size.rows, size.units}))).flatten(0, 1);
        };
        Pass(forward, features, gradient);
      });
  return Milliseconds(timing.call, absl::ToDoubleMilliseconds(timing.limit.best), "LibTorch's module");
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const int64_t steps : {16, 64}) {
    for (const int64_t rows : {16, 64}) {
      for (const int64_t units : {64, 128}) {
        const Size size{steps, rows, units};
        const std::string shape = absl::StrCat(steps, "_steps_", rows, "_rows_", units, "_units");
        cases.push_back({absl::StrCat("learner/core_lstm_", shape),
                         [size] { return Unrolls<torch::nn::LSTM>(CorePlan::Kind::kLstm, size); }});
        cases.push_back({absl::StrCat("learner/core_gru_", shape),
                         [size] { return Unrolls<torch::nn::GRU>(CorePlan::Kind::kGru, size); }});
      }
    }
  }
  return cases;
}

}  // namespace
}  // namespace waggle::bench

int main(int argc, char** argv) {
  waggle::InitLogging("bench", waggle::LogLevel::kWarning);
  waggle::ConfigureTorch(1);
  return waggle::bench::RunCases(argc, argv, waggle::bench::Cases());
}
