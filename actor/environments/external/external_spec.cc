#include "actor/environments/external/external_spec.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/status_macros.h"
#include "common/base/tensor/dtype.h"

namespace waggle {
namespace {

using Json = nlohmann::json;

constexpr std::pair<const char*, SpaceKind> kKinds[] = {
    {"box", SpaceKind::kBox},
    {"discrete", SpaceKind::kDiscrete},
    {"multi-discrete", SpaceKind::kMultiDiscrete},
    {"multi-binary", SpaceKind::kMultiBinary},
};

absl::Status Wrong(const std::string& key, const Json& got, const char* wanted) {
  return absl::InternalError(absl::StrCat("spec: ", key, ": got ", got.dump().substr(0, 100), "; wanted ", wanted));
}

// A member of an object; null if it is missing.
const Json& Member(const Json& object, const char* key) {
  static const Json* const none = new Json();
  const auto found = object.find(key);
  return found == object.end() ? *none : *found;
}

absl::StatusOr<std::string> Text(const Json& object, const char* key) {
  const Json& value = Member(object, key);
  return value.is_string() ? absl::StatusOr<std::string>(value.get<std::string>()) : Wrong(key, value, "a string");
}

absl::StatusOr<std::vector<int64_t>> Integers(const Json& object, const char* key) {
  const Json& value = Member(object, key);
  std::vector<int64_t> integers;
  for (const Json& one : value) {
    if (!value.is_array() || !one.is_number_integer()) {
      return Wrong(key, value, "a list of integers");
    }
    integers.push_back(one.get<int64_t>());
  }
  return integers;
}

// JSON has no infinities: they are "inf" and "-inf".
absl::StatusOr<std::vector<double>> Bounds(const Json& object, const char* key) {
  const Json& value = Member(object, key);
  std::vector<double> bounds;
  for (const Json& one : value) {
    if (one.is_number()) {
      bounds.push_back(one.get<double>());
    } else if (one == "inf" || one == "-inf") {
      bounds.push_back(one == "inf" ? std::numeric_limits<double>::infinity()
                                    : -std::numeric_limits<double>::infinity());
    } else {
      return Wrong(key, value, "a list of numbers");
    }
  }
  return bounds;
}

absl::StatusOr<SpaceLeaf> Leaf(const Json& object) {
  if (!object.is_object()) {
    return Wrong("a leaf", object, "an object");
  }
  SpaceLeaf leaf;
  WAGGLE_ASSIGN_OR_RETURN(leaf.array.name, Text(object, "name"));
  WAGGLE_ASSIGN_OR_RETURN(const std::string dtype, Text(object, "dtype"));
  WAGGLE_ASSIGN_OR_RETURN(leaf.array.dtype, ParseDType(dtype));
  WAGGLE_ASSIGN_OR_RETURN(leaf.array.shape, Integers(object, "shape"));
  WAGGLE_ASSIGN_OR_RETURN(leaf.num_values, Integers(object, "num_values"));
  WAGGLE_ASSIGN_OR_RETURN(leaf.low, Bounds(object, "low"));
  WAGGLE_ASSIGN_OR_RETURN(leaf.high, Bounds(object, "high"));
  WAGGLE_ASSIGN_OR_RETURN(const std::string kind, Text(object, "kind"));
  for (const auto& [name, known] : kKinds) {
    if (kind == name) {
      leaf.kind = known;
      return leaf;
    }
  }
  return Wrong("kind", Member(object, "kind"), "box, discrete, multi-discrete or multi-binary");
}

absl::StatusOr<std::vector<SpaceLeaf>> Leaves(const Json& object, const char* key) {
  const Json& list = Member(object, key);
  if (!list.is_array()) {
    return Wrong(key, list, "a list of leaves");
  }
  std::vector<SpaceLeaf> leaves;
  for (const Json& one : list) {
    WAGGLE_ASSIGN_OR_RETURN(SpaceLeaf leaf, Leaf(one));
    leaves.push_back(std::move(leaf));
  }
  return leaves;
}

}  // namespace

absl::StatusOr<ExternalSpec> ParseExternalSpec(const std::string& json, const std::string& name) {
  const Json object = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) {
    return absl::InternalError(absl::StrCat("spec: got ", json.substr(0, 100), "; wanted a JSON object"));
  }
  ExternalSpec spec;
  EnvironmentSpec& environment = spec.environment;
  environment.name = name;
  WAGGLE_ASSIGN_OR_RETURN(environment.observations, Leaves(object, "observations"));
  WAGGLE_ASSIGN_OR_RETURN(environment.actions, Leaves(object, "actions"));
  environment.rewards.clear();
  for (const Json& reward : Member(object, "rewards")) {
    ArraySpec array;
    WAGGLE_ASSIGN_OR_RETURN(array.name, Text(reward, "name"));
    WAGGLE_ASSIGN_OR_RETURN(array.shape, Integers(reward, "shape"));
    environment.rewards.push_back(std::move(array));
  }
  if (const Json& limit = Member(object, "max_episode_steps"); limit.is_number_integer()) {
    environment.max_episode_steps = limit.get<int64_t>();
  }
  if (const Json& whole = Member(object, "whole_groups"); whole.is_boolean()) {
    spec.whole_groups = whole.get<bool>();
  }
  for (const char* const list : {"observations", "actions"}) {
    for (const Json& object_of_leaf : Member(object, list)) {
      WAGGLE_ASSIGN_OR_RETURN(const SpaceLeaf leaf, Leaf(object_of_leaf));
      WAGGLE_ASSIGN_OR_RETURN(std::vector<int64_t> start, Integers(object_of_leaf, "start"));
      if (!start.empty() && start.size() != leaf.num_values.size()) {
        return Wrong("start", Member(object_of_leaf, "start"), "one number for each element that is a choice");
      }
      if (!start.empty()) {
        spec.starts[leaf.array.name] = std::move(start);
      }
    }
  }
  for (const Json& note : Member(object, "notes")) {
    if (note.is_string()) {
      spec.notes.push_back(note.get<std::string>());
    }
  }
  WAGGLE_RETURN_IF_ERROR(Annotate(environment.Validate(), name));
  return spec;
}

}  // namespace waggle
