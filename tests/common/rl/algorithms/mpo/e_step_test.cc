#include "common/rl/algorithms/mpo/e_step.h"

#include <cmath>
#include <vector>

#include "tests/support/catch.h"

namespace waggle {
namespace {

using torch::Tensor;

struct Rows {
  explicit Rows(uint64_t seed) {
    torch::manual_seed(seed);
    q = torch::randn({6, 5}, torch::kFloat64) * 30 - 10;
    log_prior = torch::randn({6, 5}, torch::kFloat64).log_softmax(-1);
  }
  Tensor q, log_prior;
};

// The dual and its derivative, as sums over rows and candidates.
struct Slow {
  double dual = 0;
  double derivative = 0;
};
Slow SlowDual(const Rows& rows, double temperature, double divergence) {
  Slow slow{temperature * divergence, divergence};
  for (int64_t row = 0; row < 6; ++row) {
    const auto q = [&](int64_t a) { return rows.q[row][a].item<double>(); };
    const auto prior = [&](int64_t a) { return std::exp(rows.log_prior[row][a].item<double>()); };
    double sum = 0;
    for (int64_t a = 0; a < 5; ++a) {
      sum += prior(a) * std::exp(q(a) / temperature);
    }
    slow.dual += temperature * std::log(sum) / 6;
    for (int64_t a = 0; a < 5; ++a) {
      const double weight = prior(a) * std::exp(q(a) / temperature) / sum;
      slow.derivative -= weight * std::log(weight / prior(a)) / 6;
    }
  }
  return slow;
}

double Dual(const Rows& rows, double temperature, double divergence) {
  return TemperatureDual(torch::full({}, temperature, torch::kFloat64), rows.q, rows.log_prior, divergence)
      .item<double>();
}

TEST_CASE("MPO's dual is that of a loop, and its derivative that of finite differences", "[unit]") {
  const Rows rows(1);
  for (const double temperature : {3.0, 10.0, 100.0}) {
    const Slow slow = SlowDual(rows, temperature, 0.1);
    CHECK(Dual(rows, temperature, 0.1) == Approx(slow.dual));
    const double difference = (Dual(rows, temperature + 1e-4, 0.1) - Dual(rows, temperature - 1e-4, 0.1)) / 2e-4;
    CHECK(slow.derivative == Approx(difference).epsilon(1e-5).margin(1e-8));
    Tensor leaf = torch::full({}, temperature, torch::kFloat64).requires_grad_();
    TemperatureDual(leaf, rows.q, rows.log_prior, 0.1).backward();
    CHECK(leaf.grad().item<double>() == Approx(slow.derivative));
  }
}

TEST_CASE("the best temperature has the least dual, and its weights are the given divergence away", "[unit]") {
  for (const uint64_t seed : {1, 2, 3}) {
    const Rows rows(seed);
    for (const double divergence : {1e-4, 0.1, 0.5}) {
      const double best = BestTemperature(rows.q, rows.log_prior, divergence).item<double>();
      CHECK(SlowDual(rows, best, divergence).derivative == Approx(0).margin(1e-6));
      CHECK(Dual(rows, best, divergence) < Dual(rows, best * 1.1, divergence));
      CHECK(Dual(rows, best, divergence) < Dual(rows, best / 1.1, divergence));
    }
  }
}

// The better one of two equally likely candidates has the weight p at a divergence of log 2 - H(p).
TEST_CASE("two candidates have the weights that their divergence says", "[unit]") {
  const double divergence = std::log(2) + 0.8 * std::log(0.8) + 0.2 * std::log(0.2);
  const Tensor q = torch::tensor({{0.0, 1.0}}, torch::kFloat64);
  const Tensor log_prior = torch::full({1, 2}, -std::log(2), torch::kFloat64);
  const Tensor best = BestTemperature(q, log_prior, divergence);
  CHECK(best.item<double>() == Approx(1 / std::log(4)));
  CHECK(ImprovedWeights(best, q, log_prior)[0][1].item<double>() == Approx(0.8));
}

TEST_CASE("a divergence that no weights have gives all the weight to the best candidate", "[unit]") {
  const Rows rows(4);
  const Tensor weights = ImprovedWeights(BestTemperature(rows.q, rows.log_prior, 50), rows.q, rows.log_prior);
  CHECK(torch::equal(weights.argmax(-1), rows.q.argmax(-1)));
  CHECK(torch::allclose(weights.amax(-1), torch::ones({6}, torch::kFloat64)));
}

TEST_CASE("candidates of one value keep the prior's weights", "[unit]") {
  const Rows rows(5);
  const Tensor q = torch::full_like(rows.q, -7);
  const Tensor weights = ImprovedWeights(BestTemperature(q, rows.log_prior, 0.1), q, rows.log_prior);
  CHECK(torch::allclose(weights, rows.log_prior.exp(), 1e-3, 1e-3));
}

}  // namespace
}  // namespace waggle
