#include "actor/environments/external/environment_memory.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/many_leaves.h"

namespace waggle::testing {
namespace {

TEST_CASE("Every array of every group has memory of its own", "[unit]") {
  const EnvironmentSpec spec = ValueOf(ManyLeaves::Definition().spec(EnvironmentOptions()));
  EnvironmentMemory memory = ValueOf(EnvironmentMemory::Create());
  REQUIRE_OK(memory.Arrange(spec, {3, 2}, /*first_lane=*/10));
  EnvironmentMemory moved = std::move(memory);
  std::vector<LaneGroup>& groups = moved.groups();
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].first_lane == 10);
  CHECK(groups[1].first_lane == 13);
  CHECK(groups[1].lanes == 2);
  std::vector<std::pair<char*, size_t>> arrays;
  const auto add = [&arrays](auto* data, int64_t bytes) {
    arrays.emplace_back(reinterpret_cast<char*>(data), static_cast<size_t>(bytes));
  };
  for (LaneGroup& group : groups) {
    add(group.commands, group.lanes);
    add(group.seeds, 8 * group.lanes);
    add(group.step_types, 4 * group.lanes);
    add(group.discounts, 4 * group.lanes);
    for (size_t leaf = 0; leaf < spec.rewards.size(); ++leaf) {
      add(group.rewards[leaf], spec.rewards[leaf].NumBytes() * group.lanes);
    }
    for (size_t leaf = 0; leaf < spec.actions.size(); ++leaf) {
      add(group.actions[leaf], spec.actions[leaf].array.NumBytes() * group.lanes);
    }
    for (size_t leaf = 0; leaf < spec.observations.size(); ++leaf) {
      add(group.observations[leaf], spec.observations[leaf].array.NumBytes() * group.lanes);
    }
  }
  for (size_t i = 0; i < arrays.size(); ++i) {
    std::fill_n(arrays[i].first, arrays[i].second, static_cast<char>(i));
    CHECK(reinterpret_cast<uintptr_t>(arrays[i].first) % 64 == 0);
  }
  for (size_t i = 0; i < arrays.size(); ++i) {
    CHECK(std::count(arrays[i].first, arrays[i].first + arrays[i].second, static_cast<char>(i)) ==
          static_cast<std::ptrdiff_t>(arrays[i].second));
  }
}

TEST_CASE("Shared memory cannot be shrunk", "[unit]") {
  EnvironmentMemory memory = ValueOf(EnvironmentMemory::Create());
  REQUIRE_OK(memory.Arrange(ValueOf(ManyLeaves::Definition().spec(EnvironmentOptions())), {1}, 0));
  CHECK(ftruncate(memory.descriptor(), 1) != 0);
}

TEST_CASE("Leaves that need more memory than a process may share are refused", "[unit]") {
  EnvironmentSpec spec = ValueOf(ManyLeaves::Definition().spec(EnvironmentOptions()));
  spec.observations = {Box("observation", DType::kFloat32, {int64_t{1} << 28})};
  EnvironmentMemory memory = ValueOf(EnvironmentMemory::Create());
  REQUIRE_CODE(memory.Arrange(spec, {64}, 0), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace waggle::testing
