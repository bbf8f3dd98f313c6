#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/plan/exploration_options.h"
#include "common/plan/optimizer_options.h"
#include "common/plan/table_plan.h"

namespace waggle {

// The output of a head for one row of observations. Its size follows from the action, which is that of all leaves
// together (common/spec/joint_action.h).
enum class HeadKind {
  kQ,              // A value for each choice of a discrete action.
  kValue,          // One number.
  kCategorical,    // Logits of each element's choices, where all elements are choices.
  kNormal,         // The means of a real action's elements, and their standard deviations.
  kTanhNormal,     // The same before tanh, which puts the action into (-1, 1).
  kDeterministic,  // The action itself, in (-1, 1), by tanh.
  kMixed,          // Those of kCategorical, and then those of kNormal, where some elements are choices and others real.
};

// A network that an algorithm learns with. What is inside is the configuration's to say (NetworkSpec).
struct NetworkNeed {
  std::string name;                       // A key of `networks:`; metrics, messages and checkpoints use it.
  std::map<std::string, HeadKind> heads;  // By name.
  OptimizerOptions optimizer = {};
  bool acts = false;          // Published: all that actors and evaluators hold. One network of an algorithm does.
  bool takes_action = false;  // The action is one more input, beside the observation's leaves.
  bool has_target = false;    // A copy that follows it (Net::FollowTarget).
  // Side by side, each with weights of its own. Present, even 1: outputs are [members, rows, …].
  std::optional<int64_t> members = {};
};

// A number that is learned, such as the logarithm of a temperature.
struct ScalarNeed {
  std::string name;
  double initial = 0;
  OptimizerOptions optimizer = {};
};

// The needs of an algorithm for its options and an environment. Pure data: `waggle check` prints it, the replay side
// makes tables of it, actors and learners build from it, checkpoints and published weights follow from it.
struct AlgorithmPlan {
  std::vector<NetworkNeed> networks = {};
  std::vector<ScalarNeed> scalars = {};
  // The columns that the acting network adds to every row of the stream: "value", and "log_prob", which is what its
  // policy gives the action that was taken, also where exploration has changed that. PlanExperiment adds "core_state"
  // where the network has a core, here and to the tables.
  std::vector<std::string> columns = {};
  // The same for initial priorities alone, which leave no actor: "q_taken", "q_max".
  std::vector<std::string> private_columns = {};
  ExplorationOptions exploration = {};
  // Present: actors learn of nothing while they act. Each acts so many rows in every lane by one version of the
  // weights, all lanes in step, and then waits for the next version: what a learner step learns from was acted by the
  // weights that it changes. All tables are of kUnroll windows one row longer than that, which do not overlap: their
  // last row only shows the observation that the last step led to, and the next unroll begins with it as a row of its
  // own.
  std::optional<int64_t> rows_per_version = {};
  // Whether an update takes several steps, each from where the one before has come to: gradients of it can then not be
  // computed by one process and stepped from by another.
  bool iterates = false;
  // True if an update scales returns by statistics of what its own process has learned from: gradients of several
  // processes are then of different scales, and must not be averaged.
  bool normalizes_returns = false;
  std::vector<TablePlan> tables = {};
};

}  // namespace waggle
