#include "common/nn/copy_stream.h"

#include "tests/support/catch.h"
#include "tests/support/cuda.h"

namespace waggle {
namespace {

TEST_CASE("values survive copies to the device and back, however many are under way", "[cuda]") {
  if (!testing::HasCuda()) {
    return;
  }
  constexpr int64_t kSize = 1 << 20;
  const CopyStream there(torch::kCUDA);
  const CopyStream back(torch::kCUDA);
  torch::Tensor work = torch::rand({2048, 2048}, torch::kCUDA);
  std::vector<torch::Tensor> copies;
  for (int64_t i = 0; i < 20; ++i) {
    const torch::Tensor pinned =
        torch::full({kSize}, i, torch::TensorOptions().dtype(torch::kInt64).pinned_memory(true));
    work = work.mm(work).softmax(1);
    // The result is there only after the product above, which takes its time.
    const torch::Tensor result = there.ToDevice(pinned) * 3 + (work[0][0] < 0).to(torch::kInt64);
    copies.push_back(back.ToHost(result));
    REQUIRE(copies.back().is_pinned());
  }
  back.Wait();
  for (int64_t i = 0; i < 20; ++i) {
    CHECK(torch::equal(copies[static_cast<size_t>(i)], torch::full({kSize}, 3 * i, torch::kInt64)));
  }
}

}  // namespace
}  // namespace waggle
