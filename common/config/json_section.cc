#include "common/config/json_section.h"

#include "common/base/status_macros.h"
#include "common/config/config_errors.h"
#include "common/config/config_reader.h"
#include "common/config/yaml_file.h"

namespace waggle {
namespace {

// All of the JSON is on one line, so a line's number says nothing.
void SetPosition(const SourcePosition& position, YamlNode* node) {
  node->position = position;
  for (YamlNode& item : node->items) {
    SetPosition(position, &item);
  }
  for (YamlEntry& entry : node->entries) {
    entry.position = position;
    SetPosition(position, &entry.value);
  }
}

}  // namespace

absl::Status ReadJsonSection(const std::string& json, const std::string& path,
                             absl::FunctionRef<void(ConfigVisitor& visitor)> visit) {
  WAGGLE_ASSIGN_OR_RETURN(YamlNode root, ParseYaml(json, path));
  SetPosition({path, 0}, &root);
  ConfigErrors errors;
  ConfigReader reader(root, &errors);
  visit(reader);
  reader.Finish();
  return errors.ToStatus();
}

}  // namespace waggle
