#pragma once

#include <map>
#include <set>
#include <string>

#include "common/api/hub.h"

namespace waggle {

struct HubOverview;

using Figures = std::map<std::string, double>;

// What is recorded of a run and shown of it, by name: each figure is defined here alone. Pure functions.

// The figures of now. Of each role ("actor", "learner", "replay", "evaluator", "hub"), what its processes report:
//
//   ROLE/COUNTER        the sum, those that have gone included
//   ROLE/COUNTER_per_s  the sum of the rates
//   ROLE/GAUGE          the mean; of replay servers the sum, as they hold parts of one buffer
//
// A gauge with a group of its own ("algorithm/loss") keeps its name. actor/env_steps and learner/steps are the run's,
// model/epoch, model/version and model/bytes those of the newest weights.
//
// What nobody knows now is absent: figures of a role of which no process is current, and the replay servers' while one
// of them is not. So are those of the roles in `left_out`.
Figures RunFigures(const HubOverview& overview, const std::set<Role>& left_out = {});

// evaluation/mean_return and what else there is to an evaluation.
Figures EvaluationFigures(const Evaluation& evaluation);

}  // namespace waggle
