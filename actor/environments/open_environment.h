#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "actor/environments/environment.h"
#include "actor/environments/pictures/video_options.h"
#include "actor/environments/vector_environment.h"
#include "common/base/random.h"
#include "common/base/threads/stop_token.h"
#include "common/config/experiment/sections.h"

namespace waggle {

// The environments that an actor offers the pool: EnvironmentOptions::Offer of each that may be opened here. A missing
// Python package is found only when an environment is opened.
std::vector<std::string> OfferedEnvironments(const EnvironmentDefinitions& built_in);

// The folder of this executable's release that Python runs: it steps environments and converts data sets.
std::string EnvironmentPackage();

struct LaneOptions {
  int64_t lanes = 1;
  // Recv gives lanes in the order of their numbers, once all lanes under way are ready, so that the same seed gives the
  // same rows. If false, lanes that are ready do not wait for others.
  bool in_order = false;
  // Films episodes: built-in environments as animated WebP, Gymnasium's by its RecordVideo, in one process.
  // INVALID_ARGUMENT for other environments; UNIMPLEMENTED if a built-in one cannot draw itself.
  std::optional<VideoOptions> video;
  // Failures in a row of one Python process that end the run: see ProcessEnvironmentsOptions.
  int64_t max_failures = 5;
  // Leaves out reward transforms, so that returns are the environment's own.
  bool raw_rewards = false;
};

// Opens the environment that `options` name, with its transforms around it: in this process if it is one of `built_in`,
// else in new processes or on servers. Random numbers follow from `rng`. NOT_FOUND or INVALID_ARGUMENT, with the cause,
// if it cannot be opened; CANCELLED after a stop. The calling thread must outlive the result.
absl::StatusOr<std::unique_ptr<VectorEnvironment>> OpenEnvironment(const EnvironmentDefinitions& built_in,
                                                                   const EnvironmentOptions& options,
                                                                   const LaneOptions& lanes, Rng rng,
                                                                   const StopToken& stop);

}  // namespace waggle
