#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "param_server/experiments/experiment_store.h"
#include "waggle/v1/experiment.pb.h"
#include "waggle/v1/worker.pb.h"

namespace waggle {

// The web page's JSON of the hub's messages. Enumerations are words in lower case. Pure functions.

// Without the texts.
nlohmann::ordered_json InfoJson(const v1::ExperimentInfo& info);
// Everything of a run but its curves: the loop and its bottleneck, the figures, the workers.
nlohmann::ordered_json RunJson(const v1::ExperimentInfo& info, const v1::OverviewResponse& overview);
nlohmann::ordered_json MemberJson(const v1::PoolMember& member);
nlohmann::ordered_json EventsJson(const std::vector<ExperimentEvent>& events);

}  // namespace waggle
