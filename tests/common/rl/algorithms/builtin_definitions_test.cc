#include "common/rl/algorithms/definitions.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("every algorithm that ships is described and has valid defaults", "[unit]") {
  const AlgorithmDefinitions definitions = BuiltinAlgorithmDefinitions();
  CHECK(definitions.Names() == std::vector<std::string>{"apex_dqn"});
  for (const std::string& name : definitions.Names()) {
    INFO(name);
    const AlgorithmDefinition& definition = *testing::ValueOf(definitions.Find(name));
    CHECK_FALSE(definition.description.empty());
    CHECK_FALSE(definition.action_kinds.empty());
    CHECK_FALSE(definition.head_types.empty());
    REQUIRE_OK(definition.new_options()->Validate());
  }
}

}  // namespace
}  // namespace waggle
