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
      Append(priorities, &priorities_);
    } else {
      on_device_.push_back(priorities);
    }
  }));
  keys_.insert(keys_.end(), keys, keys + size);
  generations_.insert(generations_.end(), generations, generations + size);
  return ++gathered_ >= steps_ ? Send() : absl::OkStatus();
}

absl::Status PriorityBatcher::Send() {
  if (gathered_ == 0) {
    return absl::OkStatus();
  }
  if (!on_device_.empty()) {
    WAGGLE_RETURN_IF_ERROR(
        CatchTorch("reading priorities", [&] { Append(torch::cat(on_device_).to(torch::kCPU), &priorities_); }));
    on_device_.clear();
  }
  gathered_ = 0;
  return updater_->Update(std::exchange(keys_, {}), std::exchange(generations_, {}), std::exchange(priorities_, {}));
}

}  // namespace waggle
