#pragma once

#include <string>

#include "absl/status/status.h"
#include "param_server/experiments/experiment_store.h"
#include "waggle/v1/worker.pb.h"

// What a run leaves in its output folder, beside its figures and its weights. Those that write wait for the disk; their
// errors name the file.

namespace waggle {

// For a run that begins, or goes on: experiment.yaml, which is `yaml`. UNAVAILABLE for all that hinders: it never lies
// with the experiment.
absl::Status WriteBeginning(const std::string& output_folder, const std::string& yaml);

// The text of a closed run's summary.json. `overview`: what was known of it when it was closed.
std::string SummaryJson(const ExperimentRecord& record, const v1::OverviewResponse& overview);
// The summary that a run left when it was closed, if the run goes on.
absl::Status RemoveSummary(const std::string& output_folder);
absl::Status WriteSummary(const std::string& output_folder, const std::string& json);

}  // namespace waggle
