#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/config/experiment/experiment.h"

namespace waggle {

// Settings are the values of an experiment that were set after its submission, as text: see settings_text.h.

// ParseStoredExperiment with these settings. INVALID_ARGUMENT also for text of another form.
absl::StatusOr<Experiment> ParseWithSettings(const std::string& yaml, const std::string& origin,
                                             const std::string& settings, const AlgorithmDefinitions& algorithms);
// A parsed experiment with these settings, which include all that it has been parsed with.
absl::StatusOr<Experiment> WithSettings(const Experiment& experiment, const std::string& settings,
                                        const AlgorithmDefinitions& algorithms);

struct SettingChange {
  std::string key;
  std::string from;  // Values as YAML.
  std::string to;
};

struct ChangedSettings {
  std::string settings;                // All settings after the change.
  std::vector<SettingChange> changes;  // Without numbers that keep their value.
  Experiment experiment;               // With the settings.
};

// Sets numbers, {"algorithm.optimizer.learning_rate", "1e-4"}, of the stored experiment with these settings.
// INVALID_ARGUMENT, one problem a line, each behind its key, for a key that cannot change while the experiment runs, a
// value out of range, and values that contradict each other; FAILED_PRECONDITION for a deterministic experiment.
absl::StatusOr<ChangedSettings> ChangeSettings(const std::string& yaml, const std::string& settings,
                                               const std::vector<std::pair<std::string, std::string>>& wanted,
                                               const AlgorithmDefinitions& algorithms);

}  // namespace waggle
