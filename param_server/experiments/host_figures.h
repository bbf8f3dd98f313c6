#pragma once

#include "common/base/metrics/prometheus_text.h"
#include "param_server/experiments/host_state.h"

namespace waggle {

// Writes the hub's figures: experiments by state, the pool by kind, its events, and the standing of running
// experiments. Of these the first kMostShown become labels, so that the number of series has a limit.
void WriteHostFigures(HostState* host, PrometheusText* text) ABSL_LOCKS_EXCLUDED(host->mutex);

inline constexpr size_t kMostShown = 50;

// The exported figures among the hub's own for its running experiments.
std::vector<ExportedFigure> HubFigures();

}  // namespace waggle
