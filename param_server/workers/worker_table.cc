#include "param_server/workers/worker_table.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/host_port.h"
#include "common/base/status_macros.h"
#include "common/tensor/array_spec.h"

namespace waggle {
namespace {

constexpr size_t kMaxFigures = 1'000;
constexpr size_t kMaxText = 256;
// Rates are taken over ten samples at least half a second apart: hurried heartbeats would make them jump.
constexpr size_t kSamples = 10;
constexpr absl::Duration kSampleSpacing = absl::Milliseconds(500);

absl::Status ValidateText(const char* what, const std::string& text) {
  if (text.size() > kMaxText) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " has ", text.size(), " characters; at most ", kMaxText, " are allowed"));
  }
  return absl::OkStatus();
}

absl::Status Validate(const WorkerIntroduction& introduction) {
  WAGGLE_RETURN_IF_ERROR(Annotate(ValidateName(introduction.worker_id), "worker_id"));
  WAGGLE_RETURN_IF_ERROR(ValidateText("host", introduction.host));
  if (!introduction.address.empty()) {
    WAGGLE_RETURN_IF_ERROR(Annotate(ValidateHostPort(introduction.address), "address"));
  } else if (introduction.role == Role::kReplayServer) {
    return absl::InvalidArgumentError("address: a replay server must say where it serves");
  }
  return absl::OkStatus();
}

absl::Status Validate(const WorkerFigures& figures) {
  WAGGLE_RETURN_IF_ERROR(ValidateText("activity", figures.activity));
  if (figures.counters.size() + figures.gauges.size() > kMaxFigures) {
    return absl::InvalidArgumentError(absl::StrCat(figures.counters.size() + figures.gauges.size(),
                                                   " counters and gauges; at most ", kMaxFigures, " are allowed"));
  }
  for (const auto& [name, value] : figures.counters) {
    WAGGLE_RETURN_IF_ERROR(Annotate(ValidateName(name), "counter"));
    if (!std::isfinite(value) || value < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("counter ", name, " is ", value, "; a counter is finite and not negative"));
    }
  }
  for (const auto& [name, value] : figures.gauges) {
    WAGGLE_RETURN_IF_ERROR(Annotate(ValidateName(name), "gauge"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<int64_t> WorkerTable::Join(const WorkerIntroduction& introduction, uint64_t epoch, absl::Time now) {
  WAGGLE_RETURN_IF_ERROR(Validate(introduction));
  std::vector<std::string> replaced;
  std::set<int64_t> taken;
  std::map<int64_t, std::string> silent;  // Seats that may be given away.
  int64_t alive = 0;
  for (const auto& [worker_id, worker] : seated_) {
    const WorkerIntroduction& other = worker.view.introduction;
    if (worker_id == introduction.worker_id ||
        (!other.address.empty() && other.address == introduction.address && other.host == introduction.host)) {
      replaced.push_back(worker_id);
      continue;
    }
    const bool is_silent = IsSilent(worker, now);
    alive += is_silent ? 0 : 1;
    if (other.role == introduction.role) {
      is_silent ? void(silent.emplace(worker.view.index, worker_id)) : void(taken.insert(worker.view.index));
    }
  }
  if (alive >= options_.max_workers) {
    return absl::ResourceExhaustedError(absl::StrCat("there are ", alive, " workers, as many as are allowed"));
  }
  int64_t index = 0;
  if (introduction.index.has_value() && taken.count(*introduction.index) == 0) {
    index = *introduction.index;
  } else {
    while (taken.count(index) > 0) {
      ++index;
    }
  }
  if (const auto it = silent.find(index); it != silent.end()) {
    Unseat(it->second);
  }
  for (const std::string& worker_id : replaced) {
    if (worker_id == introduction.worker_id) {
      seated_.erase(worker_id);  // It is still here, so it does not belong to those gone.
    } else {
      Unseat(worker_id);
    }
  }
  Worker worker;
  worker.view.introduction = introduction;
  worker.view.index = index;
  worker.view.epoch = epoch;
  worker.view.joined = now;
  worker.last_heartbeat = now;
  seated_.emplace(introduction.worker_id, std::move(worker));
  return index;
}

absl::Status WorkerTable::Heartbeat(const std::string& worker_id, WorkerFigures figures, absl::Time now) {
  const auto it = seated_.find(worker_id);
  if (it == seated_.end()) {
    return absl::NotFoundError(
        absl::StrCat("no worker \"", absl::CHexEscape(worker_id), "\" has joined; it has to join again"));
  }
  WAGGLE_RETURN_IF_ERROR(Annotate(Validate(figures), absl::StrCat("heartbeat of ", worker_id)));
  it->second.last_heartbeat = now;
  it->second.view.figures = std::move(figures);
  AddSample(&it->second);
  return absl::OkStatus();
}

void WorkerTable::Leave(const std::string& worker_id, absl::Time now) {
  const auto it = seated_.find(worker_id);
  if (it != seated_.end()) {
    it->second.last_heartbeat = now;
    Unseat(worker_id);
  }
}

void WorkerTable::SetAddress(const std::string& worker_id, const std::string& address) {
  if (const auto it = seated_.find(worker_id); it != seated_.end()) {
    it->second.view.introduction.address = address;
  }
}

const WorkerView* WorkerTable::Find(const std::string& worker_id) const {
  const auto it = seated_.find(worker_id);
  return it == seated_.end() ? nullptr : &it->second.view;
}

std::vector<const WorkerView*> WorkerTable::Alive(Role role, absl::Time now) const {
  std::vector<const WorkerView*> alive;
  for (const auto& [worker_id, worker] : seated_) {
    if (worker.view.introduction.role == role && !IsSilent(worker, now)) {
      alive.push_back(&worker.view);
    }
  }
  std::sort(alive.begin(), alive.end(), [](const WorkerView* a, const WorkerView* b) { return a->index < b->index; });
  return alive;
}

std::vector<WorkerView> WorkerTable::Overview(absl::Time now) const {
  std::vector<WorkerView> views;
  views.reserve(seated_.size() + gone_.size());
  const auto add = [&views, now](const Worker& worker, bool alive) {
    WorkerView view = worker.view;
    view.silent = now - worker.last_heartbeat;
    view.alive = alive;
    if (alive) {
      view.rates = Rates(worker);
    }
    views.push_back(std::move(view));
  };
  for (const auto& [worker_id, worker] : seated_) {
    add(worker, !IsSilent(worker, now));
  }
  for (const Worker& worker : gone_) {
    add(worker, false);
  }
  std::sort(views.begin(), views.end(), [](const WorkerView& a, const WorkerView& b) {
    return std::tie(a.introduction.role, a.index, a.joined) < std::tie(b.introduction.role, b.index, b.joined);
  });
  return views;
}

bool WorkerTable::IsSilent(const Worker& worker, absl::Time now) const {
  return now - worker.last_heartbeat > options_.silent_after;
}

void WorkerTable::Unseat(const std::string& worker_id) {
  const auto it = seated_.find(worker_id);
  gone_.push_back(std::move(it->second));
  gone_.back().samples.clear();
  seated_.erase(it);
  while (static_cast<int64_t>(gone_.size()) > options_.max_gone) {
    gone_.pop_front();
  }
}

void WorkerTable::AddSample(Worker* worker) {
  std::deque<Sample>& samples = worker->samples;
  const WorkerFigures& figures = worker->view.figures;
  if (!samples.empty() && figures.taken_at <= samples.back().taken_at) {
    return;
  }
  if (samples.size() >= 2 && figures.taken_at - samples[samples.size() - 2].taken_at < kSampleSpacing) {
    samples.pop_back();
  }
  samples.push_back({figures.taken_at, figures.counters});
  if (samples.size() > kSamples) {
    samples.pop_front();
  }
}

std::map<std::string, double> WorkerTable::Rates(const Worker& worker) {
  std::map<std::string, double> rates;
  if (worker.samples.size() < 2) {
    return rates;
  }
  const Sample& oldest = worker.samples.front();
  const Sample& newest = worker.samples.back();
  const double seconds = absl::ToDoubleSeconds(newest.taken_at - oldest.taken_at);
  for (const auto& [name, value] : newest.counters) {
    const auto it = oldest.counters.find(name);
    rates[name] = std::max(0.0, value - (it == oldest.counters.end() ? 0 : it->second)) / seconds;
  }
  return rates;
}

}  // namespace waggle
