#include "cli/run/local_run.h"

#include <poll.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "cli/check/checked_experiment.h"
#include "cli/human_text.h"
#include "cli/run/child_process.h"
#include "cli/run/cluster_watch.h"
#include "cli/run/curves.h"
#include "cli/run/local_processes.h"
#include "cli/run/output_folder.h"
#include "cli/run/run_end.h"
#include "cli/run/run_summary.h"
#include "cli/run/supervision.h"
#include "cli/status/progress_view.h"
#include "cli/status/run_facts.h"
#include "common/base/machine_memory.h"
#include "common/base/status_macros.h"
#include "common/base/steady_now.h"
#include "common/checkpoint/saved_model.h"
#include "common/experiment/memory_estimate.h"
#include "common/rl/algorithms/definitions.h"

namespace waggle {
namespace {

constexpr absl::Duration kWatchPeriod = absl::Milliseconds(500);
constexpr absl::Duration kWatchTimeout = absl::Seconds(2);
// The hub may be slow for a moment on a busy machine; only then is it worth a word.
constexpr absl::Duration kUnansweredWorthSaying = absl::Seconds(4);
constexpr size_t kShownLogLines = 10;
// The curves can be drawn later too.
constexpr absl::Duration kDrawingTimeout = absl::Seconds(20);

// One run from its first process to its last.
class LocalRun {
 public:
  LocalRun(Experiment experiment, OutputFolder folder, std::string binary_folder, absl::Time started_at, bool plot)
      : experiment_(std::move(experiment)),
        folder_(std::move(folder)),
        binary_folder_(std::move(binary_folder)),
        started_at_(started_at),
        plot_(plot),
        supervision_(ProcessesOf(experiment_), RulesOf(experiment_), SteadyNow()),
        children_(supervision_.processes().size()),
        summary_(started_at) {}

  ~LocalRun() {
    close(signals_);
    close(hub_files_);
  }
  LocalRun(const LocalRun&) = delete;
  LocalRun& operator=(const LocalRun&) = delete;

  // `signals` are blocked already.
  absl::Status Open(const sigset_t& signals);
  int Run();

 private:
  void Wait();
  void HandleSignals();
  void HandleHubFiles();
  void HandleSnapshot();
  void ReapChildren();
  void Do(const Supervision::Actions& actions);
  // The end of a process's log.
  void ShowLog(const std::string& name);
  void StartProcess(size_t process);
  void Announce();
  int Finish();
  RunEnd Judge(const std::optional<v1::Result>& result);
  // Whether a folder of the run's has the weights that were evaluated so.
  bool Holds(const std::string& folder, const v1::Result& result) const;
  absl::Duration Elapsed() const { return SteadyNow() - started_at_; }
  ProgressContext Context() const;

  const Experiment experiment_;
  const OutputFolder folder_;
  const std::string binary_folder_;
  const absl::Time started_at_;  // As all times here, by SteadyNow(): setting the clock must not end a run.
  const bool plot_;
  int signals_ = -1;    // A signalfd.
  int hub_files_ = -1;  // An inotify on the hub's folder.
  Supervision supervision_;
  std::vector<std::unique_ptr<ChildProcess>> children_;  // By the supervision's index; null where none runs.
  std::vector<ProcessSummary> ended_;
  std::string hub_address_;
  std::unique_ptr<ClusterWatch> watch_;  // Once the hub's address is known.
  ProgressPrinter printer_;
  SummaryBuilder summary_;
  absl::Time last_answer_;
  bool said_unanswered_ = false;
  std::string figures_unrecorded_;  // As the hub said last.
  bool announced_ = false;
  int64_t last_evaluation_us_ = 0;
  std::optional<bool> hub_kept_weights_;  // As the hub said last.
};

absl::Status LocalRun::Open(const sigset_t& signals) {
  signals_ = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals_ < 0) {
    return absl::ErrnoToStatus(errno, "signalfd");
  }
  hub_files_ = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (hub_files_ < 0 || inotify_add_watch(hub_files_, folder_.File("hub").c_str(), IN_MOVED_TO | IN_CLOSE_WRITE) < 0) {
    return absl::ErrnoToStatus(errno, folder_.File("hub"));
  }
  return absl::OkStatus();
}

int LocalRun::Run() {
  printer_.Event(absl::StrCat(experiment_.experiment.name, ": ", experiment_.algorithm, " on ",
                              experiment_.environment.name, ", seed ", experiment_.experiment.seed, ", results in ",
                              folder_.path()));
  Do(supervision_.Begin(SteadyNow()));
  while (!supervision_.done()) {
    Wait();
    HandleSignals();
    HandleHubFiles();
    HandleSnapshot();
    ReapChildren();
    if (SteadyNow() >= supervision_.NextDeadline()) {
      Do(supervision_.Tick(SteadyNow()));
    }
  }
  return Finish();
}

void LocalRun::Wait() {
  pollfd files[] = {{signals_, POLLIN, 0}, {hub_files_, POLLIN, 0}, {-1, POLLIN, 0}};
  files[2].fd = watch_ == nullptr ? -1 : watch_->file_descriptor();
  const absl::Duration left =
      std::clamp(supervision_.NextDeadline() - SteadyNow(), absl::ZeroDuration(), absl::Hours(1));
  poll(files, std::size(files), static_cast<int>(absl::ToInt64Milliseconds(left)) + 1);
}

void LocalRun::HandleSignals() {
  signalfd_siginfo info;
  while (read(signals_, &info, sizeof(info)) == sizeof(info)) {
    if (info.ssi_signo == SIGWINCH) {
      printer_.Redraw();
    } else if (info.ssi_signo != SIGCHLD) {  // Which only wakes the loop: several of them may arrive as one.
      Do(supervision_.Interrupted(SteadyNow()));
    }
  }
}

void LocalRun::HandleHubFiles() {
  alignas(inotify_event) char events[4096];
  bool changed = false;
  while (read(hub_files_, events, sizeof(events)) > 0) {
    changed = true;
  }
  if (!changed || !hub_address_.empty()) {
    return;
  }
  std::ifstream file(folder_.File("hub/address"));
  std::getline(file, hub_address_);
  hub_address_ = std::string(absl::StripAsciiWhitespace(hub_address_));
  if (!hub_address_.empty()) {
    printer_.Event(absl::StrCat("serving at ", hub_address_, "; from another terminal: waggle status --param-server ",
                                hub_address_));
    watch_ = std::make_unique<ClusterWatch>(hub_address_, "", kWatchPeriod, kWatchTimeout);
    last_answer_ = SteadyNow();
    Do(supervision_.HubReady(SteadyNow()));
  }
}

void LocalRun::HandleSnapshot() {
  std::optional<absl::StatusOr<ClusterSnapshot>> snapshot;
  if (watch_ != nullptr) {
    snapshot = watch_->Take();
  }
  if (!snapshot.has_value()) {
    return;
  }
  const absl::Time now = SteadyNow();
  if (!snapshot->ok()) {
    if (!said_unanswered_ && now - last_answer_ > kUnansweredWorthSaying && !supervision_.outcome().has_value()) {
      said_unanswered_ = true;
      printer_.Event(std::string(snapshot->status().message()));
    }
    return;
  }
  last_answer_ = now;
  said_unanswered_ = false;
  RunFacts facts = GatherFacts(**snapshot);
  if (experiment_.learner.pushes() && !facts.gradients.has_value()) {
    facts.gradients.emplace();  // No actor has come yet.
  }
  hub_kept_weights_ = facts.weights_unsaved.empty();
  summary_.Add(facts, (*snapshot)->requested_at);
  for (const v1::Evaluation& evaluation : facts.evaluations) {
    if (evaluation.finished_at_us() > last_evaluation_us_) {
      last_evaluation_us_ = evaluation.finished_at_us();
      printer_.Event(RenderEvaluation(evaluation, experiment_.stop.target_return));
    }
  }
  if (const std::string& why = (*snapshot)->overview.figures_unrecorded(); why != figures_unrecorded_) {
    figures_unrecorded_ = why;
    printer_.Event(why.empty() ? "figures are recorded again" : absl::StrCat("figures are not recorded: ", why));
  }
  printer_.Update(facts, Context());
  if (facts.env_steps > 0) {
    supervision_.Stepped();
  }
  Do(supervision_.Observed(facts.state, facts.outcome_reason, (*snapshot)->requested_at, now));
}

void LocalRun::ReapChildren() {
  for (size_t i = 0; i < children_.size(); ++i) {
    if (children_[i] == nullptr || !children_[i]->Poll().has_value()) {
      continue;
    }
    const ChildExit exit = *children_[i]->Poll();
    const Supervision::Process& process = supervision_.processes()[i];
    ended_.push_back(
        {RoleName(process.role), process.index, children_[i]->pid(), exit.ShellStatus(), exit.peak_rss_mebibytes});
    children_[i] = nullptr;
    Do(supervision_.Exited(i, exit, SteadyNow()));
  }
}

void LocalRun::Do(const Supervision::Actions& actions) {
  if (supervision_.outcome().has_value()) {
    printer_.SetOutcome(OutcomeName(*supervision_.outcome()));
  }
  for (const std::string& message : actions.messages) {
    printer_.Event(message);
  }
  Announce();
  if (actions.show_log.has_value()) {
    ShowLog(supervision_.processes()[*actions.show_log].name);
  }
  for (const auto& [process, signal] : actions.signals) {
    if (children_[process] != nullptr) {
      children_[process]->Signal(signal);
    }
  }
  for (const size_t process : actions.start) {
    // One that could not be started has ended the run, and the others have been told: who starts now was not.
    if (supervision_.outcome().has_value()) {
      Do(supervision_.NotStarted(process, SteadyNow()));
    } else {
      StartProcess(process);
    }
  }
  if (actions.observe && watch_ != nullptr) {
    watch_->Hurry();
  }
}

void LocalRun::ShowLog(const std::string& name) {
  const std::vector<std::string> lines = folder_.LastLogLines(name, kShownLogLines);
  printer_.Event(lines.empty() ? absl::StrCat(folder_.LogFile(name), " is empty")
                               : absl::StrCat("the end of ", folder_.LogFile(name), ":"));
  for (const std::string& line : lines) {
    printer_.Event(absl::StrCat("  ", line));
  }
}

void LocalRun::StartProcess(size_t process) {
  ChildOptions options;
  options.command = CommandFor(supervision_.processes()[process], experiment_, binary_folder_, hub_address_, folder_);
  options.log_path = folder_.LogFile(supervision_.processes()[process].name);
  // More threads than cores make small networks several times slower.
  options.default_environment = {{"OMP_NUM_THREADS", "1"}, {"OPENBLAS_NUM_THREADS", "1"}};
  absl::StatusOr<std::unique_ptr<ChildProcess>> child = ChildProcess::Spawn(options);
  if (child.ok()) {
    children_[process] = *std::move(child);
  } else {
    Do(supervision_.CannotStart(process, child.status(), SteadyNow()));
  }
}

void LocalRun::Announce() {
  if (announced_ || !supervision_.outcome().has_value()) {
    return;
  }
  announced_ = true;
  printer_.Event(absl::StrCat(OutcomeName(*supervision_.outcome()), supervision_.reason().empty() ? "" : ": ",
                              supervision_.reason()));
}

ProgressContext LocalRun::Context() const {
  return {experiment_.experiment.name, folder_.path(), experiment_.stop.target_return, Elapsed(),
          supervision_.outcome().has_value() ? OutcomeName(*supervision_.outcome()) : ""};
}

bool LocalRun::Holds(const std::string& folder, const v1::Result& result) const {
  const absl::StatusOr<SavedModel> saved = LoadSavedModel(folder_.File(folder));
  const v1::ModelVersion& version = result.evaluation().version();
  return saved.ok() && saved->snapshot.version == ModelVersion{version.epoch(), version.version()};
}

RunEnd LocalRun::Judge(const std::optional<v1::Result>& result) {
  KeptWeights weights;
  weights.learner = supervision_.learner_exit();
  weights.failed_learner = supervision_.failed_learner_exit();
  weights.hub = supervision_.hub_exit();
  weights.hub_said_kept = hub_kept_weights_;
  weights.has_best = result.has_value();
  const bool hub_failed = weights.hub.has_value() && !weights.hub->ok();
  if (hub_failed && result.has_value()) {  // Else it has them, and large files need not be read.
    weights.learner_kept_best = Holds("best", *result);
    weights.hub_kept_best = Holds(absl::StrCat("hub/", kBestModelFolder), *result);
  }
  const RunEnd end = JudgeEnd(supervision_.outcome().value_or(Outcome::kFailed), supervision_.reason(), weights);
  if (!end.note.empty() && !weights.learner->ok()) {
    ShowLog(experiment_.learner.pushes() ? "primary" : "learner");
  }
  if (hub_failed && weights.hub->signal == 0 && end.outcome != supervision_.outcome()) {
    ShowLog("param-server");
  }
  return end;
}

int LocalRun::Finish() {
  RunSummary summary;
  summary.experiment = experiment_.experiment.name;
  summary.algorithm = experiment_.algorithm;
  summary.environment = experiment_.environment.name;
  summary.seed = experiment_.experiment.seed;
  summary_.Fill(&summary);
  const RunEnd end = Judge(summary.result);
  const Outcome outcome = end.outcome;
  summary.outcome = OutcomeName(outcome);
  summary.reason = end.reason;
  summary.processes = ended_;
  summary.wall_seconds = absl::ToDoubleSeconds(Elapsed());
  const absl::Status written = folder_.Write("summary.json", summary.ToJson());
  if (!written.ok()) {
    printer_.Event(std::string(written.message()));
  }
  if (const std::optional<RunFacts> last = summary_.LastFacts(summary); last.has_value()) {
    printer_.Last(*last, Context());
  }
  if (plot_ && summary.env_steps > 0) {
    printer_.Event(DrawCurves(binary_folder_, folder_, signals_, kDrawingTimeout));
  }
  printer_.Event(absl::StrCat(OutcomeName(outcome), " after ", ShortDuration(absl::Seconds(summary.wall_seconds)),
                              " and ", ShortNumber(summary.env_steps), " environment steps",
                              end.note.empty() ? "" : absl::StrCat("; ", end.note),
                              written.ok() ? absl::StrCat("; see ", folder_.File("summary.json")) : ""));
  const bool met =
      outcome == Outcome::kSolved || (outcome == Outcome::kLimit && !experiment_.stop.target_return.has_value());
  return met ? 0 : outcome == Outcome::kInterrupted ? 130 : 1;
}

int ComplainAndExit(const absl::Status& status, int exit_status) {
  std::cerr << "waggle run: " << status.message() << std::endl;
  return exit_status;
}

}  // namespace

int RunLocally(const RunFlags& flags, const std::string& binary_folder) {
  const absl::Time started_at = SteadyNow();
  // Before the first thread, so that all inherit it.
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGWINCH}) {
    sigaddset(&signals, signal);
  }
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);

  absl::StatusOr<CheckedExperiment> checked = LoadCheckedExperiment(flags.file, flags.overrides);
  if (!checked.ok()) {
    return ComplainAndExit(checked.status(), 2);
  }
  const absl::StatusOr<std::vector<ProcessMemory>> memory =
      EstimateMemory(checked->experiment, checked->environment, BuiltinAlgorithmDefinitions());
  const absl::Status fits = memory.ok() ? CheckMemory(*memory, MachineMemoryBytes()) : memory.status();
  if (!fits.ok()) {
    return ComplainAndExit(fits, 1);
  }
  const absl::Status executables = CheckExecutables(checked->experiment, binary_folder);
  if (!executables.ok()) {
    return ComplainAndExit(executables, 1);
  }
  absl::StatusOr<OutputFolder> folder =
      OutputFolder::Create(flags.output_dir, checked->experiment.experiment.name, absl::Now());
  if (!folder.ok()) {
    return ComplainAndExit(folder.status(), 1);
  }
  const absl::Status written = folder->Write("experiment.yaml", ToYaml(checked->experiment));
  if (!written.ok()) {
    return ComplainAndExit(written, 1);
  }
  LocalRun run(std::move(checked->experiment), *std::move(folder), binary_folder, started_at, flags.plot);
  const absl::Status opened = run.Open(signals);
  return opened.ok() ? run.Run() : ComplainAndExit(opened, 1);
}

}  // namespace waggle
