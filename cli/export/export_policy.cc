#include "cli/export/export_policy.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "actor/environments/environment.h"
#include "actor/environments/open_environment.h"
#include "cli/export/exported_transforms.h"
#include "common/base/annotate.h"
#include "common/base/file.h"
#include "common/base/status_macros.h"
#include "common/config/experiment/experiment.h"
#include "common/onnx/policy_model.h"
#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/policy_forms.h"
#include "nlohmann/json.hpp"

namespace waggle {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostSummaryBytes = size_t{1} << 26;

// Learns the facts about the environment that evaluations act in.
absl::Status AskEnvironment(const EnvironmentOptions& options, const StopToken& stop, PolicySource* source) {
  const EnvironmentDefinitions built_in = BuiltinEnvironments();
  if (options.is_built_in()) {
    WAGGLE_ASSIGN_OR_RETURN(const EnvironmentDefinition* const definition, built_in.Find(options.name));
    WAGGLE_ASSIGN_OR_RETURN(const EnvironmentSpec spec, definition->spec(options));
    return DivideTransforms(options, spec, source);
  }
  LaneOptions lanes;
  lanes.max_failures = 1;
  EnvironmentOptions bare = options;
  bare.transforms = "[]";
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<VectorEnvironment> environment,
                          OpenEnvironment(built_in, bare, lanes, Rng(0), stop));
  source->starts = environment->choice_starts();
  return DivideTransforms(options, environment->spec(), source);
}

// The result in the summary of a run's folder; empty if there is none.
std::string ResultOf(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadSmallFile((fs::path(path) / "summary.json").string(), kMostSummaryBytes);
  const nlohmann::json summary =
      text.ok() ? nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false) : nullptr;
  return summary.is_object() && summary.contains("result") && summary["result"].is_object() ? summary["result"].dump()
                                                                                            : "";
}

absl::StatusOr<std::string> Export(const SavedWeights& weights, const std::string& result_json,
                                   const std::string& output, const StopToken& stop) {
  PolicySource source;
  source.weights = weights;
  source.result_json = result_json;
  const AlgorithmDefinitions algorithms = BuiltinAlgorithmDefinitions();
  WAGGLE_ASSIGN_OR_RETURN(source.experiment,
                          ParseStoredExperiment(weights.experiment_yaml, "the experiment in it", {}, algorithms));
  WAGGLE_RETURN_IF_ERROR(AskEnvironment(source.experiment.evaluation.environment, stop, &source));
  WAGGLE_ASSIGN_OR_RETURN(const onnx::ModelProto model, PolicyModel(source, algorithms, BuiltinPolicyForms()));
  std::string bytes;
  if (!model.SerializeToString(&bytes)) {
    return absl::InvalidArgumentError(
        "the policy: got more than 2 GiB; wanted at most that, the limit of an ONNX file");
  }
  WAGGLE_RETURN_IF_ERROR(WriteFileAtomically(output, bytes));
  std::vector<std::string> inputs, outputs;
  for (const onnx::ValueInfoProto& input : model.graph().input()) {
    inputs.push_back(input.name());
  }
  for (const onnx::ValueInfoProto& value : model.graph().output()) {
    outputs.push_back(value.name());
  }
  return absl::StrCat(output, ": ", source.experiment.algorithm, " for ", source.environment.name, ", ",
                      SavedKindName(weights.kind), " weights; takes ", absl::StrJoin(inputs, ", "), "; gives ",
                      absl::StrJoin(outputs, ", "), "\n");
}

}  // namespace

absl::StatusOr<std::string> ExportPolicy(const SavedWeights& weights, const std::string& result_json,
                                         const std::string& output, const StopToken& stop) {
  absl::StatusOr<std::string> exported = Export(weights, result_json, output, stop);
  WAGGLE_RETURN_IF_ERROR(Annotate(exported.status(), weights.folder));
  return exported;
}

absl::StatusOr<std::string> ExportSavedPolicy(const std::string& path, bool newest, const std::string& output,
                                              const StopToken& stop) {
  WAGGLE_ASSIGN_OR_RETURN(const SavedWeights weights, LoadTrainedWeights(path, newest));
  // Folders of weights and checkpoints belong to the process that writes them.
  std::error_code error;
  const fs::path folder = fs::equivalent(path, weights.folder, error) ? fs::path() : fs::path(path);
  return ExportPolicy(weights, weights.kind == SavedKind::kBest ? ResultOf(path) : "",
                      output.empty() ? (folder / "policy.onnx").string() : output, stop);
}

}  // namespace waggle
