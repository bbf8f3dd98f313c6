#include "common/nn/flat_optimizer.h"

#include <vector>

#include "tests/support/catch.h"

namespace waggle {
namespace {

// tests/common/nn/optimizer_test.cc compares the steps of every type with LibTorch's.

OptimizerOptions Options(const std::string& type) {
  OptimizerOptions options;
  options.type = type;
  return options;
}

TEST_CASE("parts of a step make the whole, and a scale equals a scaled gradient", "[unit]") {
  for (const char* type : {"sgd", "rmsprop", "adam", "adamw"}) {
    const std::vector<float> gradient = {1, -2, 0.5F, 4};
    std::vector<float> half = gradient;
    for (float& number : half) {
      number /= 2;
    }
    std::vector<float> whole(4, 1);
    std::vector<float> parts(4, 1);
    std::vector<float> a(4), b(4), c(4), d(4);
    FlatOptimizer one(Options(type));
    FlatOptimizer two(Options(type));
    for (int step = 0; step < 3; ++step) {
      REQUIRE(one.Begin(half.data(), 4, 1, 0.1).ok());
      one.Apply(whole.data(), half.data(), {a.data(), b.data(), nullptr}, 4);
      one.End();
      REQUIRE(two.Begin(gradient.data(), 4, 0.5, 0.1).ok());
      two.Apply(parts.data(), gradient.data(), {c.data(), d.data(), nullptr}, 1);
      two.Apply(parts.data() + 1, gradient.data() + 1, {c.data() + 1, d.data() + 1, nullptr}, 3);
      two.End();
    }
    CHECK(whole == parts);
    CHECK(one.gradient_norm() == two.gradient_norm());
    CHECK(two.steps() == 3);
  }
}

}  // namespace
}  // namespace waggle
