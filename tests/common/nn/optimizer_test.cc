#include "common/nn/optimizer.h"

#include <torch/optim.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <sstream>

#include "common/config/field_checker.h"
#include "tests/support/catch.h"
#include "tests/support/cuda.h"

namespace waggle {
namespace {

using Maker = std::function<std::unique_ptr<Optimizer>(const OptimizerOptions&, const torch::Tensor&)>;
const std::vector<std::pair<std::string, Maker>> kForms = {{"one sweep", NewCpuOptimizer},
                                                           {"operators", NewDeviceOptimizer}};

constexpr double kRate = 0.03;

OptimizerOptions Options(const std::string& type, std::optional<double> weight_decay, double momentum) {
  OptimizerOptions options;
  options.type = type;
  options.learning_rate = kRate;
  options.weight_decay = weight_decay;
  options.momentum = momentum;
  return options;
}

std::unique_ptr<torch::optim::Optimizer> TorchOptimizer(const OptimizerOptions& options, const torch::Tensor& values) {
  const std::vector<torch::Tensor> parameters = {values};
  // LibTorch's own default holds if no weight decay is given.
  const auto decay = [&](auto torch_options) {
    return options.weight_decay.has_value() ? torch_options.weight_decay(*options.weight_decay) : torch_options;
  };
  if (options.type == "adam") {
    return std::make_unique<torch::optim::Adam>(parameters, decay(torch::optim::AdamOptions(kRate)
                                                                      .betas({options.beta1, options.beta2})
                                                                      .eps(options.epsilon)
                                                                      .amsgrad(options.amsgrad)));
  }
  if (options.type == "adamw") {
    return std::make_unique<torch::optim::AdamW>(parameters, decay(torch::optim::AdamWOptions(kRate)
                                                                       .betas({options.beta1, options.beta2})
                                                                       .eps(options.epsilon)
                                                                       .amsgrad(options.amsgrad)));
  }
  if (options.type == "rmsprop") {
    return std::make_unique<torch::optim::RMSprop>(parameters, decay(torch::optim::RMSpropOptions(kRate)
                                                                         .alpha(options.alpha)
                                                                         .eps(options.epsilon)
                                                                         .centered(options.centered)
                                                                         .momentum(options.momentum)));
  }
  return std::make_unique<torch::optim::SGD>(parameters,
                                             decay(torch::optim::SGDOptions(kRate).momentum(options.momentum)));
}

// Every combination of a type's options, each with a value of its own and LibTorch's default.
std::vector<OptimizerOptions> AllCombinations() {
  std::vector<OptimizerOptions> all;
  for (const char* type : {"adam", "adamw", "rmsprop", "sgd"}) {
    all.push_back(Options(type, std::nullopt, 0));
    all.push_back(Options(type, 0.1, 0));
  }
  all.push_back(Options("adamw", 0, 0));
  // Doubles the list: each of these types also with the option.
  const auto also = [&all](const std::vector<std::string>& types, const auto& set) {
    const std::vector<OptimizerOptions> before = all;
    for (OptimizerOptions options : before) {
      if (std::find(types.begin(), types.end(), options.type) != types.end()) {
        set(&options);
        all.push_back(options);
      }
    }
  };
  const std::vector<std::string> adams = {"adam", "adamw"};
  also(adams, [](OptimizerOptions* options) { options->amsgrad = true; });
  also(adams, [](OptimizerOptions* options) { options->beta1 = 0.5; });
  also(adams, [](OptimizerOptions* options) { options->beta2 = 0.9; });
  also({"rmsprop"}, [](OptimizerOptions* options) { options->centered = true; });
  also({"rmsprop"}, [](OptimizerOptions* options) { options->alpha = 0.9; });
  also({"rmsprop", "sgd"}, [](OptimizerOptions* options) { options->momentum = 0.9; });
  also({"adam", "adamw", "rmsprop"}, [](OptimizerOptions* options) { options->epsilon = 1e-3; });
  return all;
}

std::string Text(const OptimizerOptions& options) {
  std::ostringstream text;
  text << options.type << ", weight decay " << options.WeightDecay() << ", momentum " << options.momentum << ", beta1 "
       << options.beta1 << ", beta2 " << options.beta2 << ", alpha " << options.alpha << ", epsilon " << options.epsilon
       << ", centered " << options.centered << ", amsgrad " << options.amsgrad;
  return text.str();
}

// Relative to values above 1: RMSprop's first steps are long.
double Difference(const torch::Tensor& values, const torch::Tensor& expected) {
  return ((values - expected).abs() / (1 + expected.abs())).max().item<double>();
}

TEST_CASE("every optimizer takes the steps of LibTorch's own, whatever its options", "[unit]") {
  constexpr int kSteps = 50;
  const std::vector<OptimizerOptions> combinations = AllCombinations();
  CHECK(combinations.size() == 2 * 16 + 3 * 16 + 2 * 16 + 2 * 2);
  for (const OptimizerOptions& options : combinations) {
    REQUIRE_OK(Check(options));
    for (const auto& [form, make] : kForms) {
      for (const torch::ScalarType dtype : {torch::kFloat32, torch::kFloat64}) {
        INFO(form << ", " << torch::toString(dtype) << ", " << Text(options));
        torch::manual_seed(1);
        torch::Tensor expected = torch::randn({101}, dtype);
        const torch::Tensor values = expected.clone();
        expected.set_requires_grad(true);
        const std::unique_ptr<torch::optim::Optimizer> reference = TorchOptimizer(options, expected);
        const std::unique_ptr<Optimizer> optimizer = make(options, values);
        for (int step = 0; step < kSteps; ++step) {
          // Smaller and smaller: the largest mean square so far is not the last one.
          const torch::Tensor gradient = torch::randn({101}, dtype) * (1.0 / (1 + 0.1 * step));
          expected.mutable_grad() = gradient.clone();
          reference->step();
          REQUIRE_OK(optimizer->Step(values, gradient, kRate));
        }
        CHECK(Difference(values, expected) < (dtype == torch::kFloat64 ? 1e-10 : 1e-6));
        CHECK(optimizer->steps() == kSteps);
      }
    }
  }
}

TEST_CASE("every optimizer takes the same steps on a device as on the CPU, whatever its options", "[cuda]") {
  if (!testing::HasCuda()) {
    return;
  }
  for (OptimizerOptions options : AllCombinations()) {
    options.gradient_clip_norm = 8;  // Below the norm of the first gradients.
    for (const torch::ScalarType dtype : {torch::kFloat32, torch::kFloat64}) {
      INFO(torch::toString(dtype) << ", " << Text(options));
      torch::manual_seed(1);
      const torch::Tensor expected = torch::randn({101}, dtype);
      const torch::Tensor values = expected.to(torch::kCUDA);
      const auto reference = testing::ValueOf(NewOptimizer(options, expected));
      const auto optimizer = testing::ValueOf(NewOptimizer(options, values));
      for (int step = 0; step < 50; ++step) {
        const torch::Tensor gradient = torch::randn({101}, dtype) * (1.0 / (1 + 0.1 * step));
        REQUIRE_OK(reference->Step(expected, gradient, kRate));
        REQUIRE_OK(optimizer->Step(values, gradient.to(torch::kCUDA), kRate));
      }
      CHECK(Difference(values.cpu(), expected) < (dtype == torch::kFloat64 ? 1e-10 : 1e-6));
      CHECK(optimizer->gradient_norm().item<double>() == Approx(reference->gradient_norm().item<double>()));
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
    optimizer->set_gradient_clip_norm(0.25);
    REQUIRE_OK(optimizer->Step(values, torch::tensor({0.3F, 0.4F}), 1));
    CHECK(torch::allclose(values, torch::tensor({-1.65F, -2.2F})));
  }
}

TEST_CASE("a gradient that is not finite is refused and changes nothing", "[unit]") {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const torch::Tensor values = torch::ones({3});
    const std::unique_ptr<Optimizer> optimizer = NewCpuOptimizer(OptimizerOptions(), values);
    REQUIRE_CODE(optimizer->Step(values, torch::tensor({1.0F, bad, 1.0F}), 1), absl::StatusCode::kInvalidArgument);
    CHECK(torch::equal(values, torch::ones({3})));
    CHECK(optimizer->steps() == 0);
    // The next good gradient steps as if nothing had happened.
    REQUIRE_OK(optimizer->Step(values, torch::ones({3}), 0.001));
    CHECK(torch::allclose(values, torch::full({3}, 0.999F)));
  }
}

void CheckBadGradient(torch::Device device) {
  for (const char* type : {"adam", "adamw", "rmsprop", "sgd"}) {
    INFO(type);
    const torch::Tensor values = torch::ones({3}, device);
    OptimizerOptions options = Options(type, 0.1, 0.5);
    options.centered = options.type == "rmsprop";
    options.amsgrad = options.type == "adam" || options.type == "adamw";
    const std::unique_ptr<Optimizer> optimizer = NewDeviceOptimizer(options, values);
    REQUIRE_OK(optimizer->Step(values, torch::ones({3}, device), 0.001));
    const torch::Tensor before = values.clone();
    const torch::Tensor bad = torch::full({3}, std::numeric_limits<float>::quiet_NaN(), device);
    absl::Status status = optimizer->Step(values, bad, 0.001);
    int64_t steps = 0;
    for (; status.ok() && steps < 64; ++steps) {
      status = optimizer->Step(values, torch::ones({3}, device), 0.001);
    }
    CHECK(status.code() == absl::StatusCode::kInvalidArgument);
    CHECK(torch::equal(values, before));
  }
}

TEST_CASE("without waiting for the device, a bad gradient stops all change and is reported soon", "[unit]") {
  CheckBadGradient(torch::kCPU);
}

TEST_CASE("on a device a bad gradient stops all change and is reported soon", "[cuda]") {
  if (testing::HasCuda()) {
    CheckBadGradient(torch::kCUDA);
  }
}

TEST_CASE("the values' device decides the form, and wrong options are refused", "[unit]") {
  REQUIRE_OK(NewOptimizer(OptimizerOptions(), torch::zeros({2})));
  REQUIRE_OK(NewOptimizer(OptimizerOptions(), torch::zeros({2}, torch::kBFloat16)));
  OptimizerOptions options;
  options.type = "newton";
  REQUIRE_CODE(NewOptimizer(options, torch::zeros({2})), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace waggle
