#include "learner/priority_batcher.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/nn/torch_compat.h"

namespace waggle {
namespace {

void Append(const torch::Tensor& values, std::vector<double>* priorities) {
  const torch::Tensor plain = values.to(torch::kFloat32).contiguous();
  const float* const begin = plain.data_ptr<float>();
  priorities->insert(priorities->end(), begin, begin + plain.numel());
}

}  // namespace

absl::Status PriorityBatcher::Add(const SampledBatch& batch, const torch::Tensor& priorities) {
  const int64_t size = priorities.numel();
  const auto* const keys = static_cast<const uint64_t*>(batch.Data(kItemKey));
  const auto* const generations = static_cast<const uint64_t*>(batch.Data(kItemGeneration));
  if (keys == nullptr || generations == nullptr) {
    return absl::InvalidArgumentError("a sampled batch without the items' keys and generations");
  }
  if (const int64_t items = batch.layout->fields[0].spec.shape[0]; items != size) {
    return absl::InvalidArgumentError(absl::StrCat(size, " priorities for a batch of ", items, " items"));
  }
  WAGGLE_RETURN_IF_ERROR(CatchTorch("reading priorities", [&] {
    if (priorities.is_cpu()) {
      Append(priorities, &gathered_.priorities);
    } else {
      gathered_.on_device.push_back(priorities);
    }
  }));
  gathered_.keys.insert(gathered_.keys.end(), keys, keys + size);
  gathered_.generations.insert(gathered_.generations.end(), generations, generations + size);
  if (++gathered_.batches < steps_) {
    return absl::OkStatus();
  }
  if (gathered_.on_device.empty()) {
    return Send();
  }
  WAGGLE_RETURN_IF_ERROR(SendLeft());
  return Leave();
}

absl::Status PriorityBatcher::Send() {
  WAGGLE_RETURN_IF_ERROR(SendLeft());
  WAGGLE_RETURN_IF_ERROR(Leave());
  return SendLeft();
}

absl::Status PriorityBatcher::Leave() {
  left_ = std::exchange(gathered_, {});
  if (left_.on_device.empty()) {
    return absl::OkStatus();
  }
  return CatchTorch("reading priorities", [&] {
    const torch::Tensor all = torch::cat(left_.on_device).to(torch::kFloat32);
    if (!copies_.has_value()) {
      copies_.emplace(all.device());
    }
    left_.on_device = {copies_->ToHost(all)};
  });
}

absl::Status PriorityBatcher::SendLeft() {
  Group group = std::exchange(left_, {});
  if (group.batches == 0) {
    return absl::OkStatus();
  }
  if (!group.on_device.empty()) {
    WAGGLE_RETURN_IF_ERROR(CatchTorch("reading priorities", [&] {
      copies_->Wait();
      Append(group.on_device[0], &group.priorities);
    }));
  }
  return updater_->Update(std::move(group.keys), std::move(group.generations), std::move(group.priorities));
}

}  // namespace waggle
