#include "common/rl/kit/importance_weights.h"

#include <cmath>

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("weights over five items agree with recorded ones", "[unit]") {
  // |TD| 0, 0.5, 1, 2, 10 with epsilon 0.01 and alpha 0.6; beta 0.4.
  const torch::Tensor leaves = torch::tensor({0.063096, 0.667640, 1.005988, 1.520259, 3.983460}, torch::kFloat64);
  const torch::Tensor weights = ImportanceWeights(leaves / leaves.sum(), 0.4);
  CHECK(torch::allclose(weights, torch::tensor({1.0F, 0.389209F, 0.330341F, 0.280048F, 0.190500F}), 1e-5, 1e-6));
  const torch::Tensor sampled = leaves.index({torch::tensor({1, 3, 4, 4})}) / leaves.sum();
  CHECK(torch::allclose(ImportanceWeights(sampled, 0.4), torch::tensor({1.0F, 0.719531F, 0.489455F, 0.489455F}), 1e-5,
                        1e-6));
}

TEST_CASE("items of two shards are weighted against each other, not each by its own shard", "[unit]") {
  // 900 items of priority 1 in one shard, 100 of priority 10 in the other, alpha 0.6.
  const double heavy = std::pow(10.01, 0.6);
  const double light = std::pow(1.01, 0.6);
  const double sum = 900 * light + 100 * heavy;
  const torch::Tensor weights = ImportanceWeights(torch::tensor({light / sum, heavy / sum}, torch::kFloat64), 0.4);
  CHECK(weights[0].item<double>() == Approx(1));
  CHECK(weights[1].item<double>() == Approx(0.577).epsilon(1e-3));
}

TEST_CASE("an exponent of 0 weighs all alike and one of 1 fully", "[unit]") {
  const torch::Tensor probabilities = torch::tensor({0.1, 0.4}, torch::kFloat64);
  CHECK(torch::allclose(ImportanceWeights(probabilities, 0), torch::tensor({1.0F, 1.0F})));
  CHECK(torch::allclose(ImportanceWeights(probabilities, 1), torch::tensor({1.0F, 0.25F})));
  CHECK(probabilities[0].item<double>() == 0.1);  // The batch's own numbers stay.
}

}  // namespace
}  // namespace waggle
