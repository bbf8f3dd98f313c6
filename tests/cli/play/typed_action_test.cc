#include "cli/play/typed_action.h"

#include <string>
#include <utility>
#include <vector>

#include "actor/acting/action_scaling.h"
#include "common/base/tensor/elements.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

EnvironmentSpec Several() {
  EnvironmentSpec spec;
  spec.name = "X";
  spec.observations = {Box("observation", DType::kFloat32, {1}), MultiBinary("action_mask/move", {3})};
  spec.actions = {Discrete("action/move", 3), MultiBinary("action/flags", {2}),
                  Box("action/force", DType::kFloat32, {2}, -2, 6), Box("action/free", DType::kFloat32, {1}),
                  Box("action/level", DType::kInt32, {}, 2, 4)};
  return spec;
}

class Typed {
 public:
  absl::Status Read(const std::string& line) {
    return ReadTypedAction(spec_, line, {static_cast<void*>(&shown_), static_cast<void*>(mask_)}, actions_);
  }
  double Element(size_t leaf, int64_t element = 0) const {
    return ElementAsDouble(spec_.actions[leaf].array.dtype, actions_.pointers()[leaf], element);
  }
  const float* Force() const { return static_cast<const float*>(actions_.pointers()[2]); }
  const SpaceLeaf& ForceLeaf() const { return spec_.actions[2]; }

 private:
  const EnvironmentSpec spec_ = Several();
  const LeafArrays actions_{ArraysOf(Several().actions), 1};
  float shown_ = 0;
  bool mask_[3] = {true, false, true};
};

TEST_CASE("A line of numbers becomes an action in a policy's form", "[unit]") {
  Typed typed;
  REQUIRE_OK(typed.Read("2, 1 0 -2\t5 1e3, 4"));
  CHECK(typed.Element(0) == 2);
  CHECK(typed.Element(1, 0) == 1);
  CHECK(typed.Element(1, 1) == 0);
  CHECK(typed.Element(2, 0) == -1);
  CHECK(typed.Element(2, 1) == 0.75);
  CHECK(typed.Element(3) == 1000);
  CHECK(typed.Element(4) == 4);
  float given[2];
  ScaleAction(typed.ForceLeaf(), typed.Force(), given);
  CHECK(given[0] == -2);
  CHECK(given[1] == 5);
}

TEST_CASE("A wrong line is refused with the leaf and the wanted value", "[unit]") {
  Typed typed;
  for (const auto& [line, says] : std::vector<std::pair<std::string, std::string>>{
           {"", "got 0 numbers; wanted 7"},
           {"0 0 0 0 0 0", "got 6 numbers; wanted 7"},
           {"0 0 0 0 0 0 2 0", "got 8 numbers; wanted 7"},
           {"x 0 0 0 0 0 2", "action/move: got x; wanted a whole number from 0 to 2"},
           {"3 0 0 0 0 0 2", "action/move: got 3"},
           {"-1 0 0 0 0 0 2", "action/move: got -1"},
           {"0.5 0 0 0 0 0 2", "action/move: got 0.5"},
           {"1 0 0 0 0 0 2", "a choice that the mask allows"},
           {"0 2 0 0 0 0 2", "action/flags: got 2"},
           {"0 0 0 7 0 0 2", "action/force: got 7; wanted a number from -2 to 6"},
           {"0 0 0 0 nan 0 2", "action/force: got nan"},
           {"0 0 0 0 0 inf 2", "action/free: got inf"},
           {"0 0 0 0 0 0 2.5", "action/level: got 2.5"},
           {"\x1b[2J 0 0 0 0 0 2", "action/move: got "}}) {
    const absl::Status refused = typed.Read(line);
    REQUIRE_CODE(refused, absl::StatusCode::kInvalidArgument);
    CHECK_THAT(std::string(refused.message()), Catch::Contains(says) && !Catch::Contains("\x1b"));
  }
}

}  // namespace
}  // namespace waggle
