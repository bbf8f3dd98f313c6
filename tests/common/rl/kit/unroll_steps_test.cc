#include "common/rl/kit/unroll_steps.h"

#include "tests/support/catch.h"

namespace waggle {
namespace {

// Two steps of three rows: number t * 3 + row.
UnrollSteps Steps() {
  const torch::Tensor numbers = torch::arange(9).view({3, 3});
  Unrolls unrolls;
  unrolls.observation = {numbers.to(torch::kFloat32).unsqueeze(2), numbers * 10};
  unrolls.first = numbers == 0;
  unrolls.action = numbers + 100;
  unrolls.counts = Unrolls::Steps(numbers != 4);
  unrolls.core_state = torch::arange(3).unsqueeze(1);
  UnrollSteps steps(unrolls);
  steps.columns["value"] = Unrolls::Steps(numbers) + 0.5;
  return steps;
}

TEST_CASE("the steps of unrolls leave out the row behind the last step", "[unit]") {
  const UnrollSteps steps = Steps();
  CHECK(torch::equal(steps.action, torch::tensor({{100, 101, 102}, {103, 104, 105}})));
  CHECK(steps.observation[0].sizes() == at::IntArrayRef{2, 3, 1});
  CHECK(steps.first.sizes() == at::IntArrayRef{2, 3});
  CHECK(steps.core_state.size(0) == 3);
}

TEST_CASE("rows of steps are chosen with all their fields", "[unit]") {
  const UnrollSteps chosen = Steps().Select(torch::tensor({2, 0}));
  CHECK(torch::equal(chosen.action, torch::tensor({{102, 100}, {105, 103}})));
  CHECK(torch::equal(chosen.observation[1], torch::tensor({{20, 0}, {50, 30}})));
  CHECK(torch::equal(chosen.first, torch::tensor({{false, true}, {false, false}})));
  CHECK(torch::equal(chosen.at("value"), torch::tensor({{2.5, 0.5}, {5.5, 3.5}}, torch::kFloat32)));
  CHECK(torch::equal(chosen.core_state, torch::tensor({{2}, {0}})));
}

TEST_CASE("steps that are rows of their own have no state before them", "[unit]") {
  const UnrollSteps flat = Steps().Flattened();
  CHECK(torch::equal(flat.action, torch::tensor({{100, 101, 102, 103, 104, 105}})));
  CHECK(flat.observation[0].sizes() == at::IntArrayRef{1, 6, 1});
  CHECK(torch::equal(flat.counts, torch::tensor({{true, true, true, true, false, true}})));
  CHECK_FALSE(flat.core_state.defined());
  CHECK(torch::equal(flat.Select(torch::tensor({4})).at("value"), torch::tensor({{4.5}}, torch::kFloat32)));
}

}  // namespace
}  // namespace waggle
