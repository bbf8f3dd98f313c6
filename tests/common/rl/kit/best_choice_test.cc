#include "common/rl/kit/best_choice.h"

#include <cmath>
#include <limits>
#include <vector>

#include "tests/support/catch.h"

namespace waggle {
namespace {

int64_t Best(const std::vector<float>& values) {
  return BestChoice(values.data(), static_cast<int64_t>(values.size()));
}

TEST_CASE("the best choice is that of torch::argmax, the first of the largest or of those that are no numbers",
          "[unit]") {
  const float infinity = std::numeric_limits<float>::infinity();
  CHECK(Best({1, 3, 3}) == 1);
  CHECK(Best({-infinity, -2}) == 1);
  CHECK(Best({infinity, std::nanf("")}) == 1);
  torch::manual_seed(3);
  for (int trial = 0; trial < 200; ++trial) {
    const torch::Tensor values = torch::randn({6}).masked_fill(torch::rand({6}) < 0.2, std::nanf(""));
    INFO(values);
    CHECK(BestChoice(values.data_ptr<float>(), 6) == values.argmax().item<int64_t>());
  }
}

}  // namespace
}  // namespace waggle
