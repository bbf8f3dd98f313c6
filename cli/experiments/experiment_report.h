#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "absl/time/time.h"
#include "waggle/v1/experiment.pb.h"

namespace waggle {

// A hub's experiments and its pool, as text for people and as JSON for programs. Times in JSON are Unix seconds, or
// null. Pure functions.

// One line per experiment and per group, the newest first, with its settings, tags and owner if that tells them apart.
// A reason that several members of a group have is written once.
// An extra line if the list is empty, or if more experiments follow.
std::string ExperimentsText(const v1::ListExperimentsResponse& experiments, absl::Time now);
nlohmann::ordered_json ExperimentsJson(const v1::ListExperimentsResponse& experiments);
nlohmann::ordered_json GroupsJson(const v1::ListExperimentsResponse& experiments);
nlohmann::ordered_json ExperimentJson(const v1::ExperimentInfo& experiment);
// "pole-x7k2q: stopped: stopped by a user".
std::string StandingText(const v1::ExperimentInfo& experiment);

// "algorithm.optimizer.learning_rate: 0.001 -> 0.0001" for each change. `dry_run`: none is made.
std::string ChangesText(const v1::SetNumbersResponse& done, bool dry_run);
nlohmann::ordered_json ChangesJson(const v1::SetNumbersResponse& done, bool dry_run);

std::string PoolText(const v1::PoolResponse& pool);
nlohmann::ordered_json PoolJson(const v1::PoolResponse& pool);

// "2026-05-01 12:00:00  what has happened", in UTC.
std::string EventText(const v1::ExperimentEvent& event);
// {"number":7,"at":1777636800.0,"text":"what has happened"} and a newline.
std::string EventJsonLine(const v1::ExperimentEvent& event);

}  // namespace waggle
