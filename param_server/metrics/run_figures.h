#pragma once

#include <map>
#include <set>
#include <string>

#include "common/hub/ports/hub.h"

namespace waggle {

struct HubOverview;

using Figures = std::map<std::string, double>;

// A run's figures by name, recorded and shown. Each figure is defined here alone. Pure functions.

// The present figures. Each role ("actor", "learner", "replay", "evaluator", "hub") has the reports of its processes:
//
//   ROLE/COUNTER        the sum, including departed processes
//   ROLE/COUNTER_per_s  the sum of the rates
//   ROLE/GAUGE          the mean; for replay servers the sum, as they hold parts of one buffer
//
// A gauge with a group of its own ("algorithm/loss") keeps its name. actor/env_steps and learner/steps are the run's,
// model/epoch, model/version and model/bytes those of the newest weights.
//
// Absent are figures of a role without a current process, of replay servers if one of them is not current, and of the
// roles in `left_out`.
Figures RunFigures(const HubOverview& overview, const std::set<Role>& left_out = {});

// evaluation/mean_return and the other figures of an evaluation.
Figures EvaluationFigures(const Evaluation& evaluation);

}  // namespace waggle
