#include "common/nn/layer_kernels.h"

#include <cmath>
#include <vector>

#include "tests/support/catch.h"

namespace waggle {
namespace {

const float kNaN = std::nanf("");

TEST_CASE("a bias is added to every row, and relu leaves nothing below 0", "[unit]") {
  const std::vector<float> bias = {1, -10, 0.5F};
  std::vector<float> values = {1, 2, 3, -4, 20, -6};
  AddBias(bias.data(), /*relu=*/false, 2, 3, values.data());
  CHECK(values == std::vector<float>{2, -8, 3.5F, -3, 10, -5.5F});
  values = {1, 2, 3, -4, 20, -6};
  AddBias(bias.data(), /*relu=*/true, 2, 3, values.data());
  CHECK(values == std::vector<float>{2, 0, 3.5F, 0, 10, 0});
  values = {kNaN, 0, 0};
  AddBias(bias.data(), /*relu=*/true, 1, 3, values.data());
  CHECK(std::isnan(values[0]));
}

TEST_CASE("gradients pass where the output is above 0, and are summed up for the bias", "[unit]") {
  const std::vector<float> output = {2, 0, 3, 0, 10, 1};
  const std::vector<float> gradient = {1, 2, 3, 4, 5, 6};
  std::vector<float> result(6, -1);
  std::vector<float> bias = {100, 0, 0};
  BackThroughBias(output.data(), gradient.data(), /*relu=*/true, 2, 3, result.data(), bias.data());
  CHECK(result == std::vector<float>{1, 0, 3, 0, 5, 6});
  CHECK(bias == std::vector<float>{101, 5, 9});
  BackThroughBias(output.data(), gradient.data(), /*relu=*/true, 2, 3, result.data(), nullptr);
  CHECK(result == std::vector<float>{1, 0, 3, 0, 5, 6});
  // Without relu the gradient already is the result.
  BackThroughBias(output.data(), gradient.data(), /*relu=*/false, 2, 3, nullptr, bias.data());
  CHECK(bias == std::vector<float>{106, 12, 18});
}

}  // namespace
}  // namespace waggle
