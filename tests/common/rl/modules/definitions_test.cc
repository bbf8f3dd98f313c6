#include "common/rl/modules/definitions.h"

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("each module has a description and options that are right by default", "[unit]") {
  const ModuleDefinitions modules = BuiltinModuleDefinitions();
  for (const std::string& name : modules.Names()) {
    INFO(name);
    const ModuleDefinition& definition = *testing::ValueOf(modules.Find(name));
    CHECK_FALSE(definition.description.empty());
    REQUIRE_OK(definition.new_options()->Validate());
  }
}

}  // namespace
}  // namespace waggle
