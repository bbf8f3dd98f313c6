#include "actor/environments/transforms/apply_transforms.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "actor/environments/transforms/transform.h"
#include "common/base/annotate.h"
#include "common/base/problems.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kPath[] = "environment.transforms";

// A transform of an experiment.
struct GivenTransform {
  const TransformDefinition* definition = nullptr;
  std::string path;  // "environment.transforms[2].resize".
  std::string settings;

  // Changes a valid spec to another.
  absl::Status Change(TransformedSpec* spec) const {
    WAGGLE_RETURN_IF_ERROR(definition->change(settings, path, spec));
    return Annotate(spec->spec.Validate(), path);
  }
};

absl::StatusOr<GivenTransform> ReadTransform(const Json& given, size_t index) {
  const std::string path = absl::StrCat(kPath, "[", index, "]");
  const bool has_settings = given.is_object() && given.size() == 1;
  if (!has_settings && !given.is_string()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": got ", given.dump(), "; wanted NAME or {NAME: {settings}}"));
  }
  const std::string name = has_settings ? given.begin().key() : given.get<std::string>();
  const absl::StatusOr<const TransformDefinition*> definition = BuiltinTransforms().Find(name);
  if (!definition.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", definition.status().message()));
  }
  GivenTransform transform{*definition, absl::StrCat(path, ".", name), "{}"};
  if (has_settings && !given.begin()->is_null()) {
    if (!given.begin()->is_object()) {
      return absl::InvalidArgumentError(
          absl::StrCat(transform.path, ": got ", given.begin()->dump(), "; wanted a mapping of settings"));
    }
    transform.settings = given.begin()->dump();
  }
  WAGGLE_RETURN_IF_ERROR(transform.definition->check(transform.settings, transform.path));
  return transform;
}

// Reads all transforms; their settings are valid.
absl::StatusOr<std::vector<GivenTransform>> ReadTransforms(const EnvironmentOptions& options) {
  const Json list = Json::parse(options.transforms, nullptr, /*allow_exceptions=*/false);
  if (!list.is_array()) {
    return absl::InvalidArgumentError(absl::StrCat(kPath, ": got ", options.transforms, "; wanted a list"));
  }
  std::vector<GivenTransform> transforms;
  Problems problems;
  for (size_t i = 0; i < list.size(); ++i) {
    absl::StatusOr<GivenTransform> transform = ReadTransform(list[i], i);
    problems.AddIfBad("", transform.status());
    if (transform.ok()) {
      transforms.push_back(*std::move(transform));
    }
  }
  WAGGLE_RETURN_IF_ERROR(problems.ToStatus());
  return transforms;
}

}  // namespace

absl::Status CheckTransforms(const EnvironmentOptions& options) {
  return ReadTransforms(options).status();
}

absl::StatusOr<bool> TransformsStartLanes(const EnvironmentOptions& options) {
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<GivenTransform> transforms, ReadTransforms(options));
  return std::any_of(transforms.begin(), transforms.end(),
                     [](const GivenTransform& transform) { return transform.definition->starts_lanes; });
}

absl::StatusOr<EnvironmentSpec> TransformSpec(EnvironmentSpec spec, const EnvironmentOptions& options) {
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<GivenTransform> transforms, ReadTransforms(options));
  TransformedSpec transformed{std::move(spec), {}};
  for (const GivenTransform& transform : transforms) {
    WAGGLE_RETURN_IF_ERROR(transform.Change(&transformed));
  }
  return std::move(transformed.spec);
}

absl::StatusOr<std::unique_ptr<VectorEnvironment>> ApplyTransforms(std::unique_ptr<VectorEnvironment> environment,
                                                                   const EnvironmentOptions& options, bool raw_rewards,
                                                                   Rng rng) {
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<GivenTransform> transforms, ReadTransforms(options));
  if (transforms.empty()) {
    return environment;
  }
  WAGGLE_RETURN_IF_ERROR(environment->spec().Validate());
  TransformedSpec spec{environment->spec(), {}};
  for (const GivenTransform& transform : transforms) {
    TransformParts parts;
    parts.seed = rng.Next();
    parts.before = spec;
    WAGGLE_RETURN_IF_ERROR(transform.Change(&spec));
    if (transform.definition->starts_lanes && environment->lanes_step_together()) {
      return absl::InvalidArgumentError(absl::StrCat(transform.path,
                                                     ": got an environment whose lanes step together; wanted one whose "
                                                     "lanes step by themselves, as with gymnasium.vector \"false\""));
    }
    if (transform.definition->changes_rewards && raw_rewards) {
      continue;
    }
    parts.after = spec;
    parts.inner = std::move(environment);
    WAGGLE_ASSIGN_OR_RETURN(environment,
                            transform.definition->create(transform.settings, transform.path, std::move(parts)));
  }
  return environment;
}

}  // namespace waggle
