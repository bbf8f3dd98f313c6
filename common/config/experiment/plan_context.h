#pragma once

#include <map>
#include <string>

#include "common/config/experiment/sections.h"
#include "common/config/plan/network_spec.h"
#include "common/config/spec/environment_spec.h"

namespace waggle {

// The plans of algorithms and modules depend on these beside their own options.
struct PlanContext {
  const EnvironmentSpec& environment;
  const std::map<std::string, NetworkSpec>& networks;  // The configuration's, by name.
  const ReplayOptions& replay;
  const LearnerOptions& learner;
};

}  // namespace waggle
