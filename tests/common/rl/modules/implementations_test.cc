#include "common/rl/modules/implementations.h"

#include "common/rl/modules/definitions.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("each module's definition has its code", "[unit]") {
  CHECK(BuiltinModules().Names() == BuiltinModuleDefinitions().Names());
}

}  // namespace
}  // namespace waggle
