#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/tensor/array_spec.h"
#include "common/config/table/table_config.h"

namespace waggle {

// The place of a field in the batch's one block of bytes.
struct BatchField {
  ArraySpec spec;  // The whole field's: [batch_size, …], or [batch_size, SampledRows(), …] for rows "all"; a stack is
                   // an axis behind these.
  size_t offset = 0;  // A multiple of 64.
};

// The layout of a sampled batch in memory and on the wire: the fields of the table's view, then the facts about each
// item. The server and its clients compute it from the table's configuration, and so agree without messages.
struct BatchLayout {
  std::vector<BatchField> fields;
  size_t total_bytes = 0;

  // NOT_FOUND if there is no such field.
  absl::StatusOr<const BatchField*> Find(absl::string_view name) const;
};

// The names of the facts: one scalar an item, int64 unless said.
inline constexpr char kItemKey[] = "item/key";
inline constexpr char kItemGeneration[] = "item/generation";
inline constexpr char kItemLength[] = "item/length";  // Rows in the window, SampledRows() at most.
inline constexpr char kItemPolicyVersion[] = "item/policy_version";
inline constexpr char kItemTimesSampled[] = "item/times_sampled";  // This time included.
inline constexpr char kItemProbability[] = "item/probability";     // float64: see waggle.v1.SampleOpened.
inline constexpr char kItemPriority[] = "item/priority";           // float64, as last set.
// If a field is kFuture: its row's distance from the window's first row, negative for a row before the window.
inline constexpr char kItemFutureOffset[] = "item/future_offset";

// RESOURCE_EXHAUSTED if the batch would have more than `max_bytes`. The configuration must be valid.
absl::StatusOr<BatchLayout> MakeBatchLayout(const TableConfig& config, int64_t batch_size, size_t max_bytes);

}  // namespace waggle
