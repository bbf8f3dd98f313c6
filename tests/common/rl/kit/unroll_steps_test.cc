#include "common/rl/kit/unroll_steps.h"

#include "tests/support/catch.h"
#include "tests/support/state_copy.h"

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

TEST_CASE("a copy of steps does not change with the batch that they came from", "[unit]") {
  UnrollSteps steps = Steps();
  const UnrollSteps copy = steps.Copy();
  for (torch::Tensor* const field :
       {&steps.observation[1], &steps.action, &steps.core_state, &steps.columns["value"]}) {
    field->fill_(7);
  }
  CHECK(torch::equal(copy.action, Steps().action));
  CHECK(torch::equal(copy.observation[1], Steps().observation[1]));
  CHECK(torch::equal(copy.core_state, Steps().core_state));
  CHECK(torch::equal(copy.at("value"), Steps().at("value")));
}

TEST_CASE("steps are saved and loaded with their shapes and types, and steps that are nothing as nothing", "[unit]") {
  UnrollSteps nothing;
  nothing.observation.resize(2);
  nothing.columns["value"] = torch::Tensor();
  for (UnrollSteps saved : {Steps(), Steps().Flattened(), nothing}) {
    for (UnrollSteps loaded : {nothing, Steps()}) {
      testing::StateCopy copy;
      saved.VisitState(copy.Saver(), torch::kCPU);
      loaded.VisitState(copy.Loader(), torch::kCPU);
      REQUIRE(loaded.action.defined() == saved.action.defined());
      CHECK(loaded.core_state.defined() == saved.core_state.defined());
      if (saved.action.defined()) {
        CHECK(torch::equal(loaded.action, saved.action));
        CHECK(torch::equal(loaded.first, saved.first));
        CHECK(torch::equal(loaded.counts, saved.counts));
        CHECK(torch::equal(loaded.observation[0], saved.observation[0]));
        CHECK(torch::equal(loaded.at("value"), saved.at("value")));
      }
    }
  }
}

}  // namespace
}  // namespace waggle
