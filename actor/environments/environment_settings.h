#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "actor/environments/environment.h"
#include "common/base/annotate.h"
#include "common/base/status_macros.h"
#include "common/config/config_visitor.h"
#include "common/config/experiment/sections.h"
#include "common/config/json_section.h"

namespace waggle {

// Settings without fields, for environments without options.
struct NoSettings {
  void Visit(ConfigVisitor&) {}
  absl::Status Validate() const { return absl::OkStatus(); }
};

// Reads `environment.options`. `Settings` is a struct with Visit and Validate, like every section of an experiment.
// INVALID_ARGUMENT with one line for each mistake.
template <class Settings>
absl::StatusOr<Settings> ReadSettings(const EnvironmentOptions& options) {
  constexpr char kPath[] = "environment.options";
  Settings settings;
  WAGGLE_RETURN_IF_ERROR(
      ReadJsonSection(options.options, kPath, [&settings](ConfigVisitor& visitor) { settings.Visit(visitor); }));
  WAGGLE_RETURN_IF_ERROR(Annotate(settings.Validate(), kPath));
  return settings;
}

// The registry's entry of an environment class. The class has a type `Settings`, `static EnvironmentSpec Spec(const
// Settings&)` and a constructor of `const Settings&` and a seed.
template <class Class>
EnvironmentDefinition DefinitionOf(std::string description) {
  using Settings = typename Class::Settings;
  EnvironmentDefinition definition;
  definition.description = std::move(description);
  definition.spec = [](const EnvironmentOptions& options) -> absl::StatusOr<EnvironmentSpec> {
    WAGGLE_ASSIGN_OR_RETURN(const Settings settings, ReadSettings<Settings>(options));
    return Class::Spec(settings);
  };
  definition.create = [](const EnvironmentOptions& options,
                         uint64_t seed) -> absl::StatusOr<std::unique_ptr<Environment>> {
    WAGGLE_ASSIGN_OR_RETURN(const Settings settings, ReadSettings<Settings>(options));
    return std::make_unique<Class>(settings, seed);
  };
  return definition;
}

}  // namespace waggle
