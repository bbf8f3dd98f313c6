#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "cli/experiments/experiment_client.h"
#include "common/base/threads/stop_token.h"
#include "waggle/v1/experiment.pb.h"

namespace waggle {

// The cuts of an experiment (docs/cuts.md), for `waggle checkpoint` and `waggle inspect --cuts`.

// Makes a cut and waits until it is complete. ABORTED, with the reason, if it could not be made; otherwise the hub's
// errors. CANCELLED after a stop: the hub goes on with the cut.
absl::StatusOr<v1::CutsResponse::Cut> MakeCut(const ExperimentClient& client, const std::string& id,
                                              const StopToken& stop = StopToken());

// "pole-x7k2q: cut 3: learner step 1200, 40000 environment steps, made at 2026-05-01 12:00:00 UTC".
std::string CutText(const std::string& id, const v1::CutsResponse::Cut& cut);
nlohmann::ordered_json CutJson(const v1::CutsResponse::Cut& cut);

// The cuts, the oldest first, a line each, and what is known of those that are not complete.
std::string CutsText(const std::string& id, const v1::CutsResponse& cuts);
nlohmann::ordered_json CutsJson(const v1::CutsResponse& cuts);

}  // namespace waggle
