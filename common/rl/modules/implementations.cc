#include "common/rl/modules/implementations.h"

#include "common/base/check.h"

namespace waggle {

ModuleImplementations BuiltinModules() {
  ModuleImplementations modules("module");
#define WAGGLE_MODULE(name) \
  WAGGLE_CHECK(modules.Register(#name, name##_module_implementation()).ok(), "two modules that ship have one name");
#include "common/rl/modules/list.inc"
#undef WAGGLE_MODULE
  return modules;
}

}  // namespace waggle
