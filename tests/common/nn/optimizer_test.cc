#include "common/nn/optimizer.h"

#include <torch/optim.h>

#include <cmath>
#include <functional>
#include <limits>

#include "tests/support/catch.h"

namespace waggle {
namespace {

using Maker = std::function<std::unique_ptr<Optimizer>(const OptimizerOptions&, const torch::Tensor&)>;
const std::vector<std::pair<std::string, Maker>> kForms = {{"one sweep", NewCpuOptimizer},
                                                           {"operators", NewDeviceOptimizer}};

constexpr double kRate = 0.03;

OptimizerOptions Options(const std::string& type, double weight_decay, double momentum) {
  OptimizerOptions options;
  options.type = type;
  options.learning_rate = kRate;
  options.weight_decay = weight_decay;
  options.momentum = momentum;
  return options;
}

std::unique_ptr<torch::optim::Optimizer> TorchOptimizer(const OptimizerOptions& options, const torch::Tensor& values) {
  const std::vector<torch::Tensor> parameters = {values};
  if (options.type == "adam") {
    return std::make_unique<torch::optim::Adam>(parameters,
                                                torch::optim::AdamOptions(kRate).weight_decay(options.weight_decay));
  }
  if (options.type == "adamw") {
    return std::make_unique<torch::optim::AdamW>(parameters,
                                                 torch::optim::AdamWOptions(kRate).weight_decay(options.weight_decay));
  }
  if (options.type == "rmsprop") {
    return std::make_unique<torch::optim::RMSprop>(
        parameters, torch::optim::RMSpropOptions(kRate).momentum(options.momentum).weight_decay(options.weight_decay));
  }
  return std::make_unique<torch::optim::SGD>(
      parameters, torch::optim::SGDOptions(kRate).momentum(options.momentum).weight_decay(options.weight_decay));
}

TEST_CASE("every optimizer takes the steps of LibTorch's own", "[unit]") {
  for (const char* type : {"adam", "adamw", "rmsprop", "sgd"}) {
    for (const double weight_decay : {0.0, 0.1}) {
      for (const double momentum : {0.0, 0.9}) {
        for (const auto& [form, make] : kForms) {
          for (const torch::ScalarType dtype : {torch::kFloat32, torch::kFloat64}) {
            INFO(type << ", " << form << ", weight decay " << weight_decay << ", momentum " << momentum);
            torch::manual_seed(1);
            const OptimizerOptions options = Options(type, weight_decay, momentum);
            torch::Tensor expected = torch::randn({101}, dtype);
            const torch::Tensor values = expected.clone();
            expected.set_requires_grad(true);
            const std::unique_ptr<torch::optim::Optimizer> reference = TorchOptimizer(options, expected);
            const std::unique_ptr<Optimizer> optimizer = make(options, values);
            for (int step = 0; step < 30; ++step) {
              const torch::Tensor gradient = torch::randn({101}, dtype);
              expected.mutable_grad() = gradient.clone();
              reference->step();
              REQUIRE_OK(optimizer->Step(values, gradient, kRate));
            }
            // Relative to values above 1: RMSprop's first steps are long.
            CHECK(((values - expected).abs() / (1 + expected.abs())).max().item<double>() < 1e-6);
            CHECK(optimizer->steps() == 30);
          }
        }
      }
    }
  }
}

TEST_CASE("a gradient with a large norm is clipped as LibTorch does", "[unit]") {
  for (const auto& [form, make] : kForms) {
    INFO(form);
    OptimizerOptions options = Options("sgd", 0, 0);
    options.gradient_clip_norm = 2;
    const torch::Tensor values = torch::zeros({2});
    const std::unique_ptr<Optimizer> optimizer = make(options, values);
    REQUIRE_OK(optimizer->Step(values, torch::tensor({3.0F, 4.0F}), 1));
    CHECK(torch::allclose(values, torch::tensor({-1.2F, -1.6F})));
    CHECK(optimizer->gradient_norm().item<double>() == Approx(5));
    REQUIRE_OK(optimizer->Step(values, torch::tensor({0.3F, 0.4F}), 1));
    CHECK(torch::allclose(values, torch::tensor({-1.5F, -2.0F})));
  }
}

TEST_CASE("a step is as long as its learning rate says", "[unit]") {
  for (const auto& [form, make] : kForms) {
    INFO(form);
    const torch::Tensor values = torch::zeros({1});
    const std::unique_ptr<Optimizer> optimizer = make(Options("sgd", 0, 0), values);
    for (const double rate : {1.0, 0.5, 0.0}) {
      REQUIRE_OK(optimizer->Step(values, torch::ones({1}), rate));
    }
    CHECK(values.item<double>() == Approx(-1.5));
  }
}

TEST_CASE("a gradient that is not finite is refused and changes nothing", "[unit]") {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const torch::Tensor values = torch::ones({3});
    const std::unique_ptr<Optimizer> optimizer = NewCpuOptimizer(OptimizerOptions(), values);
    REQUIRE_CODE(optimizer->Step(values, torch::tensor({1.0F, bad, 1.0F}), 1), absl::StatusCode::kInvalidArgument);
    CHECK(torch::equal(values, torch::ones({3})));
    CHECK(optimizer->steps() == 0);
    // The next good one steps as if nothing had been.
    REQUIRE_OK(optimizer->Step(values, torch::ones({3}), 0.001));
    CHECK(torch::allclose(values, torch::full({3}, 0.999F)));
  }
}

TEST_CASE("without waiting for the device a bad gradient stops all change and is reported soon", "[unit]") {
  for (const char* type : {"adam", "adamw", "rmsprop", "sgd"}) {
    INFO(type);
    const torch::Tensor values = torch::ones({3});
    const std::unique_ptr<Optimizer> optimizer = NewDeviceOptimizer(Options(type, 0.1, 0.5), values);
    REQUIRE_OK(optimizer->Step(values, torch::ones({3}), 0.001));
    const torch::Tensor before = values.clone();
    absl::Status status = optimizer->Step(values, torch::full({3}, std::numeric_limits<float>::quiet_NaN()), 0.001);
    int64_t steps = 0;
    for (; status.ok() && steps < 64; ++steps) {
      status = optimizer->Step(values, torch::ones({3}), 0.001);
    }
    CHECK(status.code() == absl::StatusCode::kInvalidArgument);
    CHECK(torch::equal(values, before));
  }
}

TEST_CASE("the form is chosen by where the values are, and wrong options are refused", "[unit]") {
  REQUIRE_OK(NewOptimizer(OptimizerOptions(), torch::zeros({2})));
  REQUIRE_OK(NewOptimizer(OptimizerOptions(), torch::zeros({2}, torch::kBFloat16)));
  OptimizerOptions options;
  options.type = "newton";
  REQUIRE_CODE(NewOptimizer(options, torch::zeros({2})), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace waggle
