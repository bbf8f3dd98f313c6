#include "tests/actor/scrambled_environment.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/base/check.h"
#include "common/base/status_macros.h"

namespace waggle::testing {
namespace {

constexpr uint64_t kSlowness = 10;
constexpr char kOverwritten = 0x5a;

std::vector<std::unique_ptr<LocalVectorEnvironment>> OneByOne(std::vector<std::unique_ptr<Environment>> environments) {
  std::vector<std::unique_ptr<LocalVectorEnvironment>> lanes;
  lanes.reserve(environments.size());
  for (std::unique_ptr<Environment>& environment : environments) {
    std::vector<std::unique_ptr<Environment>> one;
    one.push_back(std::move(environment));
    lanes.push_back(std::make_unique<LocalVectorEnvironment>(std::move(one)));
  }
  return lanes;
}

template <class Specs>
void Overwrite(const Specs& specs, int64_t rows, const LeafArrays& arrays) {
  for (size_t i = 0; i < specs.size(); ++i) {
    std::memset(arrays.pointers()[i], kOverwritten, static_cast<size_t>(rows * specs[i].NumBytes()));
  }
}

}  // namespace

ScrambledEnvironment::ScrambledEnvironment(std::vector<std::unique_ptr<Environment>> environments, int64_t slow_lane,
                                           uint64_t spread, uint64_t seed)
    : lanes_(OneByOne(std::move(environments))),
      slow_lane_(slow_lane),
      spread_(spread),
      rng_(seed),
      due_(lanes_.size()),
      batches_{NewBatch(), NewBatch()},
      rewards_(spec().rewards, lanes()),
      discounts_(lanes_.size()) {
  for (const void* rewards : rewards_.pointers()) {
    reward_pointers_.push_back(static_cast<const float*>(rewards));
  }
}

ScrambledEnvironment::Batch ScrambledEnvironment::NewBatch() const {
  return {{},
          LeafArrays(ArraysOf(spec().observations), lanes()),
          std::vector<int32_t>(lanes_.size()),
          std::vector<uint8_t>(lanes_.size())};
}

absl::Status ScrambledEnvironment::Start(absl::Span<const int64_t> lanes) {
  for (const int64_t lane : lanes) {
    WAGGLE_CHECK(due_[static_cast<size_t>(lane)] == 0, "a lane that is started is not under way");
    WAGGLE_RETURN_IF_ERROR(lanes_[static_cast<size_t>(lane)]->Start({0}));
    SetUnderWay(lane);
  }
  return absl::OkStatus();
}

absl::Status ScrambledEnvironment::Reset() {
  for (int64_t lane = 0; lane < lanes(); ++lane) {
    WAGGLE_RETURN_IF_ERROR(lanes_[static_cast<size_t>(lane)]->Reset());
    SetUnderWay(lane);
  }
  return absl::OkStatus();
}

void ScrambledEnvironment::SetUnderWay(int64_t lane) {
  const uint64_t ticks = 1 + rng_.UniformInt(spread_);
  due_[static_cast<size_t>(lane)] = now_ + (lane == slow_lane_ ? kSlowness * ticks : ticks);
}

absl::Status ScrambledEnvironment::Send(absl::Span<const int64_t> lanes, absl::Span<const void* const> actions) {
  for (size_t i = 0; i < lanes.size(); ++i) {
    const auto lane = static_cast<size_t>(lanes[i]);
    WAGGLE_CHECK(due_[lane] == 0, "an action is for a lane that is ready");
    std::vector<const void*> row;
    for (size_t leaf = 0; leaf < spec().actions.size(); ++leaf) {
      row.push_back(static_cast<const char*>(actions[leaf]) +
                    i * static_cast<size_t>(spec().actions[leaf].array.NumBytes()));
    }
    WAGGLE_RETURN_IF_ERROR(lanes_[lane]->Send({0}, row));
    SetUnderWay(lanes[i]);
  }
  // Overwrites all that may be dropped.
  Batch& old = batches_[1 - current_];
  Overwrite(ArraysOf(spec().observations), this->lanes(), old.observations);
  std::fill(old.lanes.begin(), old.lanes.end(), int64_t{1} << 40);
  std::fill(old.step_types.begin(), old.step_types.end(), 99);
  std::fill(old.first.begin(), old.first.end(), 99);
  Overwrite(spec().rewards, this->lanes(), rewards_);
  std::fill(discounts_.begin(), discounts_.end(), 99.0F);
  return absl::OkStatus();
}

absl::StatusOr<ReadyLanes> ScrambledEnvironment::Recv(int64_t at_least, const StopToken& stop) {
  if (hangs_) {
    stop.Wait();
    return absl::CancelledError("stopped");
  }
  std::vector<uint64_t> due;
  std::copy_if(due_.begin(), due_.end(), std::back_inserter(due), [](uint64_t tick) { return tick > 0; });
  WAGGLE_CHECK(at_least >= 1 && at_least <= static_cast<int64_t>(due.size()), "so many lanes are under way");
  std::sort(due.begin(), due.end());
  now_ = std::max(now_, due[static_cast<size_t>(at_least) - 1]);
  std::vector<int64_t> ready;
  for (int64_t lane = 0; lane < lanes(); ++lane) {
    uint64_t& tick = due_[static_cast<size_t>(lane)];
    if (tick > 0 && tick <= now_) {
      ready.push_back(lane);
      tick = 0;
    }
  }
  for (size_t i = ready.size(); i > 1; --i) {
    std::swap(ready[i - 1], ready[rng_.UniformInt(i)]);
  }
  ++(ready.size() == lanes_.size() ? whole_batches_ : partial_batches_);
  current_ = 1 - current_;
  Batch* const batch = &batches_[current_];
  batch->lanes.clear();
  for (const int64_t lane : ready) {
    WAGGLE_RETURN_IF_ERROR(Receive(lane, batch));
  }
  return ReadyLanes{
      batch->lanes,     batch->observations.pointers(), batch->step_types.data(), batch->first.data(), reward_pointers_,
      discounts_.data()};
}

absl::Status ScrambledEnvironment::Receive(int64_t lane, Batch* batch) {
  WAGGLE_ASSIGN_OR_RETURN(const ReadyLanes one, lanes_[static_cast<size_t>(lane)]->Recv(1, StopToken()));
  const size_t row = batch->lanes.size();
  const auto copy = [row](const ArraySpec& leaf, const void* from, void* to) {
    const auto bytes = static_cast<size_t>(leaf.NumBytes());
    std::memcpy(static_cast<char*>(to) + row * bytes, from, bytes);
  };
  for (size_t i = 0; i < spec().observations.size(); ++i) {
    copy(spec().observations[i].array, one.observations[i], batch->observations.pointers()[i]);
  }
  for (size_t i = 0; i < spec().rewards.size(); ++i) {
    copy(spec().rewards[i], one.rewards[i], rewards_.pointers()[i]);
  }
  discounts_[row] = one.discounts[0];
  batch->step_types[row] = one.step_types[0];
  batch->first[row] = one.first[0];
  batch->lanes.push_back(lane);
  return absl::OkStatus();
}

}  // namespace waggle::testing
