#include "cli/status/top_screen.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/human_text.h"
#include "cli/status/loop_text.h"
#include "cli/status/run_facts.h"
#include "common/hub/hub_convert.h"
#include "common/hub/pool_convert.h"
#include "common/hub/summary/bottleneck.h"

namespace waggle {
namespace {

using Rows = std::vector<std::vector<std::string>>;

std::optional<double> Find(const google::protobuf::Map<std::string, double>& numbers, const std::string& name) {
  const auto found = numbers.find(name);
  return found == numbers.end() ? std::nullopt : std::optional<double>(found->second);
}

std::string StateText(const v1::ExperimentInfo& info) {
  return RunStateName(FromProto(info.state()).value_or(RunState::kNoExperiment));
}

// "waggle 1.2.0: 12 processes: 8 actor, 1 learner; experiments: 2 running, 3 queued".
std::string SummaryText(const PoolSnapshot& snapshot) {
  std::map<v1::WorkerKind, int> kinds;
  for (const v1::PoolMember& member : snapshot.pool.members()) {
    ++kinds[member.kind()];
  }
  std::vector<std::string> parts;
  for (const auto& [kind, count] : kinds) {
    const absl::StatusOr<WorkerKind> known = FromProto(kind);
    parts.push_back(absl::StrCat(count, " ", known.ok() ? WorkerKindName(*known) : "unknown"));
  }
  int running = 0;
  int queued = 0;
  for (const v1::ExperimentInfo& info : snapshot.experiments.experiments()) {
    running += info.state() == v1::RUN_STATE_RUNNING ? 1 : 0;
    queued += info.state() == v1::RUN_STATE_QUEUED ? 1 : 0;
  }
  return absl::StrCat("waggle ", snapshot.pool.software_version(), ": ", snapshot.pool.members_size(), " processes",
                      parts.empty() ? "" : ": ", absl::StrJoin(parts, ", "), "; experiments: ", running, " running, ",
                      queued, " queued");
}

// A row with the key by which rows are sorted, the largest first.
using KeyedRow = std::pair<double, std::vector<std::string>>;

void AppendSorted(std::vector<KeyedRow> rows, Rows* to) {
  std::stable_sort(rows.begin(), rows.end(), [](const KeyedRow& a, const KeyedRow& b) { return a.first > b.first; });
  for (KeyedRow& row : rows) {
    to->push_back(std::move(row.second));
  }
}

Rows ExperimentRows(const PoolSnapshot& snapshot, absl::Time now) {
  std::vector<KeyedRow> rows;
  for (const v1::ExperimentInfo& info : snapshot.experiments.experiments()) {
    if (info.ended_at_us() != 0) {
      continue;
    }
    const auto run = snapshot.runs.find(info.id());
    if (run == snapshot.runs.end()) {
      rows.push_back({-absl::ToDoubleSeconds(now - absl::FromUnixMicros(info.submitted_at_us())) - 1e12 -
                          1e13 * static_cast<double>(-info.priority()),
                      {info.id(), StateText(info), "-", "-", "-", "-", "-", "-", "-", "-", CauseOf(info)}});
      continue;
    }
    const LoopFigures loop = LoopOf(run->second);
    const std::optional<double> returned = Find(run->second.figures(), "actor/return_mean");
    rows.push_back(
        {loop.env_steps.value_or(0),
         {info.id(), StateText(info), NumberOrDash(loop.env_steps), NumberOrDash(loop.items_inserted),
          NumberOrDash(loop.items_sampled), NumberOrDash(loop.learner_steps), ShareOrDash(loop.actor_waiting),
          ShareOrDash(loop.learner_waiting), NumberOrDash(loop.policy_lag),
          returned.has_value() ? absl::StrFormat("%.1f", *returned) : "-", BottleneckText(FindBottleneck(loop))}});
  }
  Rows all = {{"experiment", "state", "steps/s", "in/s", "out/s", "learn/s", "actors wait", "learner waits", "lag",
               "return", "slow"}};
  AppendSorted(std::move(rows), &all);
  return all;
}

// The rate that says most of a worker: of steps, items or gradients.
std::pair<double, std::string> MainRate(const v1::WorkerInfo& worker) {
  for (const char* const name : {"env_steps", "learner_steps", "items_sampled", "gradients_pushed", "evaluations"}) {
    if (const std::optional<double> rate = Find(worker.rates(), name); rate.value_or(0) > 0) {
      return {*rate, absl::StrCat(ShortNumber(*rate), " ", name, "/s")};
    }
  }
  return {0, "-"};
}

Rows WorkerRows(const PoolSnapshot& snapshot, TopOrder order) {
  std::vector<KeyedRow> rows;
  for (const auto& [id, run] : snapshot.runs) {
    for (const v1::WorkerInfo& worker : run.workers()) {
      if (worker.gone()) {
        continue;
      }
      const std::optional<double> waiting = Find(worker.gauges(), "waiting_fraction");
      const std::optional<double> memory = Find(worker.gauges(), "resident_bytes");
      const auto [rate, rate_text] = MainRate(worker);
      const double key = order == TopOrder::kMemory ? memory.value_or(0)
                         : order == TopOrder::kRate ? rate
                                                    : waiting.value_or(-1);
      rows.push_back({key,
                      {WorkerName(worker), id, worker.host(), absl::StrCat(worker.process_id()),
                       memory.has_value() ? ShortBytes(*memory) : "-", ShareOrDash(waiting), rate_text,
                       ShortDuration(absl::Milliseconds(worker.silent_ms())),
                       worker.silent_ms() >= kSilentWorkerMs || !worker.alive() ? "SILENT" : worker.activity()}});
    }
  }
  Rows all = {{"worker", "experiment", "host", "pid", "memory", "waits", "rate", "heard", "activity"}};
  AppendSorted(std::move(rows), &all);
  return all;
}

std::vector<std::string> LinesOf(const Rows& rows, size_t width) {
  std::vector<std::string> lines = absl::StrSplit(AlignedColumns(rows, ""), '\n', absl::SkipEmpty());
  for (std::string& line : lines) {
    line = Printable(line, width);
  }
  return lines;
}

}  // namespace

std::vector<std::string> TopScreen(const PoolSnapshot& snapshot, TopOrder order, absl::Time now, size_t width,
                                   size_t height) {
  std::vector<std::string> screen = {Printable(SummaryText(snapshot), width), ""};
  std::vector<std::string> experiments = LinesOf(ExperimentRows(snapshot, now), width);
  std::vector<std::string> workers = LinesOf(WorkerRows(snapshot, order), width);
  // Workers get what experiments leave, and at least half.
  const size_t left = height > screen.size() + 1 ? height - screen.size() - 1 : 0;
  const size_t for_workers = std::min(workers.size(), std::max(left / 2, left - std::min(left, experiments.size())));
  experiments.resize(std::min(experiments.size(), left - for_workers));
  workers.resize(for_workers);
  screen.insert(screen.end(), experiments.begin(), experiments.end());
  screen.emplace_back();
  screen.insert(screen.end(), workers.begin(), workers.end());
  screen.resize(std::min(screen.size(), height));
  return screen;
}

}  // namespace waggle
