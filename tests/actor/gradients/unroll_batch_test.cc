#include "actor/gradients/unroll_batch.h"

#include <cstring>
#include <string>
#include <vector>

#include "common/config/table/batch_layout.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

// Unrolls of three rows. The view has all rows of a column of two numbers, and the first row of a column of whole
// numbers.
TablePlan Table() {
  TablePlan plan;
  plan.table.name = "unrolls";
  plan.table.signature = {{"pair", DType::kFloat32, {2}}, {"number", DType::kInt64, {}}};
  plan.table.view = {{"pairs", "pair", ViewField::Rows::kAll}, {"first_number", "number", ViewField::Rows::kFirst}};
  plan.window = {WindowPlan::Kind::kUnroll, 3, 3};
  return plan;
}

// A block of an unroll of each of two lanes: pairs count from 0, numbers from 100.
InsertBlock Block() {
  InsertBlock block;
  std::string bytes;
  const auto put = [&bytes](const auto& value) { bytes.append(reinterpret_cast<const char*>(&value), sizeof(value)); };
  for (int i = 0; i < 2 * 3 * 2; ++i) {
    put(static_cast<float>(i));
  }
  for (int64_t i = 0; i < 2 * 3; ++i) {
    put(100 + i);
  }
  const std::shared_ptr<char> data = AllocateBytes(bytes.size());
  std::memcpy(data.get(), bytes.data(), bytes.size());
  block.data = ByteSlices(ByteSlice{data.get(), bytes.size(), data});
  for (uint32_t lane = 0; lane < 2; ++lane) {
    ChunkInfo chunk;
    chunk.stream = lane;
    chunk.rows = 3;
    block.chunks.push_back(chunk);
    ItemInfo item;
    item.stream = lane;
    item.rows = 3;
    block.items.push_back(item);
  }
  return block;
}

TEST_CASE("a block of unrolls becomes the batch of its table's view", "[unit]") {
  const TensorBatch batch = testing::ValueOf(UnrollBatch(Block(), Table(), torch::kCPU));
  CHECK(batch.size == 2);
  CHECK(torch::equal(batch.at("pairs"), torch::arange(12, torch::kFloat32).reshape({2, 3, 2})));
  CHECK(torch::equal(batch.at("first_number"), torch::tensor({100, 103}, torch::kInt64)));
  CHECK(torch::equal(batch.at(kItemLength), torch::tensor({3, 3}, torch::kInt64)));
  CHECK(batch.fields.size() == 3);
}

TEST_CASE("a block that has not one whole unroll of each of its lanes is refused", "[unit]") {
  const auto refuses = [](const InsertBlock& block) {
    return absl::IsInvalidArgument(UnrollBatch(block, Table(), torch::kCPU).status());
  };
  REQUIRE_FALSE(refuses(Block()));
  InsertBlock block = Block();
  block.chunks[1].rows = 2;
  CHECK(refuses(block));
  block = Block();
  block.items[0].rows = 2;
  CHECK(refuses(block));
  block = Block();
  block.items.pop_back();
  CHECK(refuses(block));
  block = Block();
  block.chunks.clear();
  block.items.clear();
  CHECK(refuses(block));
  block = Block();
  block.data = block.data.Part(0, block.data.size() - 1);
  CHECK(refuses(block));
}

}  // namespace
}  // namespace waggle
