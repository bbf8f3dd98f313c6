#include "learner/table_feed.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "common/base/annotate.h"
#include "common/base/status_macros.h"
#include "common/base/steady_now.h"
#include "common/config/table/batch_layout.h"
#include "common/nn/torch_compat.h"

namespace waggle {
namespace {

constexpr size_t kKeptSteps = 64;

}  // namespace

absl::Status TableFeed::Next(int64_t step, const StopToken& stop) {
  began_.emplace_back(SteadyNow(), step);
  if (began_.size() > kKeptSteps) {
    began_.pop_front();
  }
  batch_.size = 0;
  int64_t all = 0;
  do {
    WAGGLE_ASSIGN_OR_RETURN(SampledBatch batch, sampler_->Next(stop));
    WAGGLE_RETURN_IF_ERROR(StageBatch(std::move(batch), options_.device, &staged_));
    all = options_.parts * staged_.tensors.size;
    WAGGLE_RETURN_IF_ERROR(CatchTorch("putting a batch together", [&] {
      CountLags(step);
      if (options_.parts > 1) {
        Append(all);
      }
    }));
    // More than the missing items may never come. Items are left out one actor's unrolls at a time, so that as a rule
    // none are missing.
  } while (batch().size == 0 || batch().size + all / options_.parts <= all);
  return absl::OkStatus();
}

void TableFeed::Append(int64_t all) {
  const TensorBatch& part = staged_.tensors;
  batch_.table_items = part.table_items;
  for (const auto& [name, field] : part.fields) {
    std::vector<int64_t> shape = field.sizes().vec();
    shape[0] = all;
    torch::Tensor whole = batch_.size == 0 ? torch::empty(shape, field.options()) : wholes_.at(name);
    whole.narrow(0, batch_.size, part.size).copy_(field);
    batch_.fields[name] = whole.narrow(0, 0, batch_.size + part.size);
    wholes_[name] = std::move(whole);
  }
  batch_.size += part.size;
}

int64_t TableFeed::StepsSinceSampled(int64_t step) const {
  int64_t steps = 0;
  for (auto began = began_.rbegin(); began != began_.rend() && staged_.host.sampled_at < began->first; ++began) {
    steps = step - began->second + 1;
  }
  return std::min(steps, step);
}

void TableFeed::CountLags(int64_t step) {
  const auto* const versions = static_cast<const int64_t*>(staged_.host.Data(kItemPolicyVersion));
  TensorBatch& batch = staged_.tensors;
  PolicyLags& lags = counts_.lags;
  if (versions == nullptr) {
    lags.items += batch.size;
    return;
  }
  const int64_t waited = StepsSinceSampled(step);
  std::vector<int64_t> fresh;
  for (int64_t row = 0; row < batch.size; ++row) {
    // Versions may be later than this step: the learner was restored from before these weights, or a foreign client
    // sent any 64 unsigned bits.
    const bool later = static_cast<uint64_t>(versions[row]) > static_cast<uint64_t>(step);
    const int64_t lag = later ? 0 : step - versions[row];
    if (options_.max_policy_lag.has_value() && lag > *options_.max_policy_lag) {
      continue;
    }
    fresh.push_back(row);
    lags.from_later += later ? 1 : 0;
    lags.Add(lag, std::max<int64_t>(0, lag - waited));
  }
  const auto kept = static_cast<int64_t>(fresh.size());
  if (kept == batch.size) {
    return;
  }
  lags.too_old += batch.size - kept;
  torch::Tensor rows = torch::tensor(fresh, torch::kInt64);
  if (staged_.copies.has_value()) {
    rows = staged_.copies->ToDevice(rows.pin_memory());
  }
  for (auto& [name, field] : batch.fields) {
    field = field.index_select(0, rows);
  }
  batch.size = kept;
}

absl::Status TableFeed::Prioritize(const torch::Tensor& priorities) {
  return priorities.defined() ? Annotate(priorities_.Add(staged_.host, priorities), "sending priorities")
                              : absl::OkStatus();
}

TableFeed::Counts TableFeed::TakeCounts() {
  const PriorityUpdateCounts now = updater_->counts();
  Counts taken = counts_;
  taken.priorities = {now.applied - counted_priorities_.applied, now.stale - counted_priorities_.stale,
                      now.unknown - counted_priorities_.unknown};
  counted_priorities_ = now;
  counts_ = Counts();
  counts_.lags.max = taken.lags.max;
  return taken;
}

}  // namespace waggle
