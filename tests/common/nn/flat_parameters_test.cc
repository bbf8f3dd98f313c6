#include "common/nn/flat_parameters.h"

#include "tests/support/catch.h"

namespace waggle {
namespace {

FlatParameters Make(bool learns = true, torch::ScalarType dtype = torch::kFloat32) {
  return testing::ValueOf(
      FlatParameters::Create({ArraySpec{"weight", DType::kFloat32, {2, 3}}, ArraySpec{"bias", DType::kFloat32, {2}},
                              ArraySpec{"scale", DType::kFloat32, {}}},
                             torch::kCPU, dtype, learns));
}

TEST_CASE("parameters are views into one buffer, one after the other", "[unit]") {
  FlatParameters parameters = Make();
  REQUIRE(parameters.size() == 9);
  CHECK(parameters.values().abs().sum().item<float>() == 0);
  parameters.values().copy_(torch::arange(9));
  CHECK(torch::equal(parameters.value_views()[0], torch::tensor({{0.0F, 1.0F, 2.0F}, {3.0F, 4.0F, 5.0F}})));
  CHECK(torch::equal(parameters.value_views()[1], torch::tensor({6.0F, 7.0F})));
  CHECK(parameters.value_views()[2].item<float>() == 8);
  CHECK(torch::equal(parameters.Run(0, 3), parameters.values()));
  CHECK(torch::equal(parameters.Run(1, 2), torch::tensor({6.0F, 7.0F, 8.0F})));
  CHECK_FALSE(parameters.values().requires_grad());
  CHECK(parameters.leaves().empty());
  CHECK(Make(true, torch::kFloat64).values().scalar_type() == torch::kFloat64);
}

TEST_CASE("autograd's backward pass adds to the one buffer of gradients", "[unit]") {
  FlatParameters parameters = Make();
  const torch::Tensor weight = parameters.AddLeaf(0);
  const torch::Tensor bias = parameters.AddLeaf(1);
  CHECK(weight.sizes().vec() == std::vector<int64_t>{2, 3});
  CHECK(parameters.leaves().size() == 2);
  const float* const memory = parameters.gradients().data_ptr<float>();
  const torch::Tensor input = torch::tensor({{1.0F, 2.0F, 3.0F}});
  torch::linear(input, weight, bias).sum().backward();
  const torch::Tensor once = torch::tensor({1.0F, 2.0F, 3.0F, 1.0F, 2.0F, 3.0F, 1.0F, 1.0F, 0.0F});
  CHECK(torch::equal(parameters.gradients(), once));
  CHECK(bias.grad().data_ptr<float>() == memory + 6);
  // And the next time, also from leaves of single parameters.
  torch::autograd::backward({torch::linear(input, weight, bias).sum()}, {}, c10::nullopt, false, parameters.leaves());
  CHECK(torch::equal(parameters.gradients(), 2 * once));
  CHECK(parameters.gradient_views()[1][0].item<float>() == 2);
}

TEST_CASE("a leaf of several parameters is the run of them", "[unit]") {
  FlatParameters parameters = Make();
  const torch::Tensor leaf = parameters.AddLeaf(1, 2);
  CHECK(leaf.sizes().vec() == std::vector<int64_t>{3});
  (leaf * torch::tensor({1.0F, 2.0F, 3.0F})).sum().backward();
  CHECK(torch::equal(parameters.gradients(), torch::tensor({0.0F, 0.0F, 0.0F, 0.0F, 0.0F, 0.0F, 1.0F, 2.0F, 3.0F})));
}

TEST_CASE("leaves see writes to the values, and autograd sees that there were some", "[unit]") {
  FlatParameters parameters = Make();
  const torch::Tensor weight = parameters.AddLeaf(0);
  parameters.values().fill_(2);
  CHECK(weight.sum().item<float>() == 12);
  const torch::Tensor loss = (weight * weight).sum();
  parameters.values().add_(1);
  CHECK_THROWS_AS(loss.backward(), c10::Error);
}

TEST_CASE("parameters that learn nothing have no gradients", "[unit]") {
  const FlatParameters parameters = Make(/*learns=*/false);
  CHECK_FALSE(parameters.gradients().defined());
  CHECK(parameters.gradient_views().empty());
  CHECK(parameters.value_views().size() == 3);
}

}  // namespace
}  // namespace waggle
