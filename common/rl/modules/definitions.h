#pragma once

#include "common/config/experiment/module_definition.h"

namespace waggle {

// The parts of shipped modules that need no tensor library: NAME_module_definition(), in NAME/definition.cc.
#define WAGGLE_MODULE(name) ModuleDefinition name##_module_definition();
#include "common/rl/modules/list.inc"
#undef WAGGLE_MODULE

ModuleDefinitions BuiltinModuleDefinitions();

}  // namespace waggle
