#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/tensor/array_spec.h"
#include "common/config/plan/exploration_options.h"
#include "common/config/plan/optimizer_options.h"
#include "common/config/plan/table_plan.h"

namespace waggle {

// The output of a head for one row of observations. Its size follows from the joint action of all leaves
// (common/config/spec/joint_action.h).
enum class HeadKind {
  kQ,              // A value for each choice of a discrete action.
  kValue,          // One number, or `size` estimates of it.
  kCategorical,    // Logits of each element's choices, if all elements are choices.
  kNormal,         // The means of a real action's elements, and their standard deviations.
  kTanhNormal,     // The same before tanh, which puts the elements into (-1, 1); also if others are choices.
  kDeterministic,  // The action itself, in (-1, 1), by tanh.
  kMixed,          // Those of kCategorical, then those of kNormal, if some elements are choices and others real.
  // For each choice of a discrete action a distribution of its value: logits of `size` atoms, evenly spaced from low to
  // high (C51, arXiv 1707.06887).
  kCategoricalQ,
  kQuantileQ,  // `size` quantiles of each choice's value (QR-DQN, arXiv 1710.10044).
  kQuantiles,  // `size` quantiles of one value.
  kVector,     // `size` numbers.
};

// A head that an algorithm needs. A kind alone is a need of size 1.
struct HeadNeed {
  HeadNeed(HeadKind kind_of_head = HeadKind::kQ, int64_t size_of_head = 1, double lowest = 0, double highest = 0)
      : kind(kind_of_head), size(size_of_head), low(lowest), high(highest) {}

  HeadKind kind;
  int64_t size;  // kValue, kCategoricalQ, kQuantileQ, kQuantiles, kVector: estimates, atoms, …; at least 1.
  double low;    // kCategoricalQ: the lowest atom's value, below `high`, the highest's.
  double high;
};

// A network's input that is no leaf of the environment: the algorithm gives it with each call.
struct InputNeed {
  std::string name;  // A key of the network's `encoders:`.
  int64_t width = 1;
  // Its features multiply those of torso and core, element by element. It may have one more dimension,
  // [rows, samples, width]; then all outputs are [rows, samples, …], and torso and core compute each row once. Not for
  // networks with members.
  bool multiplies = false;
};

// A network that an algorithm learns with. Its inside comes from the configuration (NetworkSpec).
struct NetworkNeed {
  std::string name;                       // A key of `networks:`; metrics, messages and checkpoints use it.
  std::map<std::string, HeadNeed> heads;  // By name.
  OptimizerOptions optimizer = {};
  // Published: actors and evaluators hold these networks and nothing else. Several act only by the algorithm's own
  // policy (AlgorithmImplementation::new_policy).
  bool acts = false;
  // The head that chooses the action, if NetworkPolicy acts; empty: the only head that can.
  std::string acting_head = {};
  // False: it has no leaf of the observation as an input, only the action or inputs of the algorithm's own.
  bool takes_observation = true;
  std::vector<std::string> hidden = {};  // Leaves of the observation that it must not see, by name.
  bool takes_action = false;             // The action is one more input, beside the observation's leaves.
  std::vector<InputNeed> extra = {};     // More inputs, after the action.
  bool has_target = false;               // A copy that follows it (Net::FollowTarget).
  // Copies side by side, each with weights of its own. Present, even 1: outputs are [members, rows, …].
  std::optional<int64_t> members = {};
  bool learns = true;  // False: it keeps its first values, and has no optimizer.
  // More optimizers of the same parameters, for losses that are descended in turn, by name (Net::group).
  std::map<std::string, OptimizerOptions> more_optimizers = {};
  // It may have batch_norm layers: updates call Net::Training and Net::FollowBatch.
  bool learns_by_batch = false;
  bool is_modules = false;  // A module's, not the algorithm's.
  // The agents by whose views it is called (common/config/spec/agent_view.h), in turns if there are several; their
  // spaces are equal. Its leaves and its action are those of the first one's view. Empty: those of the whole
  // environment.
  std::vector<std::string> agents = {};
  std::vector<std::string> also_sees = {};  // The others in that view.
  // The key of `networks:` that describes it unless its own name does; empty: only its name.
  std::string section = {};
};

// A policy's column of one float32 number.
inline ArraySpec NumberColumn(std::string name) {
  return {std::move(name), DType::kFloat32, {}};
}

// A learned number, such as the logarithm of a temperature.
struct ScalarNeed {
  std::string name;
  double initial = 0;
  OptimizerOptions optimizer = {};
  bool acts = false;  // Published with the acting networks, for the algorithm's own policy.
};

// The needs of an algorithm for its options and an environment. Pure data: `waggle check` prints it, tables, actors and
// learners are built from it, and checkpoints and published weights follow from it.
struct AlgorithmPlan {
  std::vector<NetworkNeed> networks = {};
  std::vector<ScalarNeed> scalars = {};
  // The columns that the policy adds to every row of the stream. NetworkPolicy gives float32 numbers: "value", and
  // "log_prob", which is the policy's for the taken action, even if exploration has changed that. An algorithm's own
  // policy gives any. PlanExperiment adds "core_state" if the acting network has a core, here and to the tables.
  std::vector<ArraySpec> columns = {};
  // The same for initial priorities alone; they stay in the actor: "q_taken", "q_max".
  std::vector<std::string> private_columns = {};
  ExplorationOptions exploration = {};
  // True if the algorithm has its own policy (AlgorithmImplementation::new_policy).
  bool own_policy = false;
  // Present: actors wait for the learner. Each acts this many rows in every lane by one version of the weights, all
  // lanes in step, and then waits for the next version: a learner step learns only from the weights that it changes.
  // All tables are of kUnroll windows one row longer than that, which do not overlap: their last row only has the
  // observation after the last step, and the next unroll begins with it as a row of its own.
  std::optional<int64_t> rows_per_version = {};
  // True if an update takes several steps, each from the result of the one before: one process can then not compute its
  // gradients for another to step by.
  bool iterates = false;
  // True if an update sets parameters to values (UpdateContext::Assign): learners that push gradients have no step for
  // that.
  bool assigns = false;
  // True if an update scales returns by statistics that only learners that step together can share. Gradients that
  // several processes push are then on different scales, and must not be averaged.
  bool normalizes_returns = false;
  // True if it learns the values of each dimension of a reward that is a vector, [k]. Otherwise its batches have the
  // weighted sum of the dimensions, a scalar.
  bool learns_vector_rewards = false;
  // The first weights of these dimensions, which modules may move. PlanExperiment sets them. Empty: a scalar reward.
  std::vector<double> reward_weights = {};
  // True if an update depends on the newest evaluation's rewards, UpdateContext::evaluated_rewards.
  bool reads_evaluations = false;
  // Batches that the algorithm keeps beyond their update, for the estimate of memory.
  int64_t kept_batches = 0;
  std::vector<TablePlan> tables = {};
};

}  // namespace waggle
