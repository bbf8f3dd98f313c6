#include "cli/run/local_processes.h"

#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"

namespace waggle {
namespace {

constexpr char kLoopback[] = "127.0.0.1:0";
// For the processes to start, and the actors to find replay and weights.
constexpr absl::Duration kStartAllowance = absl::Minutes(1);

// `pushes`: a primary is in the learner's place.
const char* ExecutableName(Role role, bool pushes) {
  switch (role) {
    case Role::kParamServer:
    case Role::kReducer:
      return "waggle-param-server";
    case Role::kReplayServer:
      return "waggle-replay-server";
    case Role::kLearner:
      return pushes ? "waggle-param-server" : "waggle-learner";
    default:
      return "waggle-actor";
  }
}

}  // namespace

std::vector<Supervision::Process> ProcessesOf(const Experiment& experiment) {
  std::vector<Supervision::Process> processes = {{"param-server", Role::kParamServer}};
  // Gradients that are pushed come from what their actor has just seen.
  const int64_t replay_servers = experiment.learner.pushes() ? 0 : experiment.replay.servers;
  for (int64_t i = 0; i < replay_servers; ++i) {
    processes.push_back(
        {replay_servers == 1 ? "replay-server" : absl::StrCat("replay-server-", i), Role::kReplayServer, i});
  }
  const char* const learner = experiment.learner.pushes() ? "primary" : "learner";
  for (int64_t i = 0; i < experiment.learner.processes; ++i) {
    processes.push_back({i == 0 ? learner : absl::StrCat(learner, "-", i), Role::kLearner, i});
  }
  for (int64_t i = 0; i < experiment.learner.gradient_server.reducers; ++i) {
    processes.push_back({absl::StrCat("reducer-", i), Role::kReducer, i});
  }
  for (int64_t i = 0; i < experiment.actor.processes; ++i) {
    processes.push_back({absl::StrCat("actor-", i), Role::kActor, i});
  }
  if (experiment.evaluation.enabled) {
    processes.push_back({"evaluator", Role::kEvaluator});
  }
  return processes;
}

Supervision::Rules RulesOf(const Experiment& experiment) {
  Supervision::Rules rules;
  // In lock-step everybody waits for an evaluation.
  rules.needs_evaluator = experiment.stop.target_return.has_value() ||
                          (experiment.experiment.deterministic && experiment.evaluation.enabled);
  if (experiment.stop.max_seconds > 0) {
    rules.first_step_patience = absl::Seconds(experiment.stop.max_seconds) + kStartAllowance;
  }
  return rules;
}

std::vector<std::string> CommandFor(const Supervision::Process& process, const Experiment& experiment,
                                    const std::string& binary_folder, const std::string& hub_address,
                                    const OutputFolder& folder) {
  const Role role = process.role;
  const ReplayOptions& replay = experiment.replay;
  const bool is_primary = role == Role::kLearner && experiment.learner.pushes();
  std::vector<std::string> command = {
      absl::StrCat(binary_folder, "/", ExecutableName(role, experiment.learner.pushes()))};
  const auto add = [&command](const std::string& flag, const std::string& value) {
    command.push_back(flag);
    command.push_back(value);
  };
  if (role == Role::kParamServer) {
    add("--data-dir", folder.File("hub"));
    add("--metrics-dir", folder.path());
    add("--experiment", folder.File("experiment.yaml"));
  } else {
    add("--param-server", hub_address);
  }
  if (is_primary || role == Role::kReducer) {
    add("--role", is_primary ? "primary" : "reducer");
  }
  if (role == Role::kParamServer || role == Role::kReplayServer || is_primary || role == Role::kReducer) {
    add("--listen", kLoopback);
  }
  if (role == Role::kLearner) {
    // Each has checkpoints of its own: which of them writes any is a matter of who is lost.
    add("--output-dir", process.index == 0 ? folder.path() : folder.File(process.name));
    if (experiment.learner.processes > 1) {
      add("--index", absl::StrCat(process.index));
    }
    if (experiment.actor.asks_learner() && !is_primary) {
      add("--listen", kLoopback);
    }
    command.push_back("--resume");  // For one that is started again; at first the folder holds nothing.
  } else if (role != Role::kParamServer) {
    // Named, so that an actor that is started again explores as the one before did, and bears its log's name
    // everywhere.
    add("--index", absl::StrCat(process.index));
  }
  if (role == Role::kReplayServer && replay.NeedsDataFolder()) {
    add("--data-dir", folder.File(replay.servers == 1 ? "replay" : absl::StrCat("replay-", process.index)));
    add("--checkpoint-seconds", absl::StrCat(replay.checkpoint_seconds));
  }
  if (role == Role::kEvaluator) {
    command.push_back("--evaluator");
  }
  return command;
}

absl::Status CheckExecutables(const Experiment& experiment, const std::string& folder) {
  for (const Supervision::Process& process : ProcessesOf(experiment)) {
    const std::string path = absl::StrCat(folder, "/", ExecutableName(process.role, experiment.learner.pushes()));
    if (access(path.c_str(), X_OK) != 0) {
      return absl::ErrnoToStatus(errno, absl::StrCat(path, ", which has to lie beside waggle"));
    }
  }
  return absl::OkStatus();
}

}  // namespace waggle
