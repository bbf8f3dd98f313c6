#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/config/config_reader.h"
#include "common/config/config_writer.h"
#include "common/config/yaml_file.h"
#include "tests/support/catch.h"

namespace waggle::testing {

// Reads a file x.yaml of this text by `visit(reader)`, and returns all errors.
template <class Visit>
absl::Status ReadYaml(const std::string& yaml, const Visit& visit) {
  const absl::StatusOr<YamlNode> root = ParseYaml(yaml, "x.yaml");
  if (!root.ok()) {
    return root.status();
  }
  ConfigErrors errors;
  ConfigReader reader(*root, &errors);
  visit(reader);
  reader.Finish();
  return errors.ToStatus();
}

// The file has the fields of the options.
template <class Options>
absl::Status ReadFields(const std::string& yaml, Options* options) {
  return ReadYaml(yaml, [options](ConfigReader& reader) { options->Visit(reader); });
}

// The file has the options as its only section, which they check themselves.
template <class Options>
absl::Status ReadSection(const char* name, const std::string& yaml, Options* options) {
  return ReadYaml(yaml, [&](ConfigReader& reader) { reader.Section(name, options); });
}

template <class Options>
std::string Printed(Options options) {
  ConfigWriter writer;
  options.Visit(writer);
  return writer.text();
}

}  // namespace waggle::testing
