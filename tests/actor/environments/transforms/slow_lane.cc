#include "tests/actor/environments/transforms/slow_lane.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "actor/environments/transforms/apply_transforms.h"
#include "common/base/status_macros.h"
#include "common/base/tensor/elements.h"
#include "tests/actor/environments/transforms/scripted_environment.h"
#include "tests/actor/scrambled_environment.h"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

constexpr int64_t kLanes = 5;
constexpr int kRows = 150;
constexpr uint64_t kSeed = 7;
constexpr uint64_t kTransformSeed = 99;

// Rows in the middle of an episode have a discount of their own.
constexpr float kMidDiscount = 0.5F;

class DiscountingEnvironment final : public ScrambledEnvironment {
 public:
  using ScrambledEnvironment::ScrambledEnvironment;

  absl::StatusOr<ReadyLanes> Recv(int64_t at_least, const StopToken& stop) override {
    WAGGLE_ASSIGN_OR_RETURN(ReadyLanes ready, ScrambledEnvironment::Recv(at_least, stop));
    discounts_.assign(ready.discounts, ready.discounts + ready.lanes.size());
    for (size_t row = 0; row < discounts_.size(); ++row) {
      if (ready.step_types[row] == static_cast<int32_t>(StepType::kMid)) {
        discounts_[row] = kMidDiscount;
      }
    }
    ready.discounts = discounts_.data();
    return ready;
  }

 private:
  std::vector<float> discounts_;
};

class EnvironmentLane : public SlowLane {
 public:
  explicit EnvironmentLane(std::unique_ptr<Environment> environment) : environment_(std::move(environment)) {}

  SlowRow Begin() override {
    SlowRow row;
    Prepare(&row);
    REQUIRE_OK(environment_->Reset(pointers_));
    return row;
  }

  SlowRow Step(const SlowAction& action) override {
    SlowRow row;
    Prepare(&row);
    std::vector<const void*> actions;
    for (const std::string& leaf : action) {
      actions.push_back(leaf.data());
    }
    const StepOutcome outcome = ValueOf(environment_->Step(actions, pointers_, row.rewards.data()));
    row.step_type = outcome.terminated || outcome.truncated ? StepType::kLast : StepType::kMid;
    row.discount = row.step_type == StepType::kMid ? kMidDiscount : outcome.terminated ? 0 : 1;
    row.raw_reward = std::accumulate(row.rewards.begin(), row.rewards.end(), 0.0);
    return row;
  }

 private:
  void Prepare(SlowRow* row) {
    row->rewards.resize(2);
    pointers_.clear();
    for (const SpaceLeaf& leaf : environment_->spec().observations) {
      row->observations.emplace_back(static_cast<size_t>(leaf.array.NumBytes()), '\0');
    }
    for (std::string& leaf : row->observations) {
      pointers_.push_back(leaf.data());
    }
  }

  const std::unique_ptr<Environment> environment_;
  std::vector<void*> pointers_;
};

class MappedLane : public SlowLane {
 public:
  MappedLane(std::unique_ptr<SlowLane> inner, std::function<void(SlowRow*)> map)
      : inner_(std::move(inner)), map_(std::move(map)) {}

  SlowRow Begin() override { return Mapped(inner_->Begin()); }
  SlowRow Step(const SlowAction& action) override { return Mapped(inner_->Step(action)); }

 private:
  SlowRow Mapped(SlowRow row) const {
    map_(&row);
    return row;
  }

  const std::unique_ptr<SlowLane> inner_;
  const std::function<void(SlowRow*)> map_;
};

SlowRow RowOf(const EnvironmentSpec& spec, const ReadyLanes& ready, size_t row) {
  SlowRow shown;
  for (size_t i = 0; i < spec.observations.size(); ++i) {
    const auto bytes = static_cast<size_t>(spec.observations[i].array.NumBytes());
    shown.observations.emplace_back(static_cast<const char*>(ready.observations[i]) + row * bytes, bytes);
  }
  shown.step_type = static_cast<StepType>(ready.step_types[row]);
  CHECK((ready.first[row] != 0) == (shown.step_type == StepType::kFirst));
  shown.rewards.assign(ready.rewards[0] + 2 * row, ready.rewards[0] + 2 * row + 2);
  shown.raw_reward = ready.raw_rewards != nullptr ? ready.raw_rewards[row]
                                                  : std::accumulate(shown.rewards.begin(), shown.rewards.end(), 0.0);
  shown.discount = ready.discounts[row];
  return shown;
}

bool IsWithin(const SpaceLeaf& leaf, const std::string& bytes) {
  for (int64_t i = 0; i < leaf.array.NumElements(); ++i) {
    const double element = ElementAsDouble(leaf.array.dtype, bytes.data(), i);
    const double high =
        leaf.num_values.empty() ? leaf.High(i) : static_cast<double>(leaf.num_values[static_cast<size_t>(i)] - 1);
    const double low = leaf.num_values.empty() ? leaf.Low(i) : 0;
    if (!(element >= low - 1e-6 && element <= high + 1e-6)) {
      return false;
    }
  }
  return true;
}

// An action of a ScriptedEnvironment that the row allows.
SlowAction Choose(const SlowRow& row, Rng* rng) {
  while (true) {
    const int64_t move = static_cast<int64_t>(rng->UniformInt(3));
    SlowAction action = {std::string(reinterpret_cast<const char*>(&move), sizeof(move)), std::string(2, '\0')};
    action[1][0] = static_cast<char>(rng->UniformInt(2));
    action[1][1] = static_cast<char>(rng->UniformInt(2));
    if (IsLegal(row, action)) {
      return action;
    }
  }
}

// A lane under comparison, row by row.
struct ComparedLane {
  std::unique_ptr<SlowLane> slow;
  Rng choices = Rng(0);
  SlowRow shown;
  SlowAction action;  // The action chosen in that row.
  int rows = 0;
};

}  // namespace

std::unique_ptr<SlowLane> NewSlowLane(std::unique_ptr<Environment> environment) {
  return std::make_unique<EnvironmentLane>(std::move(environment));
}

std::unique_ptr<SlowLane> MapRows(std::unique_ptr<SlowLane> inner, std::function<void(SlowRow*)> map) {
  return std::make_unique<MappedLane>(std::move(inner), std::move(map));
}

bool IsLegal(const SlowRow& row, const SlowAction& action) {
  int64_t move = 0;
  std::memcpy(&move, action[0].data(), sizeof(move));
  return row.observations[kMask][static_cast<size_t>(move)] != 0;
}

void CompareWithSlowLanes(const std::string& transforms, const AddTransform& reference) {
  const int64_t at_least = GENERATE(1, 3, kLanes);
  const uint64_t spread = GENERATE(1, 6);
  CAPTURE(transforms, at_least, spread);
  EnvironmentOptions options;
  options.transforms = transforms;
  const auto fast = ValueOf(ApplyTransforms(
      std::make_unique<DiscountingEnvironment>(ScriptedCopies(kLanes, kSeed), /*slow_lane=*/-1, spread, /*seed=*/1),
      options, /*raw_rewards=*/false, Rng(kTransformSeed)));
  const EnvironmentSpec& spec = fast->spec();
  std::vector<ComparedLane> lanes(kLanes);
  std::vector<std::unique_ptr<Environment>> copies = ScriptedCopies(kLanes, kSeed);
  const uint64_t seed = Rng(kTransformSeed).Next();
  for (size_t lane = 0; lane < lanes.size(); ++lane) {
    lanes[lane].slow = reference(NewSlowLane(std::move(copies[lane])), Rng::Split(seed, "lane", lane));
    lanes[lane].choices = Rng(lane);
  }
  REQUIRE_OK(fast->Reset());
  for (int batch = 0; batch < kRows; ++batch) {
    const ReadyLanes ready = ValueOf(fast->Recv(at_least, StopToken()));
    REQUIRE(ready.lanes.size() >= static_cast<size_t>(at_least));
    std::vector<int64_t> sent;
    SlowAction actions(2);
    for (size_t row = 0; row < ready.lanes.size(); ++row) {
      ComparedLane& lane = lanes[static_cast<size_t>(ready.lanes[row])];
      const bool begins = lane.rows++ == 0 || lane.shown.step_type == StepType::kLast;
      lane.shown = RowOf(spec, ready, row);
      REQUIRE(lane.shown == (begins ? lane.slow->Begin() : lane.slow->Step(lane.action)));
      for (size_t leaf = 0; leaf < spec.observations.size(); ++leaf) {
        REQUIRE(IsWithin(spec.observations[leaf], lane.shown.observations[leaf]));
      }
      lane.action = Choose(lane.shown, &lane.choices);
      sent.push_back(ready.lanes[row]);
      actions[0] += lane.action[0];
      actions[1] += lane.action[1];
    }
    REQUIRE_OK(fast->Send(sent, {actions[0].data(), actions[1].data()}));
  }
}

}  // namespace waggle::testing
