#pragma once

#include <string>

#include "absl/status/status.h"
#include "common/config/experiment/module_definition.h"

namespace waggle {

// A head of one of the algorithm's networks that predicts what the environment does, so that the network's features
// describe it (auxiliary tasks, arXiv 1611.05397). Nothing acts by it.
struct DecoderOptions : public ModuleOptions {
  // The algorithm's network; empty: the first that has observations as its only inputs.
  std::string network;
  // The numbers of the observation after the step; or observation, those of the one before it; or reward.
  std::string predicts = "next_observation";
  double weight = 1;  // The weight of the mean square of its errors beside the algorithm's loss.

  void Visit(ConfigVisitor& visitor) override;
  absl::Status Validate() const override { return absl::OkStatus(); }
};

inline constexpr char kDecoderHead[] = "decoder";

}  // namespace waggle
