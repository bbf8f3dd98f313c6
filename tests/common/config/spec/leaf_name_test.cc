#include "common/config/spec/leaf_name.h"

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("a leaf's name has an agent, a root and a path, and comes back from its parts", "[unit]") {
  const std::pair<const char*, LeafName> cases[] = {
      {"observation", {"", "observation", ""}},
      {"observation/camera", {"", "observation", "camera"}},
      {"observation/arm/0", {"", "observation", "arm/0"}},
      {"agent_0/action", {"agent_0", "action", ""}},
      {"agent_0/action_mask/move", {"agent_0", "action_mask", "move"}},
      {"reward", {"", "reward", ""}},
      // A path may contain the word of a root.
      {"observation/action", {"", "observation", "action"}},
      {"agent_0/observation/reward", {"agent_0", "observation", "reward"}},
  };
  for (const auto& [name, parts] : cases) {
    CAPTURE(name);
    CHECK(testing::ValueOf(SplitLeafName(name)) == parts);
    CHECK(parts.Join() == name);
  }
}

TEST_CASE("a name without a root, or with an empty part, is refused by its name", "[unit]") {
  for (const char* const name : {"", "/", "image", "observations", "a/b/observation", "observation/", "/observation",
                                 "observation//x", "agent_0/", "agent_0//action", "discount", "agent_0/step_type"}) {
    CAPTURE(name);
    const absl::Status status = SplitLeafName(name).status();
    REQUIRE_CODE(status, absl::StatusCode::kInvalidArgument);
    CHECK_THAT(std::string(status.message()), Catch::Contains(std::string("\"") + name + "\"; wanted [AGENT/]ROOT"));
  }
}

}  // namespace
}  // namespace waggle
