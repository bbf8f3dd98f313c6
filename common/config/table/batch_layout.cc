#include "common/config/table/batch_layout.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace waggle {
namespace {

constexpr size_t kAlignment = 64;

const ArraySpec* FindColumn(const std::vector<ArraySpec>& signature, const std::string& name) {
  const auto it = std::find_if(signature.begin(), signature.end(),
                               [&name](const ArraySpec& column) { return column.name == name; });
  return it == signature.end() ? nullptr : &*it;
}

// The field of a whole batch.
ArraySpec WholeField(const ViewField& field, const ArraySpec& column, int64_t batch_size, int64_t sampled_rows) {
  ArraySpec spec;
  spec.name = field.name;
  spec.dtype = column.dtype;
  spec.shape.push_back(batch_size);
  if (field.rows == ViewField::Rows::kAll) {
    spec.shape.push_back(sampled_rows);
  }
  if (field.stack > 1) {
    spec.shape.push_back(field.stack);
  }
  spec.shape.insert(spec.shape.end(), column.shape.begin(), column.shape.end());
  return spec;
}

}  // namespace

absl::StatusOr<const BatchField*> BatchLayout::Find(absl::string_view name) const {
  for (const BatchField& field : fields) {
    if (field.spec.name == name) {
      return &field;
    }
  }
  return absl::NotFoundError(absl::StrCat(
      "the batch has no field \"", name, "\"; it has ",
      absl::StrJoin(fields, ", ", [](std::string* out, const BatchField& field) { out->append(field.spec.name); })));
}

absl::StatusOr<BatchLayout> MakeBatchLayout(const TableConfig& config, int64_t batch_size, size_t max_bytes) {
  if (batch_size < 1) {
    return absl::InvalidArgumentError(absl::StrCat("a batch has at least 1 item; got ", batch_size));
  }
  std::vector<ArraySpec> specs;
  for (const ViewField& field : config.view) {
    const ArraySpec* column = FindColumn(config.signature, field.column);
    if (column == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("table ", config.name, ": the view's field ", field.name, " names no column: ", field.column));
    }
    specs.push_back(WholeField(field, *column, batch_size, config.SampledRows()));
  }
  for (const char* fact : {kItemKey, kItemGeneration, kItemLength, kItemPolicyVersion, kItemTimesSampled}) {
    specs.push_back({fact, DType::kInt64, {batch_size}});
  }
  for (const char* fact : {kItemProbability, kItemPriority}) {
    specs.push_back({fact, DType::kFloat64, {batch_size}});
  }
  if (config.HasFuture()) {
    specs.push_back({kItemFutureOffset, DType::kInt64, {batch_size}});
  }

  BatchLayout layout;
  layout.fields.reserve(specs.size());
  for (ArraySpec& spec : specs) {
    // Bounds every field below kMaxArrayBytes, so that the sums below cannot overflow.
    if (absl::Status valid = spec.Validate(); !valid.ok()) {
      return absl::ResourceExhaustedError(
          absl::StrCat("table ", config.name, ": a batch of ", batch_size, " items is too large: ", valid.message()));
    }
    const size_t bytes = static_cast<size_t>(spec.NumBytes());
    layout.fields.push_back({std::move(spec), layout.total_bytes});
    layout.total_bytes += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  if (layout.total_bytes > max_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat("table ", config.name, ": a batch of ", batch_size, " items has ",
                                                     layout.total_bytes, " bytes; at most ", max_bytes,
                                                     " are allowed"));
  }
  return layout;
}

}  // namespace waggle
