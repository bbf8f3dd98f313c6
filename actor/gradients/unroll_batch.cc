#include "actor/gradients/unroll_batch.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/config/table/batch_layout.h"
#include "common/nn/torch_compat.h"

namespace waggle {
namespace {

absl::Status CheckUnrolls(const InsertBlock& block, const TablePlan& table) {
  const auto rows = static_cast<uint32_t>(table.window.length);
  const bool whole = std::all_of(block.chunks.begin(), block.chunks.end(),
                                 [rows](const ChunkInfo& chunk) { return chunk.rows == rows; });
  const bool items =
      block.items.size() == block.chunks.size() &&
      std::all_of(block.items.begin(), block.items.end(), [rows](const ItemInfo& item) { return item.rows == rows; });
  if (!whole || !items || block.chunks.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("block: got ", block.chunks.size(), " chunks with ",
                                                   block.items.size(), " items; wanted an unroll of ", rows,
                                                   " rows in each chunk"));
  }
  const size_t bytes =
      block.chunks.size() * static_cast<size_t>(rows) * static_cast<size_t>(BytesARow(table.table.signature));
  if (block.data.size() != bytes) {
    return absl::InvalidArgumentError(absl::StrCat("block: got ", block.data.size(), " bytes; wanted ", bytes));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TensorBatch> UnrollBatch(const InsertBlock& block, const TablePlan& table, torch::Device device) {
  WAGGLE_RETURN_IF_ERROR(CheckUnrolls(block, table));
  const auto lanes = static_cast<int64_t>(block.chunks.size());
  const int64_t rows = table.window.length;
  return CatchTorch("making a batch of unrolls", [&] {
    TensorBatch batch;
    batch.size = lanes;
    batch.table_items = lanes;
    size_t offset = 0;
    for (const ArraySpec& column : table.table.signature) {
      std::vector<int64_t> shape = {lanes, rows};
      shape.insert(shape.end(), column.shape.begin(), column.shape.end());
      torch::Tensor values = torch::empty(shape, ToScalarType(column.dtype));
      block.data.Part(offset, values.nbytes()).CopyTo(static_cast<char*>(values.data_ptr()));
      offset += values.nbytes();
      for (const ViewField& field : table.table.view) {
        if (field.column == column.name) {
          batch.fields[field.name] = (field.rows == ViewField::Rows::kAll ? values : values.select(1, 0)).to(device);
        }
      }
    }
    batch.fields[kItemLength] = torch::full({lanes}, rows, torch::kInt64).to(device);
    return batch;
  });
}

}  // namespace waggle
