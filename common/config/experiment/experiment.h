#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/config/experiment/algorithm_definition.h"
#include "common/config/experiment/sections.h"
#include "common/config/plan/network_spec.h"
#include "common/config/spec/environment_spec.h"

namespace waggle {

// A whole experiment: one YAML file read over the algorithm's own defaults and those of the sections.
struct Experiment {
  ExperimentOptions experiment;
  EnvironmentOptions environment;
  std::string algorithm;                                      // `algorithm.name`.
  std::shared_ptr<const AlgorithmOptions> algorithm_options;  // The rest of `algorithm:`; never null once parsed.
  std::vector<ModuleChoice> modules;                          // `algorithm.modules`.
  std::map<std::string, NetworkSpec> networks;                // The algorithm's, by name.
  ReplayOptions replay;
  ActorOptions actor;
  LearnerOptions learner;
  EvaluationOptions evaluation;
  StopOptions stop;
};

// Parses an experiment from YAML text. `overrides` are {"learner.batch_size", "256"} pairs that replace or add a value
// first, as if the file had it. `origin` is the file's name, for messages.
//
// INVALID_ARGUMENT lists every problem, one a line: "FILE:LINE: PATH: got …; wanted …". Problems are unknown keys (with
// the nearest known one), keys given twice, wrong types and values out of range, an unknown algorithm, and an
// environment that is not in `environments`; if that is empty, any environment is right.
absl::StatusOr<Experiment> ParseExperiment(const std::string& yaml, const std::string& origin,
                                           const std::vector<std::pair<std::string, std::string>>& overrides,
                                           const AlgorithmDefinitions& algorithms,
                                           const std::vector<std::string>& environments = {});

// ParseExperiment for ToYaml's text, of this version or an earlier one: keys that mean nothing beside the others, or
// that have been removed since, are passed over.
absl::StatusOr<Experiment> ParseStoredExperiment(const std::string& yaml, const std::string& origin,
                                                 const std::vector<std::pair<std::string, std::string>>& overrides,
                                                 const AlgorithmDefinitions& algorithms);

// ParseExperiment for a file. NOT_FOUND or another error of the file system if it cannot be read.
absl::StatusOr<Experiment> LoadExperiment(const std::string& path,
                                          const std::vector<std::pair<std::string, std::string>>& overrides,
                                          const AlgorithmDefinitions& algorithms,
                                          const std::vector<std::string>& environments = {});

// ParseExperiment, and then CheckAgainstEnvironment with the facts that `spec_of` gives for the (valid) environment,
// which are stored in `environment`. If `spec_of` gives nothing there is no such check. INVALID_ARGUMENT lists the
// problems of both: sections without mistakes are checked even if others have some.
absl::StatusOr<Experiment> ParseAndCheckExperiment(
    const std::string& yaml, const std::string& origin,
    const std::vector<std::pair<std::string, std::string>>& overrides, const AlgorithmDefinitions& algorithms,
    const std::vector<std::string>& environments,
    const std::function<absl::StatusOr<std::optional<EnvironmentSpec>>(const EnvironmentOptions& options)>& spec_of,
    std::optional<EnvironmentSpec>* environment);

// Visits all fields that have a meaning beside the others. The visitor must change none.
void VisitExperiment(const Experiment& experiment, ConfigVisitor& visitor);

// The experiment as YAML, with every value that has a meaning beside the others. Parsing that gives the same experiment
// again.
std::string ToYaml(const Experiment& experiment);

}  // namespace waggle
