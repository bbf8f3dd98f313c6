#include "common/nn/initialize.h"

#include <ATen/CPUGeneratorImpl.h>

#include <cmath>

#include "tests/support/catch.h"

namespace waggle {
namespace {

InitialValues Draw(Initialization initialization, Activation activation, const std::vector<int64_t>& shape) {
  return Initialize(initialization, activation, shape, at::make_generator<at::CPUGeneratorImpl>(5));
}

TEST_CASE("the default fills weight and bias up to one over the root of the inputs", "[unit]") {
  const InitialValues values = Draw(Initialization::kDefault, Activation::kRelu, {200, 4, 5, 5});
  CHECK(values.weight.abs().max().item<double>() <= 0.1);
  CHECK(values.weight.abs().max().item<double>() > 0.099);
  CHECK(std::abs(values.weight.mean().item<double>()) < 0.002);
  CHECK(values.bias.abs().max().item<double>() <= 0.1);
  CHECK(values.bias.abs().max().item<double>() > 0.08);
}

TEST_CASE("Xavier and Kaiming weights have the spread that suits the activation, and no bias", "[unit]") {
  const InitialValues xavier = Draw(Initialization::kXavierUniform, Activation::kTanh, {100, 50});
  const double bound = 5.0 / 3.0 * std::sqrt(6.0 / 150);
  CHECK(xavier.weight.abs().max().item<double>() <= bound);
  CHECK(xavier.weight.abs().max().item<double>() > 0.99 * bound);
  CHECK(xavier.bias.abs().max().item<double>() == 0);
  const InitialValues kaiming = Draw(Initialization::kKaimingNormal, Activation::kRelu, {200, 50});
  CHECK(kaiming.weight.std().item<double>() == Approx(std::sqrt(2.0 / 50)).epsilon(0.05));
  CHECK(kaiming.bias.abs().max().item<double>() == 0);
}

TEST_CASE("orthogonal weights have rows or columns at right angles", "[unit]") {
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{8, 20}, {20, 8}, {6, 2, 3, 3}}) {
    const torch::Tensor weight =
        Draw(Initialization::kOrthogonal, Activation::kRelu, shape).weight.reshape({shape[0], -1}).to(torch::kFloat64);
    const bool wide = weight.size(0) <= weight.size(1);
    const torch::Tensor product = wide ? weight.mm(weight.t()) : weight.t().mm(weight);
    CHECK(torch::allclose(product, 2 * torch::eye(product.size(0), torch::kFloat64), 1e-4, 1e-5));
  }
}

TEST_CASE("zeros are zeros", "[unit]") {
  const InitialValues values = Draw(Initialization::kZeros, Activation::kNone, {3, 4});
  CHECK(values.weight.abs().max().item<double>() == 0);
  CHECK(values.bias.abs().max().item<double>() == 0);
}

}  // namespace
}  // namespace waggle
