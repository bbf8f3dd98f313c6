#include "replay_server/table/waiting_samples.h"

#include <vector>

#include "tests/support/catch.h"

namespace waggle {
namespace {

void Push(WaitingSamples* waiting, uint64_t request, const DrawRequest& draw) {
  WaitingSample sample;
  sample.request = request;
  sample.draw = draw;
  waiting->Push(std::move(sample));
}

std::vector<uint64_t> Requests(const std::vector<const WaitingSample*>& samples) {
  std::vector<uint64_t> requests;
  for (const WaitingSample* sample : samples) {
    requests.push_back(sample->request);
  }
  return requests;
}

TEST_CASE("Equal requests wait behind each other, and different ones do not", "[unit]") {
  WaitingSamples waiting;
  Push(&waiting, 1, {64, 64});
  Push(&waiting, 2, {8, 8});
  Push(&waiting, 3, {64, 64});
  Push(&waiting, 4, {8, 2});
  Push(&waiting, 5, {8, 8});
  CHECK(waiting.size() == 5);
  CHECK(waiting.kinds() == 3);
  CHECK(waiting.LargestUpTo(1000) == 64);
  CHECK(waiting.LargestUpTo(63) == 8);
  CHECK(waiting.LargestUpTo(7) == 0);
  CHECK(waiting.oldest()->request == 1);
  CHECK(Requests(waiting.First(4)) == std::vector<uint64_t>{1, 2, 3, 4});
  CHECK(Requests(waiting.FirstOfEach(9)) == std::vector<uint64_t>{1, 2, 4});
  const auto small = [](const DrawRequest& draw) { return draw.items <= 8; };
  std::vector<uint64_t> taken;
  while (WaitingSample* const sample = waiting.OldestThat(small)) {
    taken.push_back(waiting.Take(sample).request);
  }
  CHECK(taken == std::vector<uint64_t>{2, 4, 5});
  CHECK(waiting.oldest()->request == 1);
  CHECK(waiting.size() == 2);
}

TEST_CASE("Any batch can be taken out, and the others keep their order", "[unit]") {
  WaitingSamples waiting;
  for (uint64_t request = 1; request <= 6; ++request) {
    Push(&waiting, request, {request % 2 == 0 ? 2 : 1, 1});
  }
  CHECK(waiting.Newest({2, 1})->request == 6);
  CHECK(waiting.Newest({3, 1}) == nullptr);
  waiting.Take(waiting.Find(3));
  waiting.Take(waiting.Find(6));
  CHECK(waiting.Find(3) == nullptr);
  CHECK(waiting.Newest({2, 1})->request == 4);
  std::vector<uint64_t> left;
  for (const WaitingSample& sample : waiting.TakeAll()) {
    left.push_back(sample.request);
  }
  CHECK(left == std::vector<uint64_t>{1, 2, 4, 5});
  CHECK(waiting.empty());
  CHECK(waiting.oldest() == nullptr);
  CHECK(waiting.LargestUpTo(1000) == 0);
  CHECK(waiting.kinds() == 0);
}

}  // namespace
}  // namespace waggle
