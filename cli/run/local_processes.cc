#include "cli/run/local_processes.h"

#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"

namespace waggle {
namespace {

constexpr char kLoopback[] = "127.0.0.1:0";
// The time for the processes to start, and for the actors to find replay and weights.
constexpr absl::Duration kStartAllowance = absl::Minutes(1);

const char* ExecutableName(const Supervision::Process& process) {
  if (!process.kind.has_value()) {
    return "waggle-param-server";
  }
  switch (*process.kind) {
    case WorkerKind::kGradient:
      return "waggle-param-server";
    case WorkerKind::kReplayServer:
      return "waggle-replay-server";
    case WorkerKind::kLearner:
      return "waggle-learner";
    default:
      return "waggle-actor";
  }
}

// The packages with the learner and the actor, which are others than those with `waggle`.
const char* PackageHint(const Supervision::Process& process) {
  const std::string name = ExecutableName(process);
  return name == "waggle-learner" || name == "waggle-actor" ? "; the Python or Debian package waggle-worker has it"
                                                            : "";
}

// Adds `count` processes: "actor-0", …; "replay-server" if there is one; "learner" for the first, and "learner-1", …
// for others.
void AddProcesses(WorkerKind kind, int64_t count, std::vector<Supervision::Process>* processes) {
  for (int64_t i = 0; i < count; ++i) {
    const bool numbered = kind == WorkerKind::kReplayServer ? count > 1
                          : kind == WorkerKind::kLearner    ? i > 0
                                                            : kind != WorkerKind::kEvaluator;
    const std::string name = kind == WorkerKind::kGradient ? "gradient" : WorkerKindName(kind);
    processes->push_back({numbered ? absl::StrCat(name, "-", i) : name, kind, i});
  }
}

}  // namespace

std::vector<Supervision::Process> ProcessesOf(const Experiment& experiment) {
  std::vector<Supervision::Process> processes = {{"param-server"}};
  if (experiment.learner.actors_push()) {
    // Pushed gradients come from the actor's newest rows: there is no replay. The extra process is the primary.
    AddProcesses(WorkerKind::kGradient, 1 + experiment.learner.gradient_server.reducers, &processes);
  } else {
    AddProcesses(WorkerKind::kReplayServer, experiment.replay.servers, &processes);
    AddProcesses(WorkerKind::kLearner, experiment.learner.processes, &processes);
  }
  AddProcesses(WorkerKind::kActor, experiment.actor.processes_started(), &processes);
  AddProcesses(WorkerKind::kEvaluator, experiment.evaluation.enabled ? 1 : 0, &processes);
  return processes;
}

Supervision::Rules RulesOf(const Experiment& experiment) {
  Supervision::Rules rules;
  // In lock-step the other processes wait for each evaluation.
  rules.needs_evaluator = experiment.stop.target_return.has_value() ||
                          (experiment.experiment.deterministic && experiment.evaluation.enabled);
  if (experiment.stop.max_seconds > 0) {
    rules.first_step_patience = absl::Seconds(experiment.stop.max_seconds) + kStartAllowance;
  }
  return rules;
}

std::vector<std::string> CommandFor(const Supervision::Process& process, const ReplayOptions& replay,
                                    const std::string& binary_folder, const std::string& hub_address,
                                    const OutputFolder& folder) {
  std::vector<std::string> command = {absl::StrCat(binary_folder, "/", ExecutableName(process))};
  const auto add = [&command](const std::string& flag, const std::string& value) {
    command.push_back(flag);
    command.push_back(value);
  };
  if (!process.kind.has_value()) {
    add("--listen", kLoopback);
    add("--data-dir", folder.File("hub"));
    add("--output-dir", folder.path());
    command.push_back("--no-plot");  // The curves are drawn here, once every process has ended.
    return command;
  }
  const WorkerKind kind = *process.kind;
  if (kind == WorkerKind::kGradient) {
    add("--role", "reducer");
  }
  add("--param-server", hub_address);
  if (kind != WorkerKind::kActor && kind != WorkerKind::kEvaluator) {
    add("--listen", kLoopback);
  }
  // A fixed index lets an actor that restarts explore as before, and gives it its log's name everywhere.
  add("--index", absl::StrCat(process.index));
  if (kind == WorkerKind::kReplayServer && replay.NeedsDataFolder()) {
    add("--data-dir", folder.File(replay.servers == 1 ? "replay" : absl::StrCat("replay-", process.index)));
    add("--checkpoint-seconds", absl::StrCat(replay.checkpoint_seconds));
  }
  if (kind == WorkerKind::kEvaluator) {
    command.push_back("--evaluator");
  }
  return command;
}

absl::Status CheckExecutables(const Experiment& experiment, const std::string& folder) {
  for (const Supervision::Process& process : ProcessesOf(experiment)) {
    const std::string path = absl::StrCat(folder, "/", ExecutableName(process));
    if (access(path.c_str(), X_OK) != 0) {
      return absl::ErrnoToStatus(errno, absl::StrCat(path, ", which must be beside waggle", PackageHint(process)));
    }
  }
  return absl::OkStatus();
}

}  // namespace waggle
