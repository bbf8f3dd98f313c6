#include "common/nn/flat_parameters.h"

#include "tests/support/catch.h"

namespace waggle {
namespace {

FlatParameters Make() {
  return testing::ValueOf(FlatParameters::Create(
      {ArraySpec{"weight", DType::kFloat32, {2, 3}}, ArraySpec{"bias", DType::kFloat32, {2}}}, torch::kCPU));
}

TEST_CASE("parameters are views into one buffer, one after the other", "[unit]") {
  const FlatParameters parameters = Make();
  REQUIRE(parameters.size() == 8);
  parameters.values().copy_(torch::arange(8));
  CHECK(torch::equal(parameters.leaves()[0], torch::tensor({{0.0F, 1.0F, 2.0F}, {3.0F, 4.0F, 5.0F}})));
  CHECK(torch::equal(parameters.leaves()[1], torch::tensor({6.0F, 7.0F})));
  CHECK(torch::equal(parameters.value_views()[1], torch::tensor({6.0F, 7.0F})));
  CHECK_FALSE(parameters.values().requires_grad());
}

TEST_CASE("autograd's backward pass fills the one buffer of gradients", "[unit]") {
  const FlatParameters parameters = Make();
  const float* const memory = parameters.gradients().data_ptr<float>();
  const torch::Tensor input = torch::tensor({{1.0F, 2.0F, 3.0F}});
  torch::linear(input, parameters.leaves()[0], parameters.leaves()[1]).sum().backward();
  CHECK(torch::equal(parameters.gradients(), torch::tensor({1.0F, 2.0F, 3.0F, 1.0F, 2.0F, 3.0F, 1.0F, 1.0F})));
  CHECK(parameters.leaves()[1].grad().data_ptr<float>() == memory + 6);
  // And adds to it the next time.
  torch::linear(input, parameters.leaves()[0], parameters.leaves()[1]).sum().backward();
  CHECK(parameters.gradient_views()[1][0].item<float>() == 2);
}

TEST_CASE("moving a flat buffer's owner leaves the views whole", "[unit]") {
  FlatParameters parameters = Make();
  const FlatParameters moved = std::move(parameters);
  moved.values().fill_(3);
  CHECK(moved.leaves()[0].sum().item<float>() == 18);
}

}  // namespace
}  // namespace waggle
