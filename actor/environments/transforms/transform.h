#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "actor/environments/vector_environment.h"
#include "common/base/annotate.h"
#include "common/base/registry.h"
#include "common/base/status_macros.h"
#include "common/config/config_visitor.h"
#include "common/config/json_section.h"
#include "common/config/spec/environment_spec.h"

namespace waggle {

// The spec of an environment with the transforms around it.
struct TransformedSpec {
  EnvironmentSpec spec;
  std::vector<std::string> copies;  // Observation leaves that a transform changes only if it names them.
};

// The inputs of a transform's creation.
struct TransformParts {
  std::unique_ptr<VectorEnvironment> inner;
  TransformedSpec before;  // The spec of `inner`.
  TransformedSpec after;
  uint64_t seed = 0;  // Determines every draw.
};

// An entry of the registry of transforms, which stand between an environment and a policy. Settings are a JSON mapping.
// `path` is their place, for messages: "environment.transforms[2].resize". To add a transform: a class that derives
// from EnvironmentTransform, in a header and a source of this folder, and one line in BuiltinTransforms; every
// registered one is put through the conformance suite by transforms_test.
struct TransformDefinition {
  std::string description;       // One line.
  bool changes_rewards = false;  // True if it changes only rewards.
  // True if it starts episodes in single lanes, so lanes must not step together.
  bool starts_lanes = false;
  // INVALID_ARGUMENT, a line for each mistake, if the settings are wrong for any environment.
  std::function<absl::Status(const std::string& settings, const std::string& path)> check;
  // Changes a valid spec as the transform does. INVALID_ARGUMENT if the settings are wrong, or do not fit the
  // environment. Only names and sizes of the new spec may be invalid.
  std::function<absl::Status(const std::string& settings, const std::string& path, TransformedSpec* spec)> change;
  // `parts.after` is `parts.before` after `change`.
  std::function<absl::StatusOr<std::unique_ptr<VectorEnvironment>>(const std::string& settings, const std::string& path,
                                                                   TransformParts parts)>
      create;
};

using TransformDefinitions = Registry<TransformDefinition>;

// All transforms. Made once.
const TransformDefinitions& BuiltinTransforms();

// `Settings` is a struct with Visit and Validate, like every section of an experiment.
template <class Settings>
absl::StatusOr<Settings> ReadTransformSettings(const std::string& json, const std::string& path) {
  Settings settings;
  WAGGLE_RETURN_IF_ERROR(ReadJsonSection(json, path, [&settings](ConfigVisitor& visitor) { settings.Visit(visitor); }));
  WAGGLE_RETURN_IF_ERROR(Annotate(settings.Validate(), path));
  return settings;
}

// The registry's entry of a class. It derives from EnvironmentTransform and has a type `Settings`, `static absl::Status
// Change(const Settings&, TransformedSpec*)` and a constructor of `const Settings&` and TransformParts.
template <class Class>
TransformDefinition TransformOf(std::string description) {
  using Settings = typename Class::Settings;
  TransformDefinition definition;
  definition.description = std::move(description);
  definition.changes_rewards = Class::kChangesRewards;
  definition.starts_lanes = Class::kStartsLanes;
  definition.check = [](const std::string& json, const std::string& path) {
    return ReadTransformSettings<Settings>(json, path).status();
  };
  definition.change = [](const std::string& json, const std::string& path, TransformedSpec* spec) -> absl::Status {
    WAGGLE_ASSIGN_OR_RETURN(const Settings settings, ReadTransformSettings<Settings>(json, path));
    return Annotate(Class::Change(settings, spec), path);
  };
  definition.create = [](const std::string& json, const std::string& path,
                         TransformParts parts) -> absl::StatusOr<std::unique_ptr<VectorEnvironment>> {
    WAGGLE_ASSIGN_OR_RETURN(const Settings settings, ReadTransformSettings<Settings>(json, path));
    return std::make_unique<Class>(settings, std::move(parts));
  };
  return definition;
}

}  // namespace waggle
