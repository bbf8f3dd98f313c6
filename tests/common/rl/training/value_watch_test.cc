#include "common/rl/training/value_watch.h"

#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.h"

namespace waggle {
namespace {

// The warnings of so many updates.
std::vector<std::string> WarningsOf(ValueWatch* watch, int updates, float reward, float mean) {
  std::vector<std::string> warnings;
  for (int i = 0; i < updates; ++i) {
    if (std::string warning = watch->Observe({torch::tensor({{0.5F, -reward}})}, torch::tensor(mean));
        !warning.empty()) {
      warnings.push_back(std::move(warning));
    }
  }
  return warnings;
}

TEST_CASE("values above twice what rewards allow are warned of once, with the bound", "[unit]") {
  ValueWatch watch(0.9);
  CHECK(WarningsOf(&watch, 3000, 2, 39).empty());
  const std::vector<std::string> warnings = WarningsOf(&watch, 3000, 2, -41);
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], Catch::Contains("-41") && Catch::Contains("20 at most"));
}

TEST_CASE("a soft policy's entropy counts as a reward, and no values are warned of before the first reward", "[unit]") {
  const torch::Tensor reward = torch::ones({2}), bonus = torch::full({}, -1.0F);
  ValueWatch soft(0.9), hard(0.9), sparse(0.9);
  int warnings = 0;
  for (int i = 0; i < 2000; ++i) {
    CHECK(soft.Observe({reward}, torch::full({}, 39.0F), bonus).empty());
    CHECK(sparse.Observe({torch::zeros({2})}, torch::full({}, 39.0F)).empty());
    warnings += hard.Observe({reward}, torch::full({}, 39.0F)).empty() ? 0 : 1;
  }
  CHECK(warnings == 1);
}

TEST_CASE("the largest reward so far counts, and undiscounted values have no bound", "[unit]") {
  ValueWatch watch(0.9);
  CHECK(WarningsOf(&watch, 1, 10, 0).empty());
  CHECK(WarningsOf(&watch, 3000, 2, 199).empty());
  ValueWatch undiscounted(1);
  CHECK(WarningsOf(&undiscounted, 3000, 1, 1e9F).empty());
}

}  // namespace
}  // namespace waggle
