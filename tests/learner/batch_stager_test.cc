#include "learner/batch_stager.h"

#include "tests/learner/fakes.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("a staged batch has every field as a tensor of its type and shape", "[unit]") {
  StagedBatch staged;
  REQUIRE_OK(StageBatch(testing::FakeBatch(3, 10, 7), torch::kCPU, &staged));
  CHECK(staged.tensors.size == 3);
  CHECK(staged.tensors.table_items == 100);
  CHECK(torch::equal(staged.tensors.at("value"), torch::tensor({10.0F, 11.0F, 12.0F})));
  CHECK(torch::equal(staged.tensors.at(kItemKey), torch::tensor({10, 11, 12}, torch::kInt64)));
  CHECK(torch::equal(staged.tensors.at(kItemProbability), torch::full({3}, 0.01, torch::kFloat64)));
  for (const BatchField& field : staged.host.layout->fields) {
    INFO(field.spec.DebugString());
    CHECK(staged.tensors.at(field.spec.name.c_str()).sizes().vec() == field.spec.shape);
  }
}

TEST_CASE("on the CPU the tensors are views of the batch's bytes and the next batch takes their place", "[unit]") {
  StagedBatch staged;
  SampledBatch batch = testing::FakeBatch(3, 10, 7);
  const char* const bytes = batch.bytes.get();
  REQUIRE_OK(StageBatch(std::move(batch), torch::kCPU, &staged));
  CHECK(staged.tensors.at("value").data_ptr() == bytes + testing::ValueOf(staged.host.layout->Find("value"))->offset);
  REQUIRE_OK(StageBatch(testing::FakeBatch(2, 50, 7), torch::kCPU, &staged));
  CHECK(staged.tensors.size == 2);
  CHECK(torch::equal(staged.tensors.at("value"), torch::tensor({50.0F, 51.0F})));
}

TEST_CASE("on a GPU the fields arrive whole", "[unit]") {
  if (!torch::cuda::is_available()) {
    WARN("there is no GPU here");
    return;
  }
  StagedBatch staged;
  for (int64_t first = 0; first < 50; ++first) {
    REQUIRE_OK(StageBatch(testing::FakeBatch(3, first, 7), torch::kCUDA, &staged));
    REQUIRE(staged.tensors.at("value").is_cuda());
    REQUIRE(torch::equal(staged.tensors.at(kItemKey).cpu(), torch::arange(first, first + 3, torch::kInt64)));
  }
}

}  // namespace
}  // namespace waggle
