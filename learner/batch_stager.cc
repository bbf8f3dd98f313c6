#include "learner/batch_stager.h"

#include <cstdint>
#include <cstring>
#include <utility>

#include "common/nn/torch_compat.h"

namespace waggle {
namespace {

void StageOnCpu(const SampledBatch& batch, TensorBatch* tensors) {
  for (const BatchField& field : batch.layout->fields) {
    tensors->fields[field.spec.name] =
        torch::from_blob(batch.bytes.get() + field.offset, field.spec.shape, ToScalarType(field.spec.dtype));
  }
}

void StageOnDevice(const SampledBatch& batch, const CopyStream& copies, TensorBatch* tensors) {
  const int64_t bytes = static_cast<int64_t>(batch.layout->total_bytes);
  const torch::Tensor pinned = torch::empty({bytes}, torch::TensorOptions().dtype(torch::kUInt8).pinned_memory(true));
  std::memcpy(pinned.data_ptr(), batch.bytes.get(), batch.layout->total_bytes);
  const torch::Tensor block = copies.ToDevice(pinned);
  for (const BatchField& field : batch.layout->fields) {
    tensors->fields[field.spec.name] = torch::from_blob(
        block.data_ptr<uint8_t>() + field.offset, field.spec.shape, [block](void*) {},
        torch::TensorOptions().dtype(ToScalarType(field.spec.dtype)).device(block.device()));
  }
}

}  // namespace

absl::Status StageBatch(SampledBatch batch, torch::Device device, StagedBatch* staged) {
  return CatchTorch("staging a batch", [&] {
    if (staged->host.layout != batch.layout) {
      staged->tensors.fields.clear();
    }
    if (device.is_cpu()) {
      StageOnCpu(batch, &staged->tensors);
    } else {
      if (!staged->copies.has_value()) {
        staged->copies.emplace(device);
      }
      StageOnDevice(batch, *staged->copies, &staged->tensors);
    }
    staged->tensors.size = batch.layout->fields.empty() ? 0 : batch.layout->fields[0].spec.shape[0];
    staged->tensors.table_items = static_cast<int64_t>(batch.table_items);
    staged->host = std::move(batch);
  });
}

}  // namespace waggle
