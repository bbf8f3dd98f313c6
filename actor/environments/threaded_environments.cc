#include "actor/environments/threaded_environments.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <numeric>
#include <utility>

#include "common/base/check.h"
#include "common/base/status_macros.h"

namespace waggle {

absl::StatusOr<std::unique_ptr<VectorEnvironment>> MakeLocalEnvironment(const EnvironmentDefinition& definition,
                                                                        const EnvironmentOptions& options,
                                                                        int64_t lanes, Rng rng, bool in_order) {
  WAGGLE_ASSIGN_OR_RETURN(std::vector<std::unique_ptr<Environment>> copies,
                          MakeEnvironments(definition, options, lanes, std::move(rng)));
  if (options.threads > 1) {
    return std::make_unique<ThreadedEnvironments>(std::move(copies), options.threads, in_order);
  }
  return std::make_unique<LocalVectorEnvironment>(std::move(copies));
}

ThreadedEnvironments::Part::Part(std::vector<std::unique_ptr<Environment>> copies, int64_t part_first_lane)
    : environments(std::move(copies), part_first_lane),
      first_lane(part_first_lane),
      wanted(ArraysOf(environments.spec().actions), environments.lanes()),
      running(ArraysOf(environments.spec().actions), environments.lanes()) {}

ThreadedEnvironments::ThreadedEnvironments(std::vector<std::unique_ptr<Environment>> environments, int64_t threads,
                                           bool in_order)
    : in_order_(in_order) {
  const auto lanes = static_cast<int64_t>(environments.size());
  threads = std::min(threads, lanes);
  for (int64_t i = 0; i < threads; ++i) {
    const int64_t begin = i * lanes / threads;
    const int64_t end = (i + 1) * lanes / threads;
    parts_.push_back(std::make_unique<Part>(
        std::vector<std::unique_ptr<Environment>>(std::make_move_iterator(environments.begin() + begin),
                                                  std::make_move_iterator(environments.begin() + end)),
        begin));
    part_of_lane_.insert(part_of_lane_.end(), static_cast<size_t>(end - begin), parts_.back().get());
  }
  for (const SpaceLeaf& leaf : spec().observations) {
    observation_bytes_.push_back(static_cast<size_t>(leaf.array.NumBytes()));
  }
  for (const SpaceLeaf& leaf : spec().actions) {
    action_bytes_.push_back(static_cast<size_t>(leaf.array.NumBytes()));
  }
  rows_ = std::make_unique<ReadyRows>(spec(), lanes);
  executor_ = std::make_unique<Executor>("environment", static_cast<int>(threads), static_cast<size_t>(threads));
}

ThreadedEnvironments::~ThreadedEnvironments() = default;

absl::Status ThreadedEnvironments::Start(absl::Span<const int64_t> lanes) {
  for (const int64_t lane : lanes) {
    Part* const part = part_of_lane_[static_cast<size_t>(lane)];
    part->wanted.starts.push_back(lane - part->first_lane);
  }
  return in_order_ ? absl::OkStatus() : RunAllDue();
}

absl::Status ThreadedEnvironments::Reset() {
  WAGGLE_RETURN_IF_ERROR(AwaitDone(/*all=*/true, StopToken()));
  rows_->Clear();
  for (const auto& part : parts_) {
    part->is_running = false;  // Its rows are dropped.
    part->wanted.Clear();
    part->wanted.reset = true;
  }
  return in_order_ ? absl::OkStatus() : RunAllDue();
}

absl::Status ThreadedEnvironments::Send(absl::Span<const int64_t> lanes, absl::Span<const void* const> actions) {
  for (size_t row = 0; row < lanes.size(); ++row) {
    Part* const part = part_of_lane_[static_cast<size_t>(lanes[row])];
    const size_t to = part->wanted.sends.size();
    for (size_t leaf = 0; leaf < action_bytes_.size(); ++leaf) {
      const size_t bytes = action_bytes_[leaf];
      std::memcpy(static_cast<char*>(part->wanted.actions.pointers()[leaf]) + to * bytes,
                  static_cast<const char*>(actions[leaf]) + row * bytes, bytes);
    }
    part->wanted.sends.push_back(lanes[row] - part->first_lane);
  }
  return in_order_ ? absl::OkStatus() : RunAllDue();
}

absl::StatusOr<ReadyLanes> ThreadedEnvironments::Recv(int64_t at_least, const StopToken& stop) {
  if (in_order_) {
    WAGGLE_RETURN_IF_ERROR(RunAllDue());
    WAGGLE_RETURN_IF_ERROR(AwaitDone(/*all=*/true, stop));
  }
  WAGGLE_RETURN_IF_ERROR(TakeRows());
  while (rows_->rows() < at_least) {
    WAGGLE_RETURN_IF_ERROR(AwaitDone(/*all=*/false, stop));
    WAGGLE_RETURN_IF_ERROR(TakeRows());
  }
  return rows_->Show();
}

absl::Status ThreadedEnvironments::RunAllDue() {
  for (const auto& part : parts_) {
    WAGGLE_RETURN_IF_ERROR(RunIfDue(part.get()));
  }
  return absl::OkStatus();
}

absl::Status ThreadedEnvironments::RunIfDue(Part* part) {
  if (part->is_running || part->wanted.empty()) {
    return absl::OkStatus();
  }
  std::swap(part->wanted, part->running);
  part->wanted.Clear();
  part->is_running = true;
  {
    MutexLock lock(&mutex_);
    part->status.reset();
  }
  return executor_->Submit([this, part] { Do(part); });
}

void ThreadedEnvironments::Do(Part* part) {
  const Part::Commands& commands = part->running;
  const std::vector<void*>& actions = commands.actions.pointers();
  absl::Status status = commands.reset ? part->environments.Reset() : absl::OkStatus();
  if (status.ok()) {
    status = part->environments.Start(commands.starts);
  }
  if (status.ok()) {
    status = part->environments.Send(commands.sends, std::vector<const void*>(actions.begin(), actions.end()));
  }
  MutexLock lock(&mutex_);
  part->status = std::move(status);
  done_.SignalAll();
}

absl::Status ThreadedEnvironments::AwaitDone(bool all, const StopToken& stop) {
  const StopToken::Callback wake(stop, [this] {
    MutexLock lock(&mutex_);
    done_.SignalAll();
  });
  MutexLock lock(&mutex_);
  while (true) {
    int64_t running = 0;
    int64_t done = 0;
    for (const auto& part : parts_) {
      running += part->is_running ? 1 : 0;
      done += part->is_running && part->status.has_value() ? 1 : 0;
    }
    if (running == done || (done > 0 && !all)) {
      return absl::OkStatus();
    }
    if (stop.StopRequested()) {
      return absl::CancelledError("stopped while environments step");
    }
    done_.Wait(&mutex_);
  }
}

absl::Status ThreadedEnvironments::TakeRows() {
  for (const auto& part : parts_) {
    std::optional<absl::Status> status;
    if (part->is_running) {
      MutexLock lock(&mutex_);
      status = part->status;
    }
    if (!status.has_value()) {
      continue;
    }
    part->is_running = false;
    WAGGLE_RETURN_IF_ERROR(*status);
    WAGGLE_RETURN_IF_ERROR(TakeRowsOf(part.get()));
    if (!in_order_) {
      WAGGLE_RETURN_IF_ERROR(RunIfDue(part.get()));
    }
  }
  return absl::OkStatus();
}

absl::Status ThreadedEnvironments::TakeRowsOf(Part* part) {
  WAGGLE_ASSIGN_OR_RETURN(const ReadyLanes ready, part->environments.Recv(1, StopToken()));
  order_.resize(ready.lanes.size());
  std::iota(order_.begin(), order_.end(), size_t{0});
  if (in_order_) {
    std::sort(order_.begin(), order_.end(), [&](size_t a, size_t b) { return ready.lanes[a] < ready.lanes[b]; });
  }
  for (const size_t row : order_) {
    for (size_t leaf = 0; leaf < observation_bytes_.size(); ++leaf) {
      const size_t bytes = observation_bytes_[leaf];
      std::memcpy(static_cast<char*>(rows_->observations()[leaf]) + static_cast<size_t>(rows_->rows()) * bytes,
                  static_cast<const char*>(ready.observations[leaf]) + row * bytes, bytes);
    }
    for (size_t leaf = 0; leaf < ready.rewards.size(); ++leaf) {
      const size_t elements = rows_->RewardElements(leaf);
      std::copy_n(ready.rewards[leaf] + row * elements, elements, rows_->Rewards(leaf));
    }
    rows_->Add(part->first_lane + ready.lanes[row], static_cast<StepType>(ready.step_types[row]), ready.discounts[row]);
  }
  return absl::OkStatus();
}

}  // namespace waggle
