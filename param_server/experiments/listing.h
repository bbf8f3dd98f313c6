#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "param_server/experiments/experiment_view.h"
#include "param_server/experiments/host_state.h"
#include "waggle/v1/experiment.pb.h"

namespace waggle {

// A page of experiments, the newest first; see ListExperimentsResponse.
v1::ListExperimentsResponse ListExperiments(HostState* host, const ExperimentQuery& query)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(host->mutex);

// ExperimentService::Resolve. INVALID_ARGUMENT for an empty word.
absl::StatusOr<v1::ResolveResponse> ResolveWord(HostState* host, const std::string& word)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(host->mutex);

// Sums up a group. `members`: at least one, in the order of their submission.
v1::ExperimentGroup Summarize(const std::vector<v1::ExperimentInfo>& members);

}  // namespace waggle
