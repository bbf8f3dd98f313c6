#pragma once

#include <cstdint>

#include "common/config/experiment/algorithm_definition.h"
#include "common/config/plan/exploration_options.h"
#include "common/config/plan/optimizer_options.h"

namespace waggle {

// Recurrent replay distributed DQN (Kapturowski et al. 2019, "Recurrent Experience Replay in Distributed Reinforcement
// Learning"): Ape-X DQN from prioritised sequences, for networks with a core. Its state is stored with each sequence
// and warmed up by the present weights before learning.
struct R2d2Options : public AlgorithmOptions {
  int64_t sequence = 40;  // Learned steps of a sequence.
  // Preceding steps, which only warm the state up. A sequence that begins with its episode has none.
  int64_t burn_in = 40;
  int64_t n_step = 5;       // Rewards summed before a value takes over; fewer at a sequence's end.
  double discount = 0.997;  // Per step.
  // epsilon of h(x) = sign(x) (sqrt(|x| + 1) - 1) + epsilon x: the network learns h of returns.
  double rescaling_epsilon = 0.001;
  // The target network takes over this share of the online one every update_steps learner steps.
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
