#include "param_server/workers/worker_table.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/host_port.h"
#include "common/base/status_macros.h"
#include "common/tensor/array_spec.h"
#include "param_server/workers/counter_limit.h"

namespace waggle {
namespace {

constexpr size_t kMaxFigures = 1'000;
constexpr size_t kMaxText = 256;
// Rates are taken over ten samples at least half a second apart: hurried heartbeats would make them jump.
constexpr size_t kSamples = 10;
constexpr absl::Duration kSampleSpacing = absl::Milliseconds(500);
// A rate over a longer silence would say for seconds after it how things stood on average, and not how they stand.
constexpr absl::Duration kLongestSpacing = absl::Seconds(5);

absl::Status ValidateText(const char* what, const std::string& text) {
  if (text.size() > kMaxText) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " has ", text.size(), " characters; at most ", kMaxText, " are allowed"));
  }
  return absl::OkStatus();
}

absl::Status ValidateIndex(const char* what, std::optional<int64_t> index, int64_t limit) {
  if (index.has_value() && (*index < 0 || *index >= limit)) {
    return absl::InvalidArgumentError(absl::StrCat(what, ": ", *index, " is not in 0 to ", limit - 1));
  }
  return absl::OkStatus();
}

// "process 77 on host-a".
std::string Whereabouts(const WorkerIntroduction& introduction) {
  return absl::StrCat("process ", introduction.process_id, " on ", absl::CHexEscape(introduction.host));
}

absl::Status Validate(const WorkerIntroduction& introduction, const WorkerTableOptions& options) {
  WAGGLE_RETURN_IF_ERROR(ValidateIndex("index", introduction.index, options.max_workers));
  WAGGLE_RETURN_IF_ERROR(ValidateIndex("own_index", introduction.own_index, options.max_workers));
  WAGGLE_RETURN_IF_ERROR(Annotate(ValidateName(introduction.worker_id), "worker_id"));
  WAGGLE_RETURN_IF_ERROR(ValidateText("host", introduction.host));
  if (!introduction.address.empty()) {
    WAGGLE_RETURN_IF_ERROR(Annotate(ValidateReachable(introduction.address), "address"));
  } else if (introduction.role == Role::kReplayServer || introduction.role == Role::kReducer) {
    return absl::InvalidArgumentError(absl::StrCat(
        "address: a ", introduction.role == Role::kReducer ? "reducer" : "replay server", " must say where it serves"));
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
    if (!(value >= 0 && value <= kMaxCounter)) {  // So that NaN is refused too.
      return absl::InvalidArgumentError(
          absl::StrCat("counter ", name, " is ", value, "; a counter is not negative and at most 2^53"));
    }
  }
  for (const auto& [name, value] : figures.gauges) {
    WAGGLE_RETURN_IF_ERROR(Annotate(ValidateName(name), "gauge"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<int64_t> WorkerTable::Join(const WorkerIntroduction& introduction, uint64_t epoch, absl::Time now) {
  WAGGLE_RETURN_IF_ERROR(Validate(introduction, options_));
  WAGGLE_RETURN_IF_ERROR(CheckNotReplaced(introduction.worker_id));
  std::vector<std::string> replaced;
  std::map<int64_t, Worker*> holders;  // Who sits where, in this role.
  int64_t alive = 0;
  for (auto& [worker_id, worker] : seated_) {
    const WorkerIntroduction& other = worker.view.introduction;
    if (worker_id == introduction.worker_id ||
        (!other.address.empty() && other.address == introduction.address && other.host == introduction.host)) {
      replaced.push_back(worker_id);
      continue;
    }
    alive += IsSilent(worker, now) ? 0 : 1;
    if (other.role == introduction.role) {
      holders[worker.view.index] = &worker;
    }
  }
  if (alive >= options_.max_workers) {
    return absl::ResourceExhaustedError(absl::StrCat("there are ", alive, " workers, as many as are allowed"));
  }
  const auto is_free = [&](int64_t index) {
    const auto holder = holders.find(index);
    return holder == holders.end() || IsSilent(*holder->second, now);
  };
  int64_t index = introduction.own_index.value_or(introduction.index.value_or(0));
  if (!introduction.own_index.has_value() && !is_free(index)) {
    for (index = 0; !is_free(index); ++index) {
    }
  }
  if (const auto holder = holders.find(index); holder != holders.end()) {
    if (introduction.own_index.has_value()) {
      WAGGLE_RETURN_IF_ERROR(Contest(introduction, holder->second, now));
    }
    Unseat(holder->second->view.introduction.worker_id);
    if (introduction.own_index.has_value() && gone_.back().view.introduction.own_index.has_value()) {
      gone_.back().replaced =
          absl::StrCat("this ", RoleName(introduction.role), " ", index, ", ",
                       Whereabouts(gone_.back().view.introduction), ", was silent and has been replaced by ",
                       Whereabouts(introduction), ", which was started with the same index");
    }
  }
  for (const std::string& worker_id : replaced) {
    if (worker_id == introduction.worker_id) {
      RemoveFromRole(&seated_.at(worker_id));
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
  Worker* const seated = &seated_.emplace(introduction.worker_id, std::move(worker)).first->second;
  RoleSeats& role = roles_[introduction.role];
  role.by_index[index] = seated;
  seated->place = role.heard.insert(role.heard.end(), seated);
  Hear(seated, now);
  return index;
}

absl::Status WorkerTable::Contest(const WorkerIntroduction& introduction, Worker* holder, absl::Time now) const {
  const WorkerIntroduction& other = holder->view.introduction;
  const absl::Duration silent = now - holder->last_heartbeat;
  const bool same_host = other.host == introduction.host;
  if (IsSilent(*holder, now) || (same_host && silent > options_.replaced_after)) {
    return absl::OkStatus();
  }
  const std::string taken =
      absl::StrCat(RoleName(introduction.role), " ", holder->view.index, " is ", Whereabouts(other));
  if (holder->contested_by == introduction.worker_id && holder->heard_since_then) {
    return absl::AlreadyExistsError(
        absl::StrCat(taken, ", which is alive; stop that one first: this is ", Whereabouts(introduction)));
  }
  if (holder->contested_by != introduction.worker_id) {
    holder->contested_by = introduction.worker_id;
    holder->heard_since_then = false;
  }
  return absl::UnavailableError(
      absl::StrCat(taken, ", heard from ", absl::FormatDuration(silent), " ago; waiting whether it still lives"));
}

absl::Status WorkerTable::CheckNotReplaced(const std::string& worker_id) const {
  for (const Worker& worker : gone_) {
    if (worker.view.introduction.worker_id == worker_id && !worker.replaced.empty()) {
      return absl::AlreadyExistsError(worker.replaced);
    }
  }
  return absl::OkStatus();
}

absl::Status WorkerTable::CheckSeated(const std::string& worker_id) const {
  if (seated_.count(worker_id) > 0) {
    return absl::OkStatus();
  }
  WAGGLE_RETURN_IF_ERROR(CheckNotReplaced(worker_id));
  return absl::NotFoundError(
      absl::StrCat("no worker \"", absl::CHexEscape(worker_id), "\" has joined; it has to join again"));
}

absl::Status WorkerTable::Heartbeat(const std::string& worker_id, WorkerFigures figures, absl::Time now) {
  WAGGLE_RETURN_IF_ERROR(CheckSeated(worker_id));
  const auto it = seated_.find(worker_id);
  WAGGLE_RETURN_IF_ERROR(Annotate(Validate(figures), absl::StrCat("heartbeat of ", worker_id)));
  Hear(&it->second, now);
  it->second.heard_since_then = true;
  it->second.view.figures = std::move(figures);
  AddSample(&it->second);
  return absl::OkStatus();
}

void WorkerTable::SetFailure(const std::string& worker_id, const std::string& failure) {
  if (const auto it = seated_.find(worker_id); it != seated_.end()) {
    it->second.view.failure = failure;
  }
}

void WorkerTable::Leave(const std::string& worker_id, absl::Time now) {
  const auto it = seated_.find(worker_id);
  if (it != seated_.end()) {
    it->second.last_heartbeat = now;
    Unseat(worker_id);
  }
}

void WorkerTable::Bar(const std::string& worker_id, const std::string& why) {
  for (Worker& worker : gone_) {
    if (worker.view.introduction.worker_id == worker_id) {
      worker.replaced = why;
    }
  }
}

void WorkerTable::SetEpoch(const std::string& worker_id, uint64_t epoch) {
  if (const auto it = seated_.find(worker_id); it != seated_.end()) {
    it->second.view.epoch = epoch;
  }
}

void WorkerTable::SetLife(const std::string& worker_id, uint64_t life) {
  if (const auto it = seated_.find(worker_id); it != seated_.end()) {
    it->second.view.life = life;
  }
}

void WorkerTable::SetAddress(const std::string& worker_id, const std::string& address) {
  if (const auto it = seated_.find(worker_id); it != seated_.end()) {
    it->second.view.introduction.address = address;
  }
}

bool WorkerTable::Knows(const std::string& worker_id) const {
  return seated_.count(worker_id) > 0 || std::any_of(gone_.begin(), gone_.end(), [&worker_id](const Worker& worker) {
           return worker.view.introduction.worker_id == worker_id;
         });
}

const WorkerView* WorkerTable::Find(const std::string& worker_id) const {
  const auto it = seated_.find(worker_id);
  return it == seated_.end() ? nullptr : &it->second.view;
}

std::vector<const WorkerView*> WorkerTable::Alive(Role role, absl::Time now) const {
  std::vector<const WorkerView*> alive;
  if (const auto seats = roles_.find(role); seats != roles_.end()) {
    for (const auto& [index, worker] : seats->second.by_index) {
      if (!IsSilent(*worker, now)) {
        alive.push_back(&worker->view);
      }
    }
  }
  return alive;
}

std::vector<WorkerView> WorkerTable::Seated(Role role) const {
  std::vector<WorkerView> seated;
  if (const auto seats = roles_.find(role); seats != roles_.end()) {
    for (const auto& [index, worker] : seats->second.by_index) {
      seated.push_back(worker->view);
    }
  }
  return seated;
}

std::vector<std::string> WorkerTable::Addresses(Role role) const {
  std::map<int64_t, std::string> by_index;
  std::set<std::string> taken;
  if (const auto seats = roles_.find(role); seats != roles_.end()) {
    for (const auto& [index, worker] : seats->second.by_index) {
      by_index[index] = worker->view.introduction.address;
      taken.insert(worker->view.introduction.address);
    }
  }
  for (auto worker = gone_.rbegin(); worker != gone_.rend(); ++worker) {  // The newest first.
    const WorkerIntroduction& introduction = worker->view.introduction;
    if (introduction.role == role && by_index.count(worker->view.index) == 0 &&
        taken.insert(introduction.address).second) {
      by_index[worker->view.index] = introduction.address;
    }
  }
  std::vector<std::string> addresses;
  for (const auto& [index, address] : by_index) {
    addresses.resize(static_cast<size_t>(index) + 1);
    addresses.back() = address;
  }
  return addresses;
}

int64_t WorkerTable::CountAlive(Role role, absl::Time now) {
  std::list<Worker*>& heard = roles_[role].heard;
  while (!heard.empty() && IsSilent(*heard.front(), now)) {
    heard.front()->heard = false;
    heard.pop_front();
  }
  return static_cast<int64_t>(heard.size());
}

std::vector<WorkerView> WorkerTable::Overview(absl::Time now) const {
  std::vector<std::pair<const Worker*, bool>> order;  // Whether each is gone.
  order.reserve(seated_.size() + gone_.size());
  for (const auto& [worker_id, worker] : seated_) {
    order.emplace_back(&worker, false);
  }
  for (const Worker& worker : gone_) {
    order.emplace_back(&worker, true);
  }
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    const WorkerView& left = a.first->view;
    const WorkerView& right = b.first->view;
    return std::tie(left.introduction.role, left.index, left.joined) <
           std::tie(right.introduction.role, right.index, right.joined);
  });
  std::vector<WorkerView> views;
  views.reserve(order.size());
  for (const auto& [worker, gone] : order) {
    WorkerView& view = views.emplace_back(worker->view);
    view.silent = now - worker->last_heartbeat;
    view.alive = !gone && !IsSilent(*worker, now);
    view.gone = gone;
    // The last figures of a worker that has just left are as good as those of one that will be heard again.
    view.current = view.silent <= options_.current_for && !worker->samples.empty();
    if (view.current && view.alive) {
      view.rates = Rates(*worker);
    }
  }
  return views;
}

bool WorkerTable::IsSilent(const Worker& worker, absl::Time now) const {
  return now - worker.last_heartbeat > options_.silent_after;
}

void WorkerTable::Hear(Worker* worker, absl::Time now) {
  worker->last_heartbeat = now;
  std::list<Worker*>& heard = roles_[worker->view.introduction.role].heard;
  if (worker->heard) {
    heard.splice(heard.end(), heard, worker->place);
  } else {
    worker->place = heard.insert(heard.end(), worker);
    worker->heard = true;
  }
}

void WorkerTable::RemoveFromRole(Worker* worker) {
  RoleSeats& role = roles_[worker->view.introduction.role];
  role.by_index.erase(worker->view.index);
  if (worker->heard) {
    role.heard.erase(worker->place);
  }
}

void WorkerTable::Unseat(const std::string& worker_id) {
  const auto it = seated_.find(worker_id);
  RemoveFromRole(&it->second);
  gone_.push_back(std::move(it->second));
  Worker& gone = gone_.back();
  while (gone.samples.size() > 1) {
    gone.samples.pop_front();
  }
  gone.rates.reset();
  seated_.erase(it);
  while (static_cast<int64_t>(gone_.size()) > options_.max_gone) {
    gone_.pop_front();
  }
}

void WorkerTable::AddSample(Worker* worker) {
  std::deque<SharedValue<WorkerFigures>>& samples = worker->samples;
  const SharedValue<WorkerFigures>& figures = worker->view.figures;
  if (!samples.empty() && figures->taken_at <= samples.back()->taken_at) {
    return;
  }
  worker->rates.reset();
  if (!samples.empty() && figures->taken_at - samples.back()->taken_at > kLongestSpacing) {
    samples.clear();
  }
  if (samples.size() >= 2 && figures->taken_at - samples[samples.size() - 2]->taken_at < kSampleSpacing) {
    samples.pop_back();
  }
  samples.push_back(figures);
  if (samples.size() > kSamples) {
    samples.pop_front();
  }
}

const SharedValue<std::map<std::string, double>>& WorkerTable::Rates(const Worker& worker) {
  if (worker.rates.has_value()) {
    return *worker.rates;
  }
  std::map<std::string, double> rates;
  if (worker.samples.size() < 2) {
    return worker.rates.emplace(std::move(rates));
  }
  const WorkerFigures& newest = *worker.samples.back();
  for (const auto& [name, value] : newest.counters) {
    const auto value_in = [counter = &name](const SharedValue<WorkerFigures>& sample) {
      const auto it = sample->counters.find(*counter);
      return it == sample->counters.end() ? 0.0 : it->second;
    };
    // Before the first event there is nothing to have a rate of, and when it came before its sample is not known.
    const auto first =
        value == 0 ? worker.samples.begin()
                   : std::find_if(worker.samples.begin(), worker.samples.end(),
                                  [&](const SharedValue<WorkerFigures>& sample) { return value_in(sample) > 0; });
    if (const double seconds = absl::ToDoubleSeconds(newest.taken_at - (*first)->taken_at); seconds > 0) {
      rates.emplace_hint(rates.end(), name, std::max(0.0, value - value_in(*first)) / seconds);
    }
  }
  return worker.rates.emplace(std::move(rates));
}

}  // namespace waggle
