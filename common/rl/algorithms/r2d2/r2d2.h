#pragma once

#include <cstdint>

#include "common/experiment/algorithm_definition.h"
#include "common/plan/exploration_options.h"
#include "common/plan/optimizer_options.h"

namespace waggle {

// Recurrent replay distributed DQN (Kapturowski et al. 2019, "Recurrent Experience Replay in Distributed Reinforcement
// Learning"): Ape-X DQN from prioritised sequences, for networks with a core, whose state is stored with each sequence
// and warmed up by the weights of now before anything is learned from it.
struct R2d2Options : public AlgorithmOptions {
  int64_t sequence = 40;  // Steps of a sequence that are learned from.
  // Steps before them, which only warm the state up. A sequence that begins with its episode has none.
  int64_t burn_in = 40;
  int64_t n_step = 5;       // Rewards that are summed before a value takes over; fewer where the sequence ends.
  double discount = 0.997;  // A step.
  // Of h(x) = sign(x) (sqrt(|x| + 1) - 1) + rescaling_epsilon x: the network learns h of the returns.
  double rescaling_epsilon = 0.001;
  // Every update_steps learner steps the target network takes over this share of the online one.
  double target_update_rate = 0.01;
  int64_t update_steps = 1;

  // A sequence's priority is eta * max + (1 - eta) * mean of the |TD error| of its learned steps.
  double eta = 0.9;

  ExplorationOptions exploration{"epsilon_greedy", 0, 0.4, 7};
  OptimizerOptions optimizer;

  R2d2Options();

  void Visit(ConfigVisitor& visitor) override;
  absl::Status Validate() const override { return absl::OkStatus(); }
};

}  // namespace waggle
