#include "actor/environments/external/external_spec.h"

#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

constexpr char kSpec[] = R"({
  "observations": [
    {"name": "observation/camera", "kind": "box", "dtype": "uint8", "shape": [3, 8, 8], "low": [0], "high": [255]},
    {"name": "observation/arm", "kind": "box", "dtype": "float32", "shape": [2], "low": [-1, "-inf"],
     "high": [1, "inf"]},
    {"name": "action_mask", "kind": "multi-binary", "dtype": "bool", "shape": [7]}],
  "actions": [{"name": "action", "kind": "multi-discrete", "dtype": "int64", "shape": [2], "num_values": [3, 4],
    "start": [1, 0]}],
  "rewards": [{"name": "reward", "shape": [2]}],
  "max_episode_steps": 50, "whole_groups": true, "notes": ["observation/arm: float64 is narrowed to float32"]})";

TEST_CASE("A spec in JSON has leaves, bounds and notes", "[unit]") {
  const ExternalSpec spec = ValueOf(ParseExternalSpec(kSpec, "Arm"));
  CHECK(spec.environment.name == "Arm");
  REQUIRE(spec.environment.observations.size() == 3);
  CHECK(spec.environment.observations[0].array.shape == std::vector<int64_t>{3, 8, 8});
  CHECK(spec.environment.observations[1].Low(1) == -std::numeric_limits<double>::infinity());
  CHECK(spec.environment.observations[1].High(0) == 1);
  CHECK(spec.environment.actions[0].kind == SpaceKind::kMultiDiscrete);
  CHECK(spec.environment.actions[0].num_values == std::vector<int64_t>{3, 4});
  CHECK(spec.environment.rewards[0].shape == std::vector<int64_t>{2});
  CHECK(spec.environment.max_episode_steps == 50);
  CHECK(spec.whole_groups);
  CHECK(spec.notes.size() == 1);
  CHECK(spec.starts == std::map<std::string, std::vector<int64_t>>{{"action", {1, 0}}});
}

TEST_CASE("A spec with any mistake is refused", "[unit]") {
  const std::string spec = kSpec;
  CHECK_FALSE(ParseExternalSpec("", "X").ok());
  CHECK_FALSE(ParseExternalSpec("[1]", "X").ok());
  CHECK_FALSE(ParseExternalSpec("{}", "X").ok());
  const auto replaced = [&spec](const std::string& old, const std::string& fresh) {
    std::string changed = spec;
    REQUIRE(changed.find(old) != std::string::npos);
    return ParseExternalSpec(changed.replace(changed.find(old), old.size(), fresh), "X").status();
  };
  for (const auto& [old, fresh] : std::vector<std::pair<std::string, std::string>>{
           {R"("uint8")", R"("complex")"},
           {R"("uint8")", "7"},
           {"[3, 8, 8]", "8"},
           {"[3, 8, 8]", "[-3]"},
           {"[3, 8, 8]", "[4611686018427387904, 4611686018427387904]"},
           {"[3, 8, 8]", "[0.5]"},
           {"[255]", "[{}]"},
           {R"("multi-binary")", R"("graph")"},
           {"[3, 4]", "[3]"},
           {"[1, 0]", "[1]"},
           {"[7]", "[6]"},
           {R"("observation/arm")", R"("observation/camera")"},
           {R"([{"name": "reward", "shape": [2]}])", "[7]"},
           {R"([{"name": "reward", "shape": [2]}])", "7"},
           {R"({"name": "reward", "shape": [2]})", R"({"name": "reward", "shape": "x"})"},
       }) {
    INFO(old << " -> " << fresh);
    CHECK_FALSE(replaced(old, fresh).ok());
  }
  for (size_t end = 0; end < spec.size(); ++end) {
    CHECK_FALSE(ParseExternalSpec(spec.substr(0, end), "X").ok());
  }
}

}  // namespace
}  // namespace waggle::testing
