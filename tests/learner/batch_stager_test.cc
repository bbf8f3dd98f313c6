#include "learner/batch_stager.h"

#include "tests/learner/fakes.h"
#include "tests/support/catch.h"
#include "tests/support/cuda.h"

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

TEST_CASE("on the CPU the tensors are views of the batch's bytes, and the next batch replaces them", "[unit]") {
  StagedBatch staged;
  SampledBatch batch = testing::FakeBatch(3, 10, 7);
  const char* const bytes = batch.bytes.get();
  REQUIRE_OK(StageBatch(std::move(batch), torch::kCPU, &staged));
  CHECK(staged.tensors.at("value").data_ptr() == bytes + testing::ValueOf(staged.host.layout->Find("value"))->offset);
  REQUIRE_OK(StageBatch(testing::FakeBatch(2, 50, 7), torch::kCPU, &staged));
  CHECK(staged.tensors.size == 2);
  CHECK(torch::equal(staged.tensors.at("value"), torch::tensor({50.0F, 51.0F})));
}

TEST_CASE("consecutive batches arrive complete on a device, whatever it computes meanwhile", "[cuda]") {
  if (!testing::HasCuda()) {
    return;
  }
  constexpr int64_t kRows = 1000;
  StagedBatch staged;
  torch::Tensor work = torch::rand({2048, 2048}, torch::kCUDA);
  std::vector<torch::Tensor> keys;
  std::vector<torch::Tensor> values;
  // Nothing here waits for the device: it still has many batches to compute when the last one is staged.
  for (int64_t batch = 0; batch < 50; ++batch) {
    REQUIRE_OK(StageBatch(testing::FakeBatch(kRows, kRows * batch, 7), torch::kCUDA, &staged));
    work = work.mm(work).softmax(1);
    keys.push_back(staged.tensors.at(kItemKey) + 0);
    values.push_back(staged.tensors.at("value") + 0);
  }
  for (int64_t batch = 0; batch < 50; ++batch) {
    const torch::Tensor expected = torch::arange(kRows * batch, kRows * (batch + 1), torch::kInt64);
    REQUIRE(keys[static_cast<size_t>(batch)].is_cuda());
    CHECK(torch::equal(keys[static_cast<size_t>(batch)].cpu(), expected));
    CHECK(torch::equal(values[static_cast<size_t>(batch)].cpu(), expected.to(torch::kFloat32)));
  }
}

}  // namespace
}  // namespace waggle
