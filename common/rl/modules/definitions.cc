#include "common/rl/modules/definitions.h"

#include "common/base/check.h"

namespace waggle {

ModuleDefinitions BuiltinModuleDefinitions() {
  ModuleDefinitions definitions("module");
#define WAGGLE_MODULE(name) \
  WAGGLE_CHECK(definitions.Register(#name, name##_module_definition()).ok(), "two modules that ship have one name");
#include "common/rl/modules/list.inc"
#undef WAGGLE_MODULE
  return definitions;
}

}  // namespace waggle
