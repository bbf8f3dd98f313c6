#include "cli/run/run_loop.h"

#include <poll.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "cli/experiments/experiment_client.h"
#include "cli/human_text.h"
#include "cli/run/local_processes.h"
#include "cli/run/machine_facts.h"
#include "cli/run/resume_at_hub.h"
#include "cli/status/run_facts.h"
#include "common/base/build_info.h"
#include "common/base/file.h"
#include "common/base/process/curves.h"
#include "common/base/status_macros.h"
#include "common/hub/summary/run_summary.h"
#include "common/rl/checkpoint/saved_model.h"

namespace waggle {
namespace {

constexpr absl::Duration kWatchPeriod = absl::Milliseconds(500);
constexpr absl::Duration kWatchTimeout = absl::Seconds(2);
// The hub may be slow for a moment on a busy machine; a longer silence is reported.
constexpr absl::Duration kUnansweredWorthSaying = absl::Seconds(4);
constexpr size_t kShownLogLines = 10;
// The hub already serves when it gets the experiment.
constexpr absl::Duration kSubmitPatience = absl::Seconds(10);
constexpr absl::Duration kQueuedWorthSaying = absl::Seconds(10);
// The curves can be drawn later too.
constexpr absl::Duration kDrawingTimeout = absl::Seconds(20);

}  // namespace

RunLoop::RunLoop(Experiment experiment, std::string yaml, OutputFolder folder, std::string binary_folder,
                 absl::Time started_at, bool plot, std::optional<Limits> resumed_limits)
    : experiment_(std::move(experiment)),
      yaml_(std::move(yaml)),
      folder_(std::move(folder)),
      binary_folder_(std::move(binary_folder)),
      started_at_(started_at),
      plot_(plot),
      resumed_limits_(std::move(resumed_limits)),
      supervision_(ProcessesOf(experiment_), RulesOf(experiment_), SteadyNow()),
      children_(supervision_.processes().size()),
      teller_(&printer_) {}

RunLoop::~RunLoop() {
  close(signals_);
  close(hub_files_);
}

absl::Status RunLoop::Open(const sigset_t& signals) {
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

int RunLoop::Run() {
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

void RunLoop::Wait() {
  pollfd files[] = {{signals_, POLLIN, 0}, {hub_files_, POLLIN, 0}, {-1, POLLIN, 0}};
  files[2].fd = watch_ == nullptr ? -1 : watch_->file_descriptor();
  const absl::Duration left =
      std::clamp(supervision_.NextDeadline() - SteadyNow(), absl::ZeroDuration(), absl::Hours(1));
  poll(files, std::size(files), static_cast<int>(absl::ToInt64Milliseconds(left)) + 1);
}

void RunLoop::HandleSignals() {
  signalfd_siginfo info;
  while (read(signals_, &info, sizeof(info)) == sizeof(info)) {
    if (info.ssi_signo == SIGWINCH) {
      printer_.Redraw();
    } else if (info.ssi_signo != SIGCHLD) {  // SIGCHLD only wakes the loop: several of them may arrive as one.
      Do(supervision_.Interrupted(SteadyNow()));
    }
  }
}

bool RunLoop::WaitForSignal(absl::Duration duration) {
  pollfd file = {signals_, POLLIN, 0};
  poll(&file, 1, static_cast<int>(absl::ToInt64Milliseconds(duration)) + 1);
  signalfd_siginfo info;
  while (read(signals_, &info, sizeof(info)) == sizeof(info)) {
    if (info.ssi_signo != SIGCHLD && info.ssi_signo != SIGWINCH) {
      return true;
    }
  }
  return false;
}

void RunLoop::HandleHubFiles() {
  alignas(inotify_event) char events[4096];
  bool changed = false;
  while (read(hub_files_, events, sizeof(events)) > 0) {
    changed = true;
  }
  if (!changed || !hub_address_.empty()) {
    return;
  }
  hub_address_ = std::string(absl::StripAsciiWhitespace(ReadSmallFile(folder_.File("hub/address"), 1000).value_or("")));
  if (!hub_address_.empty()) {
    Submit();
  }
}

absl::StatusOr<std::string> RunLoop::SubmitNew() const {
  v1::SubmitRequest request;
  request.set_submitted_yaml(yaml_);
  request.set_effective_yaml(ToYaml(experiment_));
  request.set_request_id(NewRequestId());
  WAGGLE_ASSIGN_OR_RETURN(const v1::SubmitResponse submitted,
                          ExperimentClient(hub_address_).Submit(request, kSubmitPatience));
  return submitted.id();
}

void RunLoop::Submit() {
  const absl::StatusOr<std::string> id =
      resumed_limits_.has_value() ? ResumeAtHub(ExperimentClient(hub_address_), *resumed_limits_) : SubmitNew();
  if (!id.ok()) {
    not_resumed_ = resumed_limits_.has_value();
    Do(supervision_.Refused(id.status(), SteadyNow()));
    return;
  }
  id_ = *id;
  printer_.Event(absl::StrCat("serving at ", hub_address_, "; from another terminal: waggle status ", id_,
                              " --param-server ", hub_address_));
  watch_ = std::make_unique<ClusterWatch>(hub_address_, id_, kWatchPeriod, kWatchTimeout);
  submitted_at_ = last_answer_ = SteadyNow();
  Do(supervision_.HubReady(SteadyNow()));
}

void RunLoop::HandleSnapshot() {
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
  const v1::ExperimentInfo& info = (*snapshot)->info;
  // The experiment waits for its processes; the wait is reported only if it is long.
  const bool just_queued = info.state() == v1::RUN_STATE_QUEUED && now - submitted_at_ < kQueuedWorthSaying;
  const RunFacts facts = just_queued ? GatherFacts(**snapshot) : teller_.Tell(**snapshot, experiment_, Context());
  hub_kept_weights_ = facts.weights_unsaved.empty();
  last_look_.Add(facts);
  overview_ = (*snapshot)->overview;
  if (facts.env_steps > 0) {
    supervision_.Stepped();
  }
  const bool closed = IsOver(facts.state) && info.ended_at_us() != 0;
  const std::string& reason = facts.state == RunState::kQueued ? info.reason() : facts.outcome_reason;
  Do(supervision_.Observed({facts.state, reason, closed}, (*snapshot)->requested_at, now));
}

void RunLoop::ReapChildren() {
  for (size_t i = 0; i < children_.size(); ++i) {
    if (children_[i] == nullptr || !children_[i]->Poll().has_value()) {
      continue;
    }
    const ChildExit exit = *children_[i]->Poll();
    const Supervision::Process& process = supervision_.processes()[i];
    ended_.push_back({process.kind.has_value() ? WorkerKindName(*process.kind) : RoleName(Role::kParamServer),
                      process.index, children_[i]->pid(), exit.ShellStatus(), exit.peak_rss_mebibytes});
    children_[i] = nullptr;
    Do(supervision_.Exited(i, exit, SteadyNow()));
  }
}

void RunLoop::Do(const Supervision::Actions& actions) {
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
    // If a process could not be started, the run has ended and the other processes were told to stop. Processes behind
    // it in this list must not start.
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

void RunLoop::ShowLog(const std::string& name) {
  const std::vector<std::string> lines = folder_.LastLogLines(name, kShownLogLines);
  printer_.Event(lines.empty() ? absl::StrCat(folder_.LogFile(name), " is empty")
                               : absl::StrCat("the end of ", folder_.LogFile(name), ":"));
  for (const std::string& line : lines) {
    printer_.Event(absl::StrCat("  ", line));
  }
}

void RunLoop::StartProcess(size_t process) {
  ChildOptions options;
  options.command =
      CommandFor(supervision_.processes()[process], experiment_.replay, binary_folder_, hub_address_, folder_);
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

void RunLoop::Announce() {
  if (announced_ || !supervision_.outcome().has_value()) {
    return;
  }
  announced_ = true;
  printer_.Event(absl::StrCat(OutcomeName(*supervision_.outcome()), supervision_.reason().empty() ? "" : ": ",
                              supervision_.reason()));
}

ProgressContext RunLoop::Context() const {
  return {experiment_.experiment.name, folder_.path(), experiment_.stop.target_return, Elapsed(),
          supervision_.outcome().has_value() ? OutcomeName(*supervision_.outcome()) : ""};
}

bool RunLoop::Holds(const std::string& folder, const v1::Result& result) const {
  const absl::StatusOr<SavedModel> saved = LoadSavedModel(folder_.File(folder));
  const v1::ModelVersion& version = result.evaluation().version();
  return saved.ok() && saved->snapshot.version == ModelVersion{version.epoch(), version.version()};
}

RunEnd RunLoop::Judge(const std::optional<v1::Result>& result) {
  KeptWeights weights;
  weights.learner = supervision_.learner_exit();
  weights.failed_learner = supervision_.failed_learner_exit();
  weights.hub = supervision_.hub_exit();
  weights.hub_said_kept = hub_kept_weights_;
  weights.has_best = result.has_value();
  const bool hub_failed = weights.hub.has_value() && !weights.hub->ok();
  if (hub_failed && result.has_value()) {  // Otherwise the hub has them, and the large files need not be read.
    weights.learner_kept_best = Holds("best", *result);
    weights.hub_kept_best = Holds(absl::StrCat("hub/experiments/", id_, "/hub/", kBestModelFolder), *result);
  }
  const RunEnd end = JudgeEnd(supervision_.outcome().value_or(Outcome::kFailed), supervision_.reason(), weights);
  if (!end.note.empty() && !weights.learner->ok()) {
    ShowLog(supervision_.processes()[supervision_.learner()].name);
  }
  if (hub_failed && weights.hub->signal == 0 && end.outcome != supervision_.outcome()) {
    ShowLog("param-server");
  }
  return end;
}

int RunLoop::Finish() {
  if (not_resumed_) {  // The folder stays as the run has left it.
    return 1;
  }
  RunSummary summary;
  summary.id = id_;
  summary.experiment = experiment_.experiment.name;
  summary.algorithm = experiment_.algorithm;
  summary.environment = experiment_.environment.name;
  summary.seed = experiment_.experiment.seed;
  summary.waggle_version = kVersion;
  summary.libtorch_version = WAGGLE_LIBTORCH_VERSION;
  summary.machine = MachineFacts();
  FillFromOverview(overview_, started_at_, &summary);
  const RunEnd end = Judge(summary.result);
  const Outcome outcome = end.outcome;
  summary.outcome = OutcomeName(outcome);
  summary.reason = end.reason;
  summary.processes = ended_;
  const absl::Status written = folder_.Write("summary.json", summary.ToJson());
  if (!written.ok()) {
    printer_.Event(std::string(written.message()));
  }
  if (const std::optional<RunFacts> last = last_look_.With(summary); last.has_value()) {
    printer_.Last(*last, Context());
  }
  if (plot_ && summary.env_steps > 0) {
    const absl::Status drawn = DrawCurves(
        binary_folder_, folder_.path(), folder_.LogFile("curves"),
        [this](absl::Duration duration) { return WaitForSignal(duration); }, kDrawingTimeout);
    printer_.Event(drawn.ok() ? absl::StrCat("its curves are in ", folder_.File("curves.png"))
                              : absl::StrCat("no curves were drawn: ", drawn.message()));
  }
  printer_.Event(absl::StrCat(OutcomeName(outcome), " after ", ShortDuration(absl::Seconds(summary.wall_seconds)),
                              " and ", ShortNumber(summary.env_steps), " environment steps",
                              end.note.empty() ? "" : absl::StrCat("; ", end.note),
                              written.ok() ? absl::StrCat("; see ", folder_.File("summary.json")) : ""));
  const bool met =
      outcome == Outcome::kSolved || (outcome == Outcome::kLimit && !experiment_.stop.target_return.has_value());
  return met && written.ok() ? 0 : outcome == Outcome::kInterrupted ? 130 : 1;
}

}  // namespace waggle
