#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "param_server/services/run_services.h"

namespace waggle::testing {

// Finds the services of the only experiment by any id. The pointers outlive the result.
inline FindRun SingleRun(Hub* hub, ModelStore* models, Metrics* metrics,
                         std::function<uint64_t()> last_epoch = nullptr) {
  auto run = std::make_shared<RunServices>();
  run->hub = hub;
  run->groups = hub == nullptr ? nullptr : hub->group_store();
  run->models = models;
  run->metrics = metrics;
  run->last_epoch = std::move(last_epoch);
  if (hub != nullptr) {
    run->fenced_epoch = [hub] { return hub->fenced_epoch(); };
    run->env_steps = [hub](const ModelVersion& version) { return hub->EnvStepsAt(version); };
  }
  return [run](const std::string& /*experiment_id*/) { return run; };
}

}  // namespace waggle::testing
