#include "learner/priority_batcher.h"

#include "tests/learner/fakes.h"
#include "tests/support/catch.h"
#include "tests/support/cuda.h"

namespace waggle {
namespace {

using testing::FakeBatch;
using testing::RecordingUpdater;

void CheckItems(const RecordingUpdater& updater, size_t count) {
  REQUIRE(updater.items.size() == count);
  for (size_t i = 0; i < updater.items.size(); ++i) {
    CHECK(updater.items[i].key == i);
    CHECK(updater.items[i].generation == 2 * i);
    CHECK(updater.items[i].priority == static_cast<double>(i));
  }
}

TEST_CASE("priorities of several batches are sent together, each with its item's key", "[unit]") {
  RecordingUpdater updater;
  PriorityBatcher batcher(&updater, 3);
  for (int64_t batch = 0; batch < 7; ++batch) {
    REQUIRE_OK(batcher.Add(FakeBatch(2, 2 * batch, 0), torch::tensor({2.0F * batch, 2.0F * batch + 1})));
  }
  CHECK(updater.sizes == std::vector<size_t>{6, 6});
  REQUIRE_OK(batcher.Send());
  CHECK(updater.sizes == std::vector<size_t>{6, 6, 2});
  REQUIRE_OK(batcher.Send());
  CHECK(updater.sizes.size() == 3);
  CheckItems(updater, 14);
}

TEST_CASE("priorities on a device are sent when the next ones are there, or at Send", "[cuda]") {
  if (!testing::HasCuda()) {
    return;
  }
  RecordingUpdater updater;
  PriorityBatcher batcher(&updater, 2);
  for (int64_t batch = 0; batch < 41; ++batch) {
    const torch::Tensor priorities = torch::arange(2 * batch, 2 * batch + 2, torch::kCUDA).to(torch::kFloat32);
    REQUIRE_OK(batcher.Add(FakeBatch(2, 2 * batch, 0), priorities));
    CHECK(updater.items.size() == static_cast<size_t>(std::max<int64_t>(0, 4 * ((batch + 1) / 2 - 1))));
  }
  REQUIRE_OK(batcher.Send());
  CheckItems(updater, 82);
}

TEST_CASE("a wrong number of priorities is refused and nothing is sent", "[unit]") {
  RecordingUpdater updater;
  PriorityBatcher batcher(&updater, 1);
  CHECK_FALSE(batcher.Add(FakeBatch(2, 0, 0), torch::zeros({3})).ok());
  CHECK(updater.items.empty());
}

}  // namespace
}  // namespace waggle
