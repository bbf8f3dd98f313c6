#pragma once

#include <string>
#include <vector>

#include "common/config/config_visitor.h"
#include "common/config/table/table_config.h"

namespace waggle {

enum class TableFieldSet {
  kAll,
  kChangeable,  // Fields that may change while the table is in use.
};

// Visits the fields of a table's configuration that users set: those of an experiment's `replay:` section, and those
// that `waggle reconfigure` changes. Ranges are those of single values; TableConfig::ValidateSettings checks the rest.
void VisitTableFields(TableConfig* config, TableFieldSet set, ConfigVisitor* visitor);

// The keys of all fields that cannot be changed while the table is in use: "durability", "sampler.kind".
std::vector<std::string> FixedTableKeys();

}  // namespace waggle
