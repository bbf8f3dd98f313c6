#include "param_server/experiments/host_state.h"

#include <random>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "common/base/log.h"
#include "common/base/log_context.h"
#include "common/base/random.h"
#include "common/base/status_macros.h"
#include "common/config/experiment/live_settings.h"
#include "common/hub/hub_convert.h"

namespace waggle {
namespace {

// One of these is left for records and events; the others open and close runs.
constexpr int kFileThreads = 6;
constexpr size_t kMaxFileTasks = 1'000;
// Pause after a failed save.
constexpr absl::Duration kWritePause = absl::Seconds(1);
// Most unsaved events; the oldest are dropped.
constexpr size_t kMaxEvents = 10'000;
constexpr size_t kMaxNameInId = 40;
constexpr size_t kIdLetters = 5;

}  // namespace

void HostState::Wake::Up() {
  MutexLock lock(&mutex);
  if (!std::exchange(any, true)) {
    changed.SignalAll();
  }
}

HostState::HostState(const ExperimentHostOptions& host_options, std::unique_ptr<ExperimentStore> its_store)
    : options(host_options),
      store(std::move(its_store)),
      wake(std::make_shared<Wake>()),
      pool(options.pool, static_cast<uint64_t>(absl::ToUnixMicros(absl::Now())), options.clock()),
      rng((uint64_t{std::random_device()()} << 32) | std::random_device()()),
      executor(std::in_place, "experiment-files", kFileThreads, kMaxFileTasks) {
  Executor::LaneOptions lane;
  lane.max_queued = kMaxFileTasks;
  lane.max_running = kFileThreads - 1;
  runs.emplace(&*executor, lane);
}

std::string HostState::NewId(const std::string& name) {
  // Without vowels, so that ids are not words.
  constexpr char kLetters[] = "bcdfghjkmnpqrstvwxz23456789";
  std::string id = absl::StrReplaceAll(name.substr(0, kMaxNameInId), {{".", "-"}});
  absl::StrAppend(&id, "-");
  std::random_device random;
  Rng rng((uint64_t{random()} << 32) | random());
  for (size_t i = 0; i < kIdLetters; ++i) {
    id += kLetters[rng.Next() % (sizeof(kLetters) - 1)];
  }
  return id;
}

std::string HostState::RunFolder(const std::string& id) const {
  return absl::StrCat(options.data_folder, "/experiments/", id);
}

std::string HostState::OutputFolder(const std::string& id) const {
  return options.output_pattern.empty() ? absl::StrCat(RunFolder(id), "/output")
                                        : absl::StrReplaceAll(options.output_pattern, {{"{id}", id}});
}

absl::StatusOr<Experiment> HostState::Parse(const ExperimentRecord& record, const std::string& effective_yaml) const {
  return ParseWithSettings(effective_yaml, absl::StrCat("experiment ", record.id), record.settings,
                           *options.algorithms);
}

RunNeeds HostState::Needs(const ExperimentRecord& record, const Experiment& experiment) const {
  RunNeeds needs = NeedsOf(experiment);
  needs.experiment_id = record.id;
  needs.priority = record.priority;
  needs.sequence = record.sequence;
  needs.output_folder = record.output_folder;
  needs.owner = record.labels.owner;
  needs.tags = record.labels.tags;
  return needs;
}

void HostState::Add(ExperimentRecord record) {
  const std::string id = record.id;
  const ExperimentRecord& added = records[id] = std::move(record);
  by_sequence[added.sequence] = &added;
}

absl::StatusOr<ExperimentRecord*> HostState::Find(const std::string& id) {
  const auto record = records.find(id);
  if (record == records.end() || deleting.count(id) > 0) {
    return absl::NotFoundError(absl::StrCat("there is no experiment \"", absl::CHexEscape(id), "\""));
  }
  return &record->second;
}

std::optional<ExperimentRecord> HostState::RecordUnlessOver(const std::string& id) {
  MutexLock lock(&mutex);
  const ExperimentRecord& record = records.at(id);
  return IsOver(record.state) ? std::nullopt : std::optional<ExperimentRecord>(record);
}

bool HostState::IsClosing(const std::string& id) {
  if (const auto active = active_runs.find(id); active != active_runs.end()) {
    return IsOver(active->second.run->hub()->run_state());
  }
  const auto pending = pending_runs.find(id);
  return closing_runs.count(id) > 0 ||
         (pending != pending_runs.end() && pending->second.opening && IsOver(records.at(id).state));
}

bool HostState::ReturnsToCut(const std::string& id) const {
  const auto pending = pending_runs.find(id);
  return pending != pending_runs.end() && pending->second.returns;
}

RunState HostState::StateOf(const ExperimentRecord& record) const {
  const auto active = active_runs.find(record.id);
  return active == active_runs.end() ? record.state : active->second.run->hub()->run_state();
}

v1::ExperimentInfo HostState::View(const ExperimentRecord& record) const {
  v1::ExperimentInfo info;
  info.set_id(record.id);
  info.set_name(record.name);
  info.set_algorithm(record.algorithm);
  info.set_environment(record.environment);
  info.set_seed(record.seed);
  info.set_priority(static_cast<int32_t>(record.priority));
  info.set_state(ToProto(record.state));
  info.set_reason(record.reason);
  info.set_submitted_at_us(absl::ToUnixMicros(record.submitted));
  info.set_started_at_us(record.started.has_value() ? absl::ToUnixMicros(*record.started) : 0);
  info.set_ended_at_us(record.ended.has_value() ? absl::ToUnixMicros(*record.ended) : 0);
  info.set_attempts(static_cast<uint32_t>(record.attempts));
  info.set_software_version(record.software_version);
  info.set_output_folder(record.output_folder);
  info.set_population(record.membership.population);
  info.set_group(record.labels.group);
  info.mutable_settings()->Add(record.labels.varied.begin(), record.labels.varied.end());
  info.mutable_tags()->Add(record.labels.tags.begin(), record.labels.tags.end());
  info.set_owner(record.labels.owner);
  for (const absl::string_view line : absl::StrSplit(record.settings, '\n')) {
    if (absl::StartsWith(line, "stop.")) {
      info.add_limits(std::string(line));
    }
  }
  const auto add = [&info](const RunStanding& standing) {
    info.set_env_steps(standing.env_steps);
    info.set_learner_steps(standing.learner_steps);
    info.set_running_ms(absl::ToInt64Milliseconds(standing.running));
    if (standing.result.has_value()) {
      *info.mutable_result() = ToProto(*standing.result);
    }
  };
  if (const auto active = active_runs.find(record.id); active != active_runs.end()) {
    const RunStanding standing = active->second.run->hub()->Standing();
    add(standing);
    info.set_state(ToProto(standing.state));
    info.set_reason(standing.reason);
    if (const PoolRun* const run = pool.FindRun(record.id); run != nullptr) {
      info.set_workers(static_cast<uint32_t>(run->Seated()));
      info.set_workers_wanted(static_cast<uint32_t>(run->Wanted()));
      if (const std::string missing = run->Missing(); standing.reason.empty() && !missing.empty()) {
        info.set_reason(absl::StrCat("waits for ", missing));
      }
    }
    if (!active->second.unclosed.empty()) {
      absl::StrAppend(info.mutable_reason(), "; it is not closed yet: ", active->second.unclosed);
    }
    return info;
  }
  if (const auto pending = pending_runs.find(record.id); pending != pending_runs.end() && !IsOver(record.state)) {
    info.set_reason(pending->second.waits_for);
  }
  if (const auto past = past_standings.find(record.id); past != past_standings.end()) {
    add(past->second);
  }
  return info;
}

std::string HostState::WithTrace(const std::string& event) {
  const std::string trace_id = ThreadTraceId();
  const std::string caller = ThreadCaller();
  return absl::StrCat(event, caller.empty() ? "" : absl::StrCat(" (by ", caller, ")"),
                      trace_id.empty() ? "" : absl::StrCat(" (trace ", trace_id, ")"));
}

absl::Status HostState::SaveRecord(const ExperimentRecord& record, const std::string& event,
                                   const std::string* last_overview) {
  WAGGLE_RETURN_IF_ERROR(last_overview == nullptr ? store->Update(record, WithTrace(event))
                                                  : store->UpdateClosed(record, *last_overview));
  MutexLock lock(&mutex);
  records.at(record.id) = record;
  if (const auto pending = pending_runs.find(record.id);
      IsOver(record.state) && pending != pending_runs.end() && !pending->second.opening) {
    pending_runs.erase(pending);
  }
  return absl::OkStatus();
}

bool HostState::Noted(const absl::Status& written, const std::string& what) {
  if (!written.ok()) {
    LogError(what, ": ", written.message());
    MutexLock lock(&mutex);
    retry_at = options.clock() + kWritePause;
  }
  return written.ok();
}

void HostState::Note(const std::string& id, const std::string& text) {
  MutexLock lock(&events_mutex);
  events.emplace_back(id, ExperimentEvent{0, absl::Now(), WithTrace(text)});
  if (events.size() > kMaxEvents) {
    events.pop_front();
  }
}

bool HostState::HasEvents() {
  MutexLock lock(&events_mutex);
  return !events.empty();
}

void HostState::SaveEvents() {
  std::vector<std::pair<std::string, ExperimentEvent>> unsaved;
  {
    MutexLock lock(&events_mutex);
    unsaved.assign(events.begin(), events.end());
    events.clear();
  }
  if (unsaved.empty() ||
      Noted(store->AddEvents(unsaved), absl::StrCat(unsaved.size(), " events of experiments are not saved yet"))) {
    return;
  }
  MutexLock lock(&events_mutex);
  events.insert(events.begin(), unsaved.begin(), unsaved.end());
  while (events.size() > kMaxEvents) {
    events.pop_front();
  }
}

}  // namespace waggle
