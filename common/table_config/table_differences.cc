#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/table_config/table_config.h"

// The differences of two tables' configurations.

namespace waggle {
namespace {

std::string DescribeView(const std::vector<ViewField>& view) {
  return absl::StrCat("[",
                      absl::StrJoin(view, ", ",
                                    [](std::string* out, const ViewField& field) {
                                      absl::StrAppend(out, field.name, " = ", Name(field.rows), " ", field.column);
                                      if (field.stack > 1) {
                                        absl::StrAppend(out, " in stacks of ", field.stack);
                                      }
                                    }),
                      "]");
}

class Comparison {
 public:
  template <class T>
  void Add(absl::string_view field, const T& a, const T& b, bool fixed) {
    if (a != b) {
      differences_.push_back({absl::StrCat(field, ": ", a, " and ", b), fixed});
    }
  }
  void Add(absl::string_view field, const std::optional<double>& a, const std::optional<double>& b, bool fixed) {
    const auto text = [](const std::optional<double>& value) {
      return value.has_value() ? absl::StrCat(*value) : std::string("none");
    };
    Add(field, text(a), text(b), fixed);
  }
  void Add(absl::string_view field, bool a, bool b, bool fixed) {
    Add(field, absl::string_view(a ? "true" : "false"), absl::string_view(b ? "true" : "false"), fixed);
  }

  std::vector<std::string> Texts(bool fixed_only) const {
    std::vector<std::string> texts;
    for (const auto& [text, fixed] : differences_) {
      if (fixed || !fixed_only) {
        texts.push_back(text);
      }
    }
    return texts;
  }

 private:
  std::vector<std::pair<std::string, bool>> differences_;
};

constexpr bool kFixed = true;
constexpr bool kChangeable = false;

void CompareSamplers(const SamplerConfig& a, const SamplerConfig& b, Comparison* comparison) {
  comparison->Add("sampler", Name(a.kind), Name(b.kind), kFixed);
  if (a.kind != b.kind) {
    return;
  }
  comparison->Add("sampler.absolute_priorities", a.absolute_priorities, b.absolute_priorities, kFixed);
  comparison->Add("sampler.without_replacement", a.without_replacement, b.without_replacement, kFixed);
  if (a.kind == SelectorKind::kPrioritized) {
    comparison->Add("sampler.priority_exponent", a.priority_exponent, b.priority_exponent, kChangeable);
    comparison->Add("sampler.priority_epsilon", a.priority_epsilon, b.priority_epsilon, kChangeable);
    comparison->Add("sampler.independent_draws", a.independent_draws, b.independent_draws, kFixed);
    comparison->Add("sampler.uniform_share", a.uniform_share, b.uniform_share, kChangeable);
  }
  comparison->Add("sampler.recent_share", a.recent_share, b.recent_share, kChangeable);
  if (a.recent_share > 0 && b.recent_share > 0) {
    comparison->Add("sampler.recent_items", a.recent_items, b.recent_items, kChangeable);
    comparison->Add("sampler.recent_decay", a.recent_decay, b.recent_decay, kChangeable);
    comparison->Add("sampler.recent_period", a.recent_period, b.recent_period, kChangeable);
  }
}

void CompareLimiters(const RateLimiterConfig& a, const RateLimiterConfig& b, Comparison* comparison) {
  comparison->Add("rate_limiter.samples_per_insert", a.samples_per_insert, b.samples_per_insert, kChangeable);
  comparison->Add("rate_limiter.min_items", a.min_items, b.min_items, kChangeable);
  comparison->Add("rate_limiter.error_buffer", a.error_buffer, b.error_buffer, kChangeable);
  comparison->Add("rate_limiter.min_difference", a.min_difference, b.min_difference, kChangeable);
  comparison->Add("rate_limiter.max_difference", a.max_difference, b.max_difference, kChangeable);
}

std::string DescribeCompression(const TableConfig& config) {
  std::vector<std::string> columns;
  for (const ArraySpec& column : config.signature) {  // In the signature's order: that of the list means nothing.
    for (const ColumnCompression& compression : config.compression) {
      if (compression.column == column.name) {
        columns.push_back(absl::StrCat(column.name, " = ", Name(compression.codec)));
      }
    }
  }
  return absl::StrCat("[", absl::StrJoin(columns, ", "), "]");
}

Comparison Compare(const TableConfig& a, const TableConfig& b) {
  Comparison comparison;
  comparison.Add("name", a.name, b.name, kFixed);
  comparison.Add("signature", DebugString(a.signature), DebugString(b.signature), kFixed);
  comparison.Add("view", DescribeView(a.view), DescribeView(b.view), kFixed);
  CompareSamplers(a.sampler, b.sampler, &comparison);
  comparison.Add("remover", Name(a.remover.kind), Name(b.remover.kind), kFixed);
  if (a.remover.kind == SelectorKind::kPrioritized && b.remover.kind == SelectorKind::kPrioritized) {
    comparison.Add("remover.priority_exponent", a.remover.priority_exponent, b.remover.priority_exponent, kChangeable);
  }
  CompareLimiters(a.rate_limiter, b.rate_limiter, &comparison);
  comparison.Add("max_items", a.max_items, b.max_items, kChangeable);
  comparison.Add("max_bytes", a.max_bytes, b.max_bytes, kChangeable);
  comparison.Add("max_times_sampled", a.max_times_sampled, b.max_times_sampled, kChangeable);
  comparison.Add("max_window", a.max_window, b.max_window, kFixed);
  comparison.Add("transition_rows", a.transition_rows, b.transition_rows, kFixed);
  comparison.Add("seed", a.seed, b.seed, kFixed);
  comparison.Add("compression", DescribeCompression(a), DescribeCompression(b), kFixed);
  comparison.Add("durability", Name(a.durability), Name(b.durability), kFixed);
  comparison.Add("log_sync", a.log_sync, b.log_sync, kFixed);
  // The limit decides the rows' arrangement as they come.
  const bool both = (a.memory_limit > 0) == (b.memory_limit > 0);
  comparison.Add("memory_limit", a.memory_limit, b.memory_limit, both ? kChangeable : kFixed);
  return comparison;
}

}  // namespace

std::vector<std::string> Differences(const TableConfig& a, const TableConfig& b) {
  return Compare(a, b).Texts(/*fixed_only=*/false);
}

std::vector<std::string> FixedDifferences(const TableConfig& a, const TableConfig& b) {
  return Compare(a, b).Texts(/*fixed_only=*/true);
}

}  // namespace waggle
