// TQC's critics' loss and its gradient, beside the same by autograd's operations.

#include <array>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/log.h"
#include "common/nn/device.h"
#include "common/rl/kit/distributional.h"
#include "tests/bench/bench.h"

namespace waggle::bench {
namespace {

using torch::Tensor;

Tensor ByAutograd(const Tensor& quantiles, const Tensor& fractions, const Tensor& targets) {
  const Tensor error = targets.unsqueeze(1) - quantiles.unsqueeze(2);
  const Tensor size = error.abs();
  const Tensor huber = torch::where(size <= 1, 0.5 * error.square(), size - 0.5);
  const Tensor weight = (fractions.unsqueeze(-1) - (error.detach() < 0).to(torch::kFloat32)).abs();
  return (weight * huber).mean(2).sum(1);
}

Result Loss(int64_t rows, int64_t count, int64_t targets) {
  const Tensor quantiles = torch::randn({rows, count});
  const Tensor fractions = MiddleFractions(count, quantiles);
  const Tensor by = torch::randn({rows, targets});
  const auto pass = [&](const auto& loss) {
    Tensor leaf = quantiles.detach().requires_grad_();
    loss(leaf, fractions, by).mean().backward();
  };
  const auto kernel = [](const Tensor& q, const Tensor& f, const Tensor& t) { return QuantileLoss(q, f, t); };
  const TimingBesideLimit timing = TimeBesideLimit([&] { pass(kernel); }, [&] { pass(ByAutograd); });
  return Milliseconds(timing.call, absl::ToDoubleMilliseconds(timing.limit.best), "autograd's operations");
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const auto& [rows, count, targets] : {std::array<int64_t, 3>{256, 125, 115}, {256, 64, 32}, {64, 200, 200}}) {
    cases.push_back({absl::StrCat("learner/quantile_loss_", rows, "_rows_", count, "_quantiles_", targets, "_targets"),
                     [rows = rows, count = count, targets = targets] { return Loss(rows, count, targets); }});
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
