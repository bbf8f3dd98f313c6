#include "common/nn/initialize.h"

#include <ATen/CPUGeneratorImpl.h>

#include <cmath>
#include <vector>

#include "tests/support/catch.h"

namespace waggle {
namespace {

InitialValues Draw(const LayerPlan& layer, const std::vector<int64_t>& shape, uint64_t seed = 5) {
  return Initialize(layer, shape, at::make_generator<at::CPUGeneratorImpl>(seed));
}

InitialValues Draw(Initialization initialization, Activation activation, const std::vector<int64_t>& shape,
                   std::optional<double> gain = std::nullopt) {
  LayerPlan layer;
  layer.initialization = initialization;
  layer.activation = activation;
  layer.gain = gain;
  return Draw(layer, shape);
}

double Largest(const torch::Tensor& values) {
  return values.abs().max().item<double>();
}

TEST_CASE("the default fills weight and bias up to one over the root of the inputs", "[unit]") {
  const InitialValues values = Draw(Initialization::kDefault, Activation::kRelu, {200, 4, 5, 5});
  CHECK(Largest(values.weight) <= 0.1);
  CHECK(Largest(values.weight) > 0.099);
  CHECK(std::abs(values.weight.mean().item<double>()) < 0.002);
  CHECK(Largest(values.bias) <= 0.1);
  CHECK(Largest(values.bias) > 0.08);
}

TEST_CASE("Xavier and Kaiming weights have the spread that suits the activation, and no bias", "[unit]") {
  const InitialValues xavier = Draw(Initialization::kXavierUniform, Activation::kTanh, {100, 50});
  const double bound = 5.0 / 3.0 * std::sqrt(6.0 / 150);
  CHECK(Largest(xavier.weight) <= bound);
  CHECK(Largest(xavier.weight) > 0.99 * bound);
  CHECK(Largest(xavier.bias) == 0);
  const InitialValues kaiming = Draw(Initialization::kKaimingNormal, Activation::kRelu, {200, 50});
  CHECK(kaiming.weight.std().item<double>() == Approx(std::sqrt(2.0 / 50)).epsilon(0.05));
  CHECK(Largest(kaiming.bias) == 0);
}

TEST_CASE("a given gain replaces the activation's", "[unit]") {
  for (const Initialization initialization :
       {Initialization::kXavierUniform, Initialization::kKaimingNormal, Initialization::kOrthogonal}) {
    const torch::Tensor one = Draw(initialization, Activation::kTanh, {6, 4}, 1).weight;
    const torch::Tensor small = Draw(initialization, Activation::kTanh, {6, 4}, 0.01).weight;
    const torch::Tensor own = Draw(initialization, Activation::kTanh, {6, 4}).weight;
    CHECK(torch::allclose(small, 0.01 * one));
    CHECK(torch::allclose(own, 5.0 / 3.0 * one));
  }
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

TEST_CASE("a norm begins as the identity and an embedding standard normal", "[unit]") {
  LayerPlan layer;
  layer.kind = LayerPlan::Kind::kLayerNorm;
  const InitialValues norm = Draw(layer, {2, 3, 4});
  CHECK(torch::equal(norm.weight, torch::ones({2, 3, 4})));
  CHECK(torch::equal(norm.bias, torch::zeros({2, 3, 4})));
  layer.kind = LayerPlan::Kind::kEmbedding;
  const InitialValues embedding = Draw(layer, {200, 50});
  CHECK_FALSE(embedding.bias.defined());
  CHECK(embedding.weight.std().item<double>() == Approx(1).epsilon(0.05));
  CHECK(std::abs(embedding.weight.mean().item<double>()) < 0.05);
}

TEST_CASE("a core begins as in LibTorch", "[unit]") {
  CorePlan core;
  core.units = 16;
  const torch::Tensor weight = InitializeCore(core, {64, 900}, at::make_generator<at::CPUGeneratorImpl>(5));
  CHECK(weight.sizes() == c10::IntArrayRef({64, 900}));
  CHECK(Largest(weight) <= 0.25);
  CHECK(weight.std().item<double>() == Approx(0.25 / std::sqrt(3)).epsilon(0.02));
  CHECK(std::abs(weight.mean().item<double>()) < 0.01);
}

}  // namespace
}  // namespace waggle
