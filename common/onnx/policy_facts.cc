#include "common/onnx/policy_facts.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/build_info.h"
#include "nlohmann/json.hpp"

namespace waggle {
namespace {

using nlohmann::json;

// JSON has no infinities.
json Bounds(const std::vector<double>& bounds) {
  json numbers = json::array();
  for (const double bound : bounds) {
    numbers.push_back(std::isfinite(bound) ? json(bound) : json(bound > 0 ? "inf" : "-inf"));
  }
  return numbers;
}

std::string LeavesJson(const PolicySource& source, const std::vector<SpaceLeaf>& leaves) {
  json list = json::array();
  for (const SpaceLeaf& leaf : leaves) {
    json told = {{"name", leaf.array.name},
                 {"kind", Name(leaf.kind)},
                 {"dtype", std::string(DTypeName(leaf.array.dtype))},
                 {"shape", leaf.array.shape}};
    if (!leaf.num_values.empty()) {
      told["num_values"] = leaf.num_values;
    }
    if (!leaf.low.empty()) {
      told["low"] = Bounds(leaf.low);
      told["high"] = Bounds(leaf.high);
    }
    const auto start = source.starts.find(leaf.array.name);
    if (start != source.starts.end() && start->second.size() == leaf.num_values.size()) {
      told["start"] = start->second;
    }
    list.push_back(std::move(told));
  }
  return list.dump();
}

}  // namespace

void AddPolicyFacts(const PolicySource& source, const ExperimentPlan& plan, int64_t state_size,
                    onnx::ModelProto* model) {
  const auto add = [model](const char* key, const std::string& value) {
    onnx::StringStringEntryProto* const entry = model->add_metadata_props();
    entry->set_key(absl::StrCat("waggle.", key));
    entry->set_value(value);
  };
  const SavedWeights& weights = source.weights;
  add("format", absl::StrCat(kPolicyFormat));
  add("version", kVersion);
  add("experiment", source.experiment.experiment.name);
  add("algorithm", source.experiment.algorithm);
  add("environment", source.environment.name);
  add("observations", LeavesJson(source, source.Inputs()));
  add("actions", LeavesJson(source, source.environment.actions));
  add("transforms", source.transforms_json);
  add("state_size", absl::StrCat(state_size));
  add("network_hash", absl::StrFormat("%016x", plan.acting_hash()));
  add("weights", SavedKindName(weights.kind));
  if (weights.learner.has_value()) {
    add("weights_version", absl::StrCat(weights.learner->step));
  } else {
    add("weights_epoch", absl::StrCat(weights.snapshot->version.epoch));
    add("weights_version", absl::StrCat(weights.snapshot->version.version));
  }
  if (weights.env_steps.has_value()) {
    add("env_steps", absl::StrFormat("%.0f", *weights.env_steps));
  }
  if (!source.result_json.empty()) {
    add("result", source.result_json);
  }
}

}  // namespace waggle
