#include "common/config/experiment/learner_checks.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/problems.h"

namespace waggle {

absl::Status CheckSynchronous(const Experiment& experiment, const AlgorithmPlan& plan) {
  Problems problems;
  if (plan.rows_per_version.has_value()) {
    const LearnerOptions& learner = experiment.learner;
    const int64_t lanes = experiment.actor.lanes;
    const int64_t all_lanes = experiment.actor.processes * lanes;
    const int64_t unrolls = learner.batch_size * learner.processes;
    const std::string got = learner.processes == 1 ? absl::StrCat("learner.batch_size: got ", learner.batch_size)
                                                   : absl::StrCat("learner.batch_size: got ", learner.batch_size,
                                                                  " for each of ", learner.processes, " learners");
    // Pushed unrolls are not divided among actors, and a turn of a deterministic run is an unroll of each lane.
    if (learner.actors_push() || experiment.experiment.deterministic) {
      problems.AddUnless(unrolls == all_lanes, got, "; wanted ", all_lanes,
                         ", an unroll of each lane, or none, which stands for that");
    } else {
      problems.AddUnless(unrolls >= all_lanes && unrolls % lanes == 0, got, "; wanted a multiple of ", lanes,
                         " unrolls in all, the lanes of an actor, and at least ", all_lanes,
                         ", the lanes of all actors; or none, which stands for ", all_lanes,
                         ", if the learners can divide it");
    }
    problems.AddUnless(experiment.learner.publish_period_steps == 1,
                       "learner.publish_period_steps: ", experiment.learner.publish_period_steps,
                       ": actors wait for the weights of each learner step; wanted 1");
  }
  return problems.ToStatus();
}

absl::Status CheckInference(const Experiment& experiment, const AlgorithmPlan& plan) {
  if (!experiment.actor.asks_learner()) {
    return absl::OkStatus();
  }
  Problems problems;
  const bool waits = plan.rows_per_version.has_value() && !experiment.learner.actors_push();
  problems.AddUnless(!waits, "actor.inference: server: actors of algorithm ", experiment.algorithm,
                     " wait for the weights of each learner step; wanted local");
  problems.AddUnless(
      !experiment.learner.actors_push(),
      "actor.inference: server: actors that push gradients have weights, and there is no learner; wanted "
      "local");
  problems.AddUnless(!experiment.experiment.deterministic,
                     "actor.inference: server: a batch's rows depend on timing, and those of a deterministic "
                     "run must not; wanted local");
  return problems.ToStatus();
}

absl::Status CheckLearners(const Experiment& experiment, const AlgorithmPlan& plan,
                           const std::vector<NetworkPlan>& networks) {
  const int64_t learners = experiment.learner.processes;
  Problems problems;
  if (learners > 1) {
    problems.AddUnless(
        !plan.rows_per_version.has_value() || !experiment.learner.learners_push(),
        "learner.gradients: got push; wanted local, or learner.processes: 1, because actors of algorithm ",
        experiment.algorithm, " wait for each step of all learners");
    problems.AddUnless(!experiment.actor.asks_learner(), "learner.processes: ", learners,
                       ": with actor.inference: server one learner has the weights that all act by; wanted 1");
    const bool normalizes = std::any_of(networks.begin(), networks.end(),
                                        [](const NetworkPlan& network) { return !network.normalizers.empty(); });
    problems.AddUnless(!normalizes, "learner.processes: ", learners,
                       ": each would normalise observations by its own data; wanted 1, or "
                       "normalize_observations: false");
    const bool by_batch = std::any_of(networks.begin(), networks.end(),
                                      [](const NetworkPlan& network) { return network.HasBatchNorm(); });
    problems.AddUnless(!by_batch, "learner.processes: ", learners,
                       ": each would move the running statistics of batch_norm layers by its own data; wanted 1, or no "
                       "batch_norm");
    problems.AddUnless(!plan.assigns || !experiment.learner.learners_push(), "learner.gradients: push: algorithm ",
                       experiment.algorithm,
                       " sets parameters to values with these options, for which there are no gradients; wanted local");
    problems.AddUnless(
        !plan.normalizes_returns || !experiment.learner.learners_push(),
        "algorithm.normalize_returns: got true with learner.gradients: push; wanted false, or learner.gradients: "
        "local, because each learner would scale returns by its own data, and gradients on different scales must not "
        "be averaged");
  }
  return problems.ToStatus();
}

absl::Status CheckPolicyLag(const Experiment& experiment, const AlgorithmPlan& plan) {
  const bool has_priorities = std::any_of(plan.tables.begin(), plan.tables.end(),
                                          [](const TablePlan& table) { return table.table.UsesPriorities(); });
  if (experiment.learner.max_policy_lag.has_value() && has_priorities) {
    return absl::InvalidArgumentError(absl::StrCat("learner.max_policy_lag: ", *experiment.learner.max_policy_lag,
                                                   ": the table picks its items by priority, and new priorities "
                                                   "are those of whole batches; wanted none"));
  }
  return absl::OkStatus();
}

absl::Status CheckEvaluations(const Experiment& experiment, const AlgorithmPlan& plan) {
  Problems problems;
  if (plan.reads_evaluations) {
    problems.AddUnless(!experiment.experiment.deterministic,
                       "algorithm.modules: weights follow evaluations, which come at any time; wanted rewards: actors "
                       "in a deterministic run");
    problems.AddUnless(experiment.evaluation.enabled,
                       "evaluation.enabled: got false; wanted true: weights of algorithm.modules follow evaluations");
  }
  return problems.ToStatus();
}

absl::Status CheckPushedGradients(const Experiment& experiment, const AlgorithmPlan& plan) {
  if (!experiment.learner.actors_push()) {
    return absl::OkStatus();
  }
  if (plan.networks.size() != 1 || !plan.scalars.empty() || !plan.networks[0].acts || plan.networks[0].has_target) {
    return absl::InvalidArgumentError(
        absl::StrCat("learner.gradients: push is for algorithms of one network, without a "
                     "target and without learned scalars, which ",
                     experiment.algorithm,
                     " is not, unless learners push; wanted local, or learner.processes of at "
                     "least 2"));
  }
  if (plan.iterates) {
    return absl::InvalidArgumentError(
        absl::StrCat("learner.gradients: push is for algorithms that take one step from a "
                     "batch, and ",
                     experiment.algorithm, " takes several; wanted local"));
  }
  if (plan.normalizes_returns) {
    return absl::InvalidArgumentError(
        "algorithm.normalize_returns: with learner.gradients: push each actor would scale returns by what it has acted "
        "itself, and the mean would be of gradients on different scales; wanted false, or learner.gradients: local");
  }
  const auto network = experiment.networks.find(plan.networks[0].name);
  if (network != experiment.networks.end() && network->second.normalize_observations) {
    return absl::InvalidArgumentError(
        absl::StrCat("networks.", network->first,
                     ".normalize_observations: with learner.gradients: push no process sees the observations of all "
                     "actors, which the statistics need; wanted false, or learner.gradients: local"));
  }
  return absl::OkStatus();
}

absl::Status CheckImport(const Experiment& experiment, const AlgorithmPlan& plan) {
  const std::string& file = experiment.replay.import;
  const ActorOptions& actor = experiment.actor;
  Problems problems;
  if (file.empty()) {
    problems.AddUnless(actor.acts(),
                       "actor.processes: got 0; wanted at least 1, or episodes to learn from in "
                       "replay.import");
    problems.AddUnless(actor.first_learner_step == 0, "actor.first_learner_step: got ", actor.first_learner_step,
                       "; wanted 0, or replay.import: nothing is learned before actors act");
    return problems.ToStatus();
  }
  const std::string import = absl::StrCat("replay.import: got ", file, "; wanted none");
  const bool is_queue = std::any_of(plan.tables.begin(), plan.tables.end(), [](const TablePlan& table) {
    return table.window.kind == WindowPlan::Kind::kUnroll || table.window.kind == WindowPlan::Kind::kEpisode;
  });
  problems.AddUnless(!is_queue, import, ": algorithm ", experiment.algorithm, " learns from its newest policy's steps");
  problems.AddUnless(is_queue || plan.columns.empty(), import, ": algorithm ", experiment.algorithm,
                     " learns from what its policy writes beside actions, such as ",
                     plan.columns.empty() ? "" : plan.columns[0].name);
  problems.AddUnless(actor.acts() || experiment.stop.max_env_steps == 0, "stop.max_env_steps: got ",
                     experiment.stop.max_env_steps,
                     "; wanted 0: with actor.processes: 0 there are no steps of the environment");
  const double share = experiment.replay.imported_share;
  problems.AddUnless(share == 0 || actor.acts(), "replay.imported_share: got ", share,
                     "; wanted 0: with actor.processes: 0 all rows are imported");
  problems.AddUnless(share == 0 || experiment.learner.batch_size > 1, "replay.imported_share: got ", share,
                     "; wanted 0, or learner.batch_size of at least 2");
  const bool waits = actor.first_learner_step > 0;
  for (const TablePlan& table : plan.tables) {
    problems.AddUnless(!table.is_modules || (actor.acts() && !waits), import, ": actors fill the table ", table.name,
                       " of a module, and learning waits for it");
  }
  problems.AddUnless(is_queue || !experiment.learner.max_policy_lag.has_value(), "learner.max_policy_lag: got ",
                     experiment.learner.max_policy_lag.value_or(0),
                     "; wanted none with replay.import: imported rows are of no version of the weights");
  problems.AddUnless(actor.acts() || experiment.replay.table.max_times_sampled == 0, "replay.max_times_sampled: got ",
                     experiment.replay.table.max_times_sampled,
                     "; wanted 0: with actor.processes: 0 nothing replaces the rows that are used up");
  problems.AddUnless(!waits || share == 0, "actor.first_learner_step: got ", actor.first_learner_step,
                     "; wanted 0 with replay.imported_share: each batch has rows of actors");
  problems.AddUnless(!waits || !actor.asks_learner(), "actor.first_learner_step: got ", actor.first_learner_step,
                     "; wanted 0 with actor.inference: server");
  problems.AddUnless(!waits || !experiment.experiment.deterministic, "actor.first_learner_step: got ",
                     actor.first_learner_step, "; wanted 0 in a deterministic run");
  return problems.ToStatus();
}

absl::Status CheckCuts(const Experiment& experiment) {
  Problems problems;
  problems.AddUnless(experiment.replay.table.durability != Durability::kNone,
                     "replay.durability: got none; wanted checkpoint or log, because a cut has the replay's tables");
  problems.AddUnless(experiment.learner.processes == 1, "learner.processes: got ", experiment.learner.processes,
                     "; wanted 1 in a run that has cuts");
  problems.AddUnless(experiment.learner.gradients == "local", "learner.gradients: got ", experiment.learner.gradients,
                     "; wanted local in a run that has cuts");
  return problems.ToStatus();
}

}  // namespace waggle
