#include "param_server/gradients/gradient_sum.h"

#include <cmath>

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("a sum has each element of each gradient once, times its scale", "[unit]") {
  for (const int64_t count : {1, 4095, 4096, 10'001}) {
    std::vector<std::vector<float>> gradients(3, std::vector<float>(static_cast<size_t>(count)));
    std::vector<ScaledGradient> scaled;
    for (size_t g = 0; g < gradients.size(); ++g) {
      for (size_t i = 0; i < gradients[g].size(); ++i) {
        gradients[g][i] = static_cast<float>(std::sin(static_cast<double>(i + 100 * g)));
      }
      scaled.push_back({gradients[g].data(), 0.5F * static_cast<float>(g + 1)});
    }
    std::vector<float> sum(static_cast<size_t>(count), NAN);
    SumGradients(scaled, count, sum.data());
    for (size_t i = 0; i < sum.size(); ++i) {
      REQUIRE(sum[i] == 0.5F * gradients[0][i] + 1.0F * gradients[1][i] + 1.5F * gradients[2][i]);
    }
  }
}

}  // namespace
}  // namespace waggle
