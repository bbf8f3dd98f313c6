#pragma once

#include "common/rl/kit/module.h"

namespace waggle {

// The computations of shipped modules: NAME_module_implementation(), in NAME/module.cc.
#define WAGGLE_MODULE(name) ModuleImplementation name##_module_implementation();
#include "common/rl/modules/list.inc"
#undef WAGGLE_MODULE

// All of them, by the names of BuiltinModuleDefinitions.
ModuleImplementations BuiltinModules();

}  // namespace waggle
