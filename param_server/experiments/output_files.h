#pragma once

#include <string>

#include "absl/status/status.h"
#include "param_server/experiments/experiment_store.h"
#include "waggle/v1/worker.pb.h"

// The files in a run's output folder beside its figures and weights. Functions wait for the disk; errors name the file.

namespace waggle {

// Writes experiment.yaml for a run that is opened. All errors are UNAVAILABLE: the experiment is not their cause.
absl::Status WriteBeginning(const std::string& output_folder, const std::string& yaml);

// The text of a closed run's summary.json. `overview`: of the run when it was closed.
std::string SummaryJson(const ExperimentRecord& record, const v1::OverviewResponse& overview);
// Removes the summary of a closed run that goes on.
absl::Status RemoveSummary(const std::string& output_folder);
absl::Status WriteSummary(const std::string& output_folder, const std::string& json);

}  // namespace waggle
