#include "common/rl/best_choice.h"

#include <cmath>
#include <limits>
#include <vector>

#include "tests/support/catch.h"

namespace waggle {
namespace {

int64_t Best(const std::vector<float>& values) {
  return BestChoice(values.data(), static_cast<int64_t>(values.size()));
}

TEST_CASE("the best choice is the first of the largest values", "[unit]") {
  const float infinity = std::numeric_limits<float>::infinity();
  CHECK(Best({3}) == 0);
  CHECK(Best({1, 3, 2}) == 1);
  CHECK(Best({1, 3, 3}) == 1);
  CHECK(Best({-infinity, -2}) == 1);
  CHECK(Best({5, infinity}) == 1);
}

TEST_CASE("where some values are not numbers the best choice is the first of these, wherever it stands", "[unit]") {
  const float nan = std::nanf("");
  CHECK(Best({nan, 1, 2}) == 0);
  CHECK(Best({1, nan, 2}) == 1);
  CHECK(Best({1, 2, nan}) == 2);
  CHECK(Best({1, nan, nan}) == 1);
  CHECK(Best({std::numeric_limits<float>::infinity(), nan}) == 1);
  CHECK(Best({nan}) == 0);
}

TEST_CASE("the best choice is that of torch::argmax", "[unit]") {
  torch::manual_seed(3);
  for (int trial = 0; trial < 200; ++trial) {
    const torch::Tensor values = torch::randn({6}).masked_fill(torch::rand({6}) < 0.2, std::nanf(""));
    INFO(values);
    CHECK(BestChoice(values.data_ptr<float>(), 6) == values.argmax().item<int64_t>());
  }
}

}  // namespace
}  // namespace waggle
