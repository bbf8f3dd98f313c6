#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "actor/environments/environment.h"
#include "actor/pictures/video_options.h"
#include "actor/vector_environment.h"
#include "common/base/random.h"
#include "common/base/stop_token.h"
#include "common/experiment/sections.h"

namespace waggle {

// What an actor tells the pool that it can step: EnvironmentOptions::Offer of every environment that may be opened
// here. Whether this machine's Python has what an environment needs is known once it is opened.
std::vector<std::string> OfferedEnvironments(const EnvironmentDefinitions& built_in);

struct LaneOptions {
  int64_t lanes = 1;
  // Recv gives lanes in the order of their numbers once all that are under way are ready, so that the same seed gives
  // the same rows. Without it, lanes that are ready do not wait for others.
  bool in_order = false;
  // Films episodes: of built-in environments as animated WebP, of Gymnasium's as its RecordVideo writes them, in one
  // process. INVALID_ARGUMENT for others, and UNIMPLEMENTED for a built-in one that does not draw itself.
  std::optional<VideoOptions> video;
  // So many failures in a row of one of Python's processes end the run: see ProcessEnvironmentsOptions.
  int64_t max_failures = 5;
  // Transforms of rewards are left out, so that returns are the environment's own.
  bool raw_rewards = false;
};

// Opens the environment that `options` name, wherever it runs: in this process if it is one of `built_in`, else in
// processes that are started here; its transforms stand around it. Random numbers follow from `rng`. NOT_FOUND or
// INVALID_ARGUMENT, with what is missing, if it cannot be had; CANCELLED after a stop. The calling thread must outlive
// what is returned.
absl::StatusOr<std::unique_ptr<VectorEnvironment>> OpenEnvironment(const EnvironmentDefinitions& built_in,
                                                                   const EnvironmentOptions& options,
                                                                   const LaneOptions& lanes, Rng rng,
                                                                   const StopToken& stop);

}  // namespace waggle
