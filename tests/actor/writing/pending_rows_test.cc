#include "actor/writing/pending_rows.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "common/base/random.h"
#include "tests/actor/fakes.h"
#include "tests/support/catch.h"
#include "tests/support/many_leaves.h"

namespace waggle {
namespace {

constexpr int64_t kLanes = 4;

// A policy with two columns and one private value. It never acts.
class ColumnsPolicy : public testing::CountingPolicy {
 public:
  std::vector<ArraySpec> columns() const override {
    return {ArraySpec{"log_prob", DType::kFloat32, {}}, ArraySpec{"state", DType::kInt32, {3}}};
  }
  std::vector<std::string> private_columns() const override { return {"value"}; }
};

// Arrays of which every byte differs between lanes and times.
LeafArrays Marked(const std::vector<ArraySpec>& specs, const std::vector<int64_t>& lanes, int64_t t) {
  LeafArrays arrays(specs, kLanes);
  for (size_t leaf = 0; leaf < specs.size(); ++leaf) {
    const auto bytes = static_cast<size_t>(specs[leaf].NumBytes());
    for (size_t row = 0; row < lanes.size(); ++row) {
      std::memset(static_cast<char*>(arrays.pointers()[leaf]) + row * bytes,
                  static_cast<int>(31 * t + 7 * lanes[row] + static_cast<int64_t>(leaf)) % 251, bytes);
    }
  }
  return arrays;
}

void CheckMarks(const std::vector<ArraySpec>& specs, const void* const* arrays, int64_t lane, int64_t t) {
  for (size_t leaf = 0; leaf < specs.size(); ++leaf) {
    const auto bytes = static_cast<size_t>(specs[leaf].NumBytes());
    const char* const row = static_cast<const char*>(arrays[leaf]) + static_cast<size_t>(lane) * bytes;
    INFO(specs[leaf].name << " of lane " << lane);
    REQUIRE(std::vector<char>(row, row + bytes) ==
            std::vector<char>(bytes, static_cast<char>((31 * t + 7 * lane + static_cast<int64_t>(leaf)) % 251)));
  }
}

void CheckZero(const std::vector<ArraySpec>& specs, const void* const* arrays, int64_t lane) {
  for (size_t leaf = 0; leaf < specs.size(); ++leaf) {
    const auto bytes = static_cast<size_t>(specs[leaf].NumBytes());
    const char* const row = static_cast<const char*>(arrays[leaf]) + static_cast<size_t>(lane) * bytes;
    INFO(specs[leaf].name << " of lane " << lane);
    REQUIRE(std::vector<char>(row, row + bytes) == std::vector<char>(bytes));
  }
}

// A vector environment's rows and a policy's decisions at one time, for these lanes.
struct Moment {
  Moment(const EnvironmentSpec& spec, const Policy& policy, std::vector<int64_t> of, int64_t t)
      : lanes(std::move(of)),
        observations(Marked(ArraysOf(spec.observations), lanes, t)),
        rewards(Marked(spec.rewards, lanes, t)),
        actions(Marked(ArraysOf(spec.actions), lanes, t)),
        columns(Marked(policy.columns(), lanes, t)),
        first(kLanes) {
    for (const int64_t lane : lanes) {
      step_types.push_back(static_cast<int32_t>(100 * t + lane));
      discounts.push_back(static_cast<float>(200 * t + lane));
      private_values.push_back(static_cast<float>(300 * t + lane));
    }
    for (const void* reward : rewards.pointers()) {
      reward_pointers.push_back(static_cast<const float*>(reward));
    }
    ready = {lanes, observations.pointers(), step_types.data(), first.data(), reward_pointers, discounts.data()};
    decided.actions = actions.pointers();
    decided.columns = columns.pointers();
    decided.private_values = private_values.data();
  }
  Moment(const Moment&) = delete;

  const std::vector<int64_t> lanes;
  const LeafArrays observations;
  const LeafArrays rewards;
  const LeafArrays actions;
  const LeafArrays columns;
  std::vector<uint8_t> first;
  std::vector<int32_t> step_types;
  std::vector<float> discounts;
  std::vector<float> private_values;
  std::vector<const float*> reward_pointers;
  ReadyLanes ready;
  PolicyOutput decided;
};

TEST_CASE("a row has its lane's observations, the decision and its result", "[unit]") {
  const EnvironmentSpec spec = testing::ManyLeaves(1).spec();
  const ColumnsPolicy policy;
  PendingRows pending(spec, policy, kLanes);
  Rng rng(6);
  std::vector<int64_t> kept_at(kLanes, -1);  // By lane: the time; -1 before its first row.
  int64_t all_together = 0;
  int64_t left_out = 0;
  for (int64_t t = 0; t < 400; ++t) {
    std::vector<int64_t> lanes(kLanes);
    std::iota(lanes.begin(), lanes.end(), 0);
    if (t < 20 || rng.UniformInt(2) == 0) {  // Else all lanes, in their order.
      for (size_t i = lanes.size(); i > 1; --i) {
        std::swap(lanes[i - 1], lanes[rng.UniformInt(i)]);
      }
      lanes.resize(1 + rng.UniformInt(lanes.size()));
    }
    const Moment moment(spec, policy, lanes, t);
    const PendingRows::Complete complete = pending.Take(moment.ready);
    std::vector<int64_t> expected;
    for (const int64_t lane : lanes) {
      if (kept_at[static_cast<size_t>(lane)] >= 0) {
        expected.push_back(lane);
      }
    }
    left_out += static_cast<int64_t>(lanes.size() - expected.size());
    all_together += expected.size() == kLanes ? 1 : 0;
    REQUIRE(std::vector<int64_t>(complete.lanes.begin(), complete.lanes.end()) == expected);
    for (const int64_t lane : expected) {
      const int64_t before = kept_at[static_cast<size_t>(lane)];
      CheckMarks(ArraysOf(spec.observations), complete.rows.observations.data(), lane, before);
      CheckMarks(ArraysOf(spec.actions), complete.rows.actions.data(), lane, before);
      CheckMarks(policy.columns(), complete.rows.policy_columns.data(), lane, before);
      const void* const reward = complete.rows.rewards[0];
      CheckMarks(spec.rewards, &reward, lane, t);
      REQUIRE(complete.rows.step_types[lane] == 100 * before + lane);
      REQUIRE(complete.rows.private_values[lane] == static_cast<float>(300 * before + lane));
      REQUIRE(complete.rows.discounts[lane] == static_cast<float>(200 * t + lane));
    }
    pending.Keep(moment.ready, moment.decided);
    for (const int64_t lane : lanes) {
      kept_at[static_cast<size_t>(lane)] = t;
    }
    // Rows of some lanes are copied; rows of all lanes in order are borrowed until the next Take.
    if (lanes != std::vector<int64_t>{0, 1, 2, 3}) {
      continue;
    }
    const Moment next(spec, policy, lanes, ++t);
    const PendingRows::Complete at_once = pending.Take(next.ready);
    REQUIRE(at_once.rows.observations.data() == moment.ready.observations.data());  // Nothing was copied.
    REQUIRE(at_once.rows.rewards.data() == next.ready.rewards.data());
    pending.Keep(next.ready, next.decided);
    std::fill(kept_at.begin(), kept_at.end(), t);
    const Moment some(spec, policy, {2}, ++t);
    const PendingRows::Complete one = pending.Take(some.ready);
    REQUIRE(one.lanes.size() == 1);
    CheckMarks(ArraysOf(spec.observations), one.rows.observations.data(), 2, t - 1);
    pending.Keep(some.ready, some.decided);
    kept_at[2] = t;
  }
  REQUIRE(all_together > 50);
  REQUIRE(left_out == kLanes);
}

TEST_CASE("rows of Show have observations alone, for lanes in any order, and do not change kept rows", "[unit]") {
  const EnvironmentSpec spec = testing::ManyLeaves(1).spec();
  const ColumnsPolicy policy;
  const std::vector<int64_t> in_order = {0, 1, 2, 3};
  for (const std::vector<int64_t>& lanes : {in_order, {3, 1, 0, 2}, {2, 0}}) {
    PendingRows pending(spec, policy, kLanes);
    const Moment kept(spec, policy, in_order, 1);
    pending.Keep(kept.ready, kept.decided);
    for (int64_t t = 2; t < 4; ++t) {
      const Moment shown(spec, policy, lanes, t);
      const PendingRows::Complete rows = pending.Show(shown.ready);
      REQUIRE(std::vector<int64_t>(rows.lanes.begin(), rows.lanes.end()) == lanes);
      for (const int64_t lane : lanes) {
        CheckMarks(ArraysOf(spec.observations), rows.rows.observations.data(), lane, t);
        REQUIRE(rows.rows.step_types[lane] == 100 * t + lane);
        CheckZero(ArraysOf(spec.actions), rows.rows.actions.data(), lane);
        CheckZero(policy.columns(), rows.rows.policy_columns.data(), lane);
        const void* const reward = rows.rows.rewards[0];
        CheckZero(spec.rewards, &reward, lane);
        REQUIRE(rows.rows.discounts[lane] == 0);
        REQUIRE(rows.rows.private_values[lane] == 0);
      }
    }
    const Moment led_to(spec, policy, lanes, 4);
    const PendingRows::Complete complete = pending.Take(led_to.ready);
    for (const int64_t lane : lanes) {
      CheckMarks(ArraysOf(spec.observations), complete.rows.observations.data(), lane, 1);
      CheckMarks(ArraysOf(spec.actions), complete.rows.actions.data(), lane, 1);
      REQUIRE(complete.rows.discounts[lane] == static_cast<float>(200 * 4 + lane));
    }
  }
}

}  // namespace
}  // namespace waggle
