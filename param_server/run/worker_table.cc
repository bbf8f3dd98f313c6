#include "param_server/run/worker_table.h"

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/host_port.h"
#include "common/base/status_macros.h"
#include "common/base/tensor/array_spec.h"
#include "param_server/run/counter_limit.h"

namespace waggle {
namespace {

// Larger lives can only be wrong, as lives are counted up by one.
constexpr uint64_t kMaxLife = uint64_t{1} << 62;
constexpr size_t kMaxFigures = 1'000;
constexpr size_t kMaxText = 256;
// Rates are taken over ten samples at least half a second apart: samples of urgent heartbeats would make them jump.
constexpr size_t kSamples = 10;
constexpr absl::Duration kSampleSpacing = absl::Milliseconds(500);
// Samples before a longer silence are dropped: rates over the silence would be averages, not present rates.
constexpr absl::Duration kLongestSpacing = absl::Seconds(5);

absl::Status ValidateText(const char* what, const std::string& text) {
  if (text.size() > kMaxText) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": got ", text.size(), " characters; wanted at most ", kMaxText, " characters"));
  }
  return absl::OkStatus();
}

absl::Status ValidateAddress(Role role, const std::string& address) {
  if (!address.empty()) {
    return Annotate(ValidateReachable(address), "address");
  }
  // A replay server joins without one first, to hear of a return to a cut before others write to it.
  if (role == Role::kReducer) {
    return absl::InvalidArgumentError("address: got none; wanted one, as a reducer serves");
  }
  return absl::OkStatus();
}

absl::Status Validate(const WorkerFigures& figures) {
  WAGGLE_RETURN_IF_ERROR(ValidateText("activity", figures.activity));
  if (figures.counters.size() + figures.gauges.size() > kMaxFigures) {
    return absl::InvalidArgumentError(absl::StrCat(figures.counters.size() + figures.gauges.size(),
                                                   " counters and gauges; wanted at most ", kMaxFigures,
                                                   " in a report"));
  }
  for (const auto& [name, value] : figures.counters) {
    WAGGLE_RETURN_IF_ERROR(Annotate(ValidateName(name), "counter"));
    if (!(value >= 0 && value <= kMaxCounter)) {  // Refuses NaN too.
      return absl::InvalidArgumentError(absl::StrCat("counter ", name, ": got ", value, "; wanted 0 to 2^53"));
    }
  }
  for (const auto& [name, value] : figures.gauges) {
    WAGGLE_RETURN_IF_ERROR(Annotate(ValidateName(name), "gauge"));
  }
  return absl::OkStatus();
}

}  // namespace

void WorkerTable::Order(const WorkerIntroduction& worker, int64_t index, absl::Time now) {
  Leave(HolderOf(worker.role, index), now);
  Worker ordered;
  ordered.view.introduction = worker;
  ordered.view.index = index;
  seat_of_[worker.worker_id] = seats_.insert_or_assign({worker.role, index}, std::move(ordered)).first;
}

absl::StatusOr<const WorkerView*> WorkerTable::CheckArrival(const WorkerArrival& arrival) const {
  WAGGLE_RETURN_IF_ERROR(CheckNotBarred(arrival.worker_id));
  const auto seat = seat_of_.find(arrival.worker_id);
  if (seat == seat_of_.end()) {
    return absl::UnavailableError(
        absl::StrCat("worker \"", absl::CHexEscape(arrival.worker_id), "\" has no order here"));
  }
  const WorkerView& view = seat->second->second.view;
  WAGGLE_RETURN_IF_ERROR(ValidateAddress(view.introduction.role, arrival.address));
  if (arrival.life.value_or(0) > kMaxLife) {
    return absl::InvalidArgumentError(absl::StrCat("life: got ", *arrival.life, "; wanted at most 2^62"));
  }
  return &view;
}

absl::StatusOr<const WorkerView*> WorkerTable::Join(const WorkerArrival& arrival, absl::Time now) {
  WAGGLE_RETURN_IF_ERROR(CheckArrival(arrival).status());
  Worker& worker = seat_of_.at(arrival.worker_id)->second;
  if (!worker.IsAlive()) {
    ++alive_[worker.view.introduction.role];
  }
  seated_ += worker.seated ? 0 : 1;
  Worker joined;
  joined.view.introduction = worker.view.introduction;
  joined.view.introduction.address = arrival.address;
  joined.view.index = worker.view.index;
  joined.view.epoch = arrival.epoch;
  joined.view.life = arrival.life;
  joined.view.joined = now;
  joined.seated = true;
  joined.last_heartbeat = now;
  worker = std::move(joined);
  return &worker.view;
}

absl::Status WorkerTable::CheckNotBarred(const std::string& worker_id) const {
  for (const Worker& worker : gone_) {
    if (worker.view.introduction.worker_id == worker_id && !worker.barred.empty()) {
      return absl::AlreadyExistsError(worker.barred);
    }
  }
  return absl::OkStatus();
}

absl::Status WorkerTable::CheckSeated(const std::string& worker_id) const {
  if (FindSeated(worker_id) != nullptr) {
    return absl::OkStatus();
  }
  WAGGLE_RETURN_IF_ERROR(CheckNotBarred(worker_id));
  return absl::NotFoundError(absl::StrCat("worker \"", absl::CHexEscape(worker_id), "\" must join again"));
}

absl::Status WorkerTable::Heartbeat(const std::string& worker_id, WorkerFigures figures, absl::Time now) {
  WAGGLE_RETURN_IF_ERROR(CheckSeated(worker_id));
  WAGGLE_RETURN_IF_ERROR(Annotate(Validate(figures), absl::StrCat("heartbeat of ", worker_id)));
  Worker* const worker = FindSeated(worker_id);
  worker->last_heartbeat = now;
  worker->view.figures = std::move(figures);
  AddSample(worker);
  return absl::OkStatus();
}

void WorkerTable::SetFailure(const std::string& worker_id, const std::string& failure) {
  if (Worker* const worker = FindSeated(worker_id); worker != nullptr) {
    worker->view.failure = failure;
  }
}

void WorkerTable::Leave(const std::string& worker_id, absl::Time now, const std::string& barred) {
  const auto it = seat_of_.find(worker_id);
  if (it == seat_of_.end()) {
    return;
  }
  Worker worker = std::move(it->second->second);
  seats_.erase(it->second);
  seat_of_.erase(it);
  if (!worker.seated) {
    return;
  }
  --seated_;
  alive_[worker.view.introduction.role] -= worker.away ? 0 : 1;
  worker.last_heartbeat = now;
  worker.barred = barred;
  while (worker.samples.size() > 1) {
    worker.samples.pop_front();
  }
  worker.rates.reset();
  gone_.push_back(std::move(worker));
  while (static_cast<int64_t>(gone_.size()) > options_.max_gone) {
    gone_.pop_front();
  }
}

void WorkerTable::SetAway(const std::string& worker_id) {
  if (Worker* const worker = FindSeated(worker_id); worker != nullptr && !std::exchange(worker->away, true)) {
    --alive_[worker->view.introduction.role];
  }
}

void WorkerTable::SetEpoch(const std::string& worker_id, uint64_t epoch) {
  if (Worker* const worker = FindSeated(worker_id); worker != nullptr) {
    worker->view.epoch = epoch;
  }
}

bool WorkerTable::Knows(const std::string& worker_id) const {
  return seat_of_.count(worker_id) > 0 || std::any_of(gone_.begin(), gone_.end(), [&worker_id](const Worker& worker) {
           return worker.view.introduction.worker_id == worker_id;
         });
}

WorkerTable::Worker* WorkerTable::FindSeated(const std::string& worker_id) const {
  const auto seat = seat_of_.find(worker_id);
  return seat != seat_of_.end() && seat->second->second.seated ? &seat->second->second : nullptr;
}

const WorkerView* WorkerTable::Find(const std::string& worker_id) const {
  const Worker* const worker = FindSeated(worker_id);
  return worker == nullptr ? nullptr : &worker->view;
}

std::optional<Role> WorkerTable::OrderedRole(const std::string& worker_id) const {
  const auto seat = seat_of_.find(worker_id);
  return seat == seat_of_.end() ? std::nullopt : std::optional(seat->second->first.first);
}

std::string WorkerTable::HolderOf(Role role, int64_t index) const {
  const auto seat = seats_.find({role, index});
  return seat == seats_.end() ? "" : seat->second.view.introduction.worker_id;
}

std::pair<WorkerTable::Seats::const_iterator, WorkerTable::Seats::const_iterator> WorkerTable::Of(Role role) const {
  return {seats_.lower_bound({role, 0}), seats_.upper_bound({role, std::numeric_limits<int64_t>::max()})};
}

std::vector<const WorkerView*> WorkerTable::Alive(Role role) const {
  std::vector<const WorkerView*> alive;
  const auto [begin, end] = Of(role);
  for (auto seat = begin; seat != end; ++seat) {
    if (seat->second.IsAlive()) {
      alive.push_back(&seat->second.view);
    }
  }
  return alive;
}

std::vector<std::string> WorkerTable::Addresses(Role role) const {
  std::map<int64_t, std::string> by_index;
  std::set<std::string> taken;
  const auto [begin, end] = Of(role);
  for (auto seat = begin; seat != end; ++seat) {
    if (const Worker& worker = seat->second; worker.seated) {
      by_index[worker.view.index] = worker.view.introduction.address;
      taken.insert(worker.view.introduction.address);
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

int64_t WorkerTable::CountAlive(Role role) const {
  const auto alive = alive_.find(role);
  return alive == alive_.end() ? 0 : alive->second;
}

std::vector<WorkerView> WorkerTable::Overview(absl::Time now) const {
  std::vector<std::pair<const Worker*, bool>> order;  // True: the worker is gone.
  order.reserve(seats_.size() + gone_.size());
  for (const auto& [key, worker] : seats_) {
    if (worker.seated) {
      order.emplace_back(&worker, false);
    }
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
    view.alive = !gone && worker->IsAlive();
    view.gone = gone;
    // The last figures of a worker that has just left count as current.
    view.current = view.silent <= options_.current_for && !worker->samples.empty();
    if (view.current && view.alive) {
      view.rates = Rates(*worker);
    }
  }
  return views;
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
    // The rate begins at the first sample with an event: the time of the event itself is not known.
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
