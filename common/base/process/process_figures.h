#pragma once

#include <string>

#include "common/base/metrics/prometheus_text.h"

namespace waggle {

// Writes figures that every process has: waggle_build_info, with the part ("learner") as a label, and process_… by the
// names of Prometheus's own clients. Those that the system does not tell are left out.
void WriteProcessFigures(const std::string& part, PrometheusText* text);

}  // namespace waggle
