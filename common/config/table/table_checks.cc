#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/nearest_name.h"
#include "common/base/problems.h"
#include "common/config/table/table_fields.h"

// Checks on a table's configuration.

namespace waggle {
namespace {

// For the facts that a batch has beside the view's fields.
constexpr char kReservedPrefix[] = "item/";

// Checks each field of a configuration, or of a part of it, by itself.
struct FieldChecks {
  template <class T>
  void operator()(const TableField& field, const T& value) const {
    if constexpr (std::is_aggregate_v<T>) {
      T::Visit(FieldChecks{absl::StrCat(prefix, field.key, "."), problems}, value);
    } else if constexpr (std::is_enum_v<T>) {
      const auto known = KnownValues<T>(field.least);
      const auto append = [](std::string* out, T one) { absl::StrAppend(out, Name(one)); };
      problems->AddUnless(std::find(known.begin(), known.end(), value) != known.end(), prefix, field.key, ": got ",
                          static_cast<int>(value), "; wanted one of ", absl::StrJoin(known, ", ", append));
    } else if constexpr (std::is_same_v<T, std::optional<double>>) {
      (*this)(field, value.value_or(0));
    } else if constexpr (std::is_arithmetic_v<T>) {
      const auto number = static_cast<double>(value);
      const bool left_out = number == 0 && !field.meaningless.empty();
      const bool fits = std::isfinite(number) && number >= field.least && number <= field.most;
      problems->AddUnless(
          fits || left_out, prefix, field.key, ": got ", value, "; wanted a finite number",
          std::isfinite(field.least) ? absl::StrCat(", at least ", static_cast<int64_t>(field.least)) : "",
          std::isfinite(field.most) ? absl::StrCat(", at most ", static_cast<int64_t>(field.most)) : "");
    }
  }

  std::string prefix;
  Problems* problems;
};

void CheckSignature(const TableConfig& config, Problems* problems) {
  if (config.signature.empty() || config.signature.size() > kMaxColumns) {
    problems->Add("signature: has ", config.signature.size(), " columns; 1 to ", kMaxColumns, " are allowed");
    return;  // The sum of more columns' sizes could overflow.
  }
  std::set<std::string> names;
  int64_t row_bytes = 0;
  for (const ArraySpec& column : config.signature) {
    const absl::Status valid = column.Validate();
    problems->AddIfBad("signature: ", valid);
    if (!names.insert(column.name).second) {
      problems->Add("signature: column ", column.name, " is there twice");
    }
    row_bytes += valid.ok() ? column.NumBytes() : 0;
  }
  if (row_bytes > kMaxArrayBytes) {
    problems->Add("signature: a row has ", row_bytes, " bytes; at most ", kMaxArrayBytes, " are allowed");
  }
}

void CheckView(const TableConfig& config, Problems* problems) {
  if (config.view.empty()) {
    problems->Add("view: has no field; at least 1 is needed");
  }
  if (config.view.size() > kMaxViewFields) {
    problems->Add("view: has ", config.view.size(), " fields; at most ", kMaxViewFields, " are allowed");
    return;
  }
  std::map<std::string, const ArraySpec*> columns;
  std::vector<std::string> known;
  for (const ArraySpec& column : config.signature) {
    columns.emplace(column.name, &column);
    known.push_back(column.name);
  }
  std::set<std::string> names;
  for (const ViewField& field : config.view) {
    problems->AddIfBad("view: ", ValidateName(field.name));
    if (absl::StartsWith(field.name, kReservedPrefix)) {
      problems->Add("view: field ", field.name, ": names that begin with ", kReservedPrefix, " are taken");
    }
    if (!names.insert(field.name).second) {
      problems->Add("view: field ", field.name, " is there twice");
    }
    ViewField::Visit(FieldChecks{absl::StrCat("view: field ", field.name, ": "), problems}, field);
    const auto column = columns.find(field.column);
    if (column == columns.end()) {
      problems->Add("view: field ", field.name, ": no column named \"", field.column, "\"",
                    DidYouMean(field.column, known), "; the columns are ", absl::StrJoin(known, ", "));
      continue;
    }
    const size_t rank =
        column->second->shape.size() + (field.rows == ViewField::Rows::kAll ? 2 : 1) + (field.stack > 1 ? 1 : 0);
    if (rank > kMaxRank) {
      problems->Add("view: field ", field.name, " would have ", rank, " dimensions in a batch; at most ", kMaxRank,
                    " are allowed");
    }
  }
}

void CheckTransition(const TableConfig& config, Problems* problems) {
  if (!config.HasFuture()) {
    problems->AddUnless(config.transition_rows == 0, "transition_rows: ", config.transition_rows,
                        " means nothing if no field of the view takes a future row");
    problems->AddUnless(config.future_row == FutureRow::kLater, "future_row: got ", Name(config.future_row),
                        ", and no field of the view takes a future row; wanted later");
    return;
  }
  if (config.max_window < 2) {
    problems->Add("max_window: got ", config.max_window,
                  "; wanted at least 2, because a field of the view takes a future row");
    return;
  }
  problems->AddUnless(config.transition_rows >= 1 && config.transition_rows <= config.max_window,
                      "transition_rows: ", config.transition_rows, " is outside [1, ", config.max_window,
                      "], max_window: if a field of the view takes a future row, this is the number of a window's rows "
                      "that are the transition, n + 1 for n steps");
  problems->AddUnless(config.future_row != FutureRow::kEpisode || config.max_window - 1 <= kMaxContextRows,
                      "max_window: got ", config.max_window, "; wanted at most ", kMaxContextRows + 1,
                      " beside future_row: episode");
}

void CheckSampler(const SamplerConfig& sampler, Problems* problems) {
  const bool prioritized = sampler.kind == SelectorKind::kPrioritized;
  const bool has_recency = prioritized || sampler.kind == SelectorKind::kUniform;
  if (sampler.uniform_share > 0 && !prioritized) {
    problems->Add("sampler.uniform_share: only a prioritized sampler has one; this is ", Name(sampler.kind));
  }
  problems->AddUnless(sampler.uniform_share == 0 || !sampler.without_replacement,
                      "sampler.uniform_share: cannot be combined with without_replacement");
  if (sampler.recent_share > 0) {
    problems->AddUnless(has_recency, "sampler.recent_share: only a uniform or a prioritized sampler has one; this is ",
                        Name(sampler.kind));
    problems->AddUnless(sampler.uniform_share == 0, "sampler: has both a uniform_share and a recent_share; choose one");
    problems->AddUnless(!sampler.without_replacement,
                        "sampler.recent_share: cannot be combined with without_replacement");
  }
}

void CheckDifferences(const RateLimiterConfig& limiter, Problems* problems) {
  if (limiter.min_difference.has_value() != limiter.max_difference.has_value()) {
    problems->Add("rate_limiter: has one of min_difference and max_difference; give both or neither");
    return;
  }
  if (!limiter.min_difference.has_value()) {
    return;
  }
  problems->AddUnless(limiter.error_buffer == 0, "rate_limiter: has an error_buffer beside min_difference; choose one");
  problems->AddUnless(limiter.samples_per_insert > 0,
                      "rate_limiter.min_difference: means nothing if samples_per_insert is 0");
}

void CheckRateLimiter(const TableConfig& config, Problems* problems) {
  const RateLimiterConfig& limiter = config.rate_limiter;
  CheckDifferences(limiter, problems);
  if (limiter.min_items > config.max_items) {
    problems->Add("rate_limiter.min_items: ", limiter.min_items, " is more than max_items, ", config.max_items,
                  ": nothing could ever be sampled");
  }
  // With one of the two the bounds are unknown.
  if (limiter.min_difference.has_value() == limiter.max_difference.has_value()) {
    const std::string stuck = limiter.WhyStuck(/*batch_size=*/1);
    problems->AddUnless(stuck.empty(), stuck);
  }
}

void CheckCompression(const TableConfig& config, Problems* problems) {
  std::set<std::string> columns;
  for (const ArraySpec& column : config.signature) {
    columns.insert(column.name);
  }
  std::set<std::string> names;
  if (config.compression.size() > kMaxColumns) {
    problems->Add("compression: names ", config.compression.size(), " columns; at most ", kMaxColumns, " are allowed");
    return;
  }
  for (const ColumnCompression& compression : config.compression) {
    problems->AddUnless(columns.count(compression.column) > 0, "compression: no column named \"", compression.column,
                        "\"", DidYouMean(compression.column, {columns.begin(), columns.end()}));
    problems->AddUnless(names.insert(compression.column).second, "compression: column ", compression.column,
                        " is there twice");
    ColumnCompression::Visit(FieldChecks{absl::StrCat("compression: column ", compression.column, ": "), problems},
                             compression);
  }
}

void CheckSettings(const TableConfig& config, Problems* problems) {
  TableConfig::Visit(FieldChecks{"", problems}, config);
  CheckSampler(config.sampler, problems);
  CheckRateLimiter(config, problems);
  problems->AddUnless(!config.log_sync || config.durability == Durability::kLog,
                      "log_sync: means nothing with durability ", Name(config.durability));
}

}  // namespace

absl::Status TableConfig::Validate() const {
  Problems problems;
  problems.AddIfBad("name: ", ValidateName(name));
  CheckSignature(*this, &problems);
  CheckView(*this, &problems);
  CheckTransition(*this, &problems);
  CheckSettings(*this, &problems);
  CheckCompression(*this, &problems);
  return problems.ToStatus(absl::StrCat("table \"", name, "\": "), "; ");
}

absl::Status TableConfig::ValidateSettings() const {
  Problems problems;
  CheckSettings(*this, &problems);
  return problems.ToStatus();
}

absl::Status TableConfig::ValidateCompression() const {
  Problems problems;
  CheckCompression(*this, &problems);
  return problems.ToStatus();
}

absl::Status TableConfig::CheckBatchSize(int64_t batch_size) const {
  if (batch_size < 1) {
    return absl::InvalidArgumentError(absl::StrCat("a batch has at least 1 item; got ", batch_size));
  }
  if (max_times_sampled > 0 && batch_size > max_times_sampled * max_items) {
    return absl::FailedPreconditionError(absl::StrCat("max_items: ", max_items, " with max_times_sampled ",
                                                      max_times_sampled, ": a batch of ", batch_size,
                                                      " can never be drawn"));
  }
  if (sampler.without_replacement && batch_size > max_items) {
    return absl::FailedPreconditionError(absl::StrCat("max_items: ", max_items, ": a batch of ", batch_size,
                                                      " different items (without_replacement) can never be drawn"));
  }
  const std::string stuck = rate_limiter.WhyStuck(batch_size);
  return stuck.empty() ? absl::OkStatus() : absl::FailedPreconditionError(stuck);
}

}  // namespace waggle
