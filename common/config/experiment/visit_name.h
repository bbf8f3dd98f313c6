#pragma once

#include <string>
#include <vector>

#include "common/config/config_visitor.h"

namespace waggle {

// Visits an enumerator, one of `values`, by its Name().
template <class Enum>
void VisitName(const char* key, Enum* value, const std::vector<Enum>& values, ConfigVisitor* visitor) {
  std::vector<std::string> names;
  for (const Enum one : values) {
    names.emplace_back(Name(one));
  }
  std::string name(Name(*value));
  visitor->Choice(key, &name, names);
  for (const Enum one : values) {
    if (name == Name(one)) {
      *value = one;
    }
  }
}

}  // namespace waggle
