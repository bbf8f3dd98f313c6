#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/config/plan/exploration_options.h"
#include "common/config/plan/optimizer_options.h"
#include "common/config/plan/table_plan.h"

namespace waggle {

// The output of a head for one row of observations. Its size follows from the joint action of all leaves
// (common/config/spec/joint_action.h).
enum class HeadKind {
  kQ,              // A value for each choice of a discrete action.
  kValue,          // One number.
  kCategorical,    // Logits of each element's choices, if all elements are choices.
  kNormal,         // The means of a real action's elements, and their standard deviations.
  kTanhNormal,     // The same before tanh, which puts the action into (-1, 1).
  kDeterministic,  // The action itself, in (-1, 1), by tanh.
  kMixed,          // Those of kCategorical, then those of kNormal, if some elements are choices and others real.
};

// A network that an algorithm learns with. Its inside comes from the configuration (NetworkSpec).
struct NetworkNeed {
  std::string name;                       // A key of `networks:`; metrics, messages and checkpoints use it.
  std::map<std::string, HeadKind> heads;  // By name.
  OptimizerOptions optimizer = {};
  bool acts = false;          // Published: actors and evaluators hold nothing else. One network of an algorithm acts.
  bool takes_action = false;  // The action is one more input, beside the observation's leaves.
  bool has_target = false;    // A copy that follows it (Net::FollowTarget).
  // Copies side by side, each with weights of its own. Present, even 1: outputs are [members, rows, …].
  std::optional<int64_t> members = {};
};

// A learned number, such as the logarithm of a temperature.
struct ScalarNeed {
  std::string name;
  double initial = 0;
  OptimizerOptions optimizer = {};
};

// The needs of an algorithm for its options and an environment. Pure data: `waggle check` prints it, tables, actors and
// learners are built from it, and checkpoints and published weights follow from it.
struct AlgorithmPlan {
  std::vector<NetworkNeed> networks = {};
  std::vector<ScalarNeed> scalars = {};
  // The columns that the acting network adds to every row of the stream: "value", and "log_prob", which is the policy's
  // for the taken action, even if exploration has changed that. PlanExperiment adds "core_state" if the network has a
  // core, here and to the tables.
  std::vector<std::string> columns = {};
  // The same for initial priorities alone; they stay in the actor: "q_taken", "q_max".
  std::vector<std::string> private_columns = {};
  ExplorationOptions exploration = {};
  // Present: actors wait for the learner. Each acts this many rows in every lane by one version of the weights, all
  // lanes in step, and then waits for the next version: a learner step learns only from the weights that it changes.
  // All tables are of kUnroll windows one row longer than that, which do not overlap: their last row only has the
  // observation after the last step, and the next unroll begins with it as a row of its own.
  std::optional<int64_t> rows_per_version = {};
  // True if an update takes several steps, each from the result of the one before: one process can then not compute its
  // gradients for another to step by.
  bool iterates = false;
  // True if an update scales returns by statistics of its own process's data: gradients of several processes are then
  // of different scales, and must not be averaged.
  bool normalizes_returns = false;
  std::vector<TablePlan> tables = {};
};

}  // namespace waggle
