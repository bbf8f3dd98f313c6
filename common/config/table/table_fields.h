#pragma once

#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/config/table/table_config.h"

// The fields of a table's configuration, each named here once. Their forms in YAML and in messages, their checks and
// the differences of two tables follow from these lists. A visitor gets each field's facts, and its value in each of
// the configurations that are visited together.

namespace waggle {

struct TableField {
  enum Kind {
    kChangeable,  // Users set it, and may change it while the table is in use.
    kFixed,       // Users set it when the table is created.
    kGiven,       // It follows from the algorithm and the run.
  };
  const char* key;  // Its name in YAML, in messages and in the struct.
  Kind kind;
  // The bounds of a number, and of an enumerator's number.
  double least = 0;
  double most = std::numeric_limits<double>::infinity();
  // Empty if the field means something beside the other fields' values; otherwise the reason, and the wanted values.
  std::string meaningless = {};
};

// Slots are numbered with 32 bits.
inline constexpr double kMaxTableItems = 1U << 31;
inline constexpr double kAnyNumber = std::numeric_limits<double>::infinity();

// True if a value is one of its enumeration: all others have one name.
template <class Enum>
bool IsKnown(Enum value) {
  return Name(value) != Name(static_cast<Enum>(-1));
}

// The enumerators from the number `least` on.
template <class Enum>
std::vector<Enum> KnownValues(double least) {
  std::vector<Enum> values;
  for (int number = static_cast<int>(least); IsKnown(static_cast<Enum>(number)) || number == 0; ++number) {
    if (IsKnown(static_cast<Enum>(number))) {
      values.push_back(static_cast<Enum>(number));
    }
  }
  return values;
}

template <class Visitor, class... Self>
void SamplerConfig::Visit(Visitor&& visit, Self&... self) {
  using Field = TableField;
  visit(Field{"kind", Field::kFixed}, self.kind...);
  const bool prioritized = (... || (self.kind == SelectorKind::kPrioritized));
  const bool uniform = (... || (self.kind == SelectorKind::kUniform));
  const auto unless = [&](bool fits, absl::string_view kinds) {
    absl::string_view kind;
    ((kind = Name(self.kind)), ...);
    return fits ? "" : absl::StrCat("means nothing to the sampler ", kind, "; wanted kind: ", kinds, ", or none");
  };
  const std::string by_priority = unless(prioritized, "prioritized");
  visit(Field{"priority_exponent", Field::kChangeable, 0, kAnyNumber, by_priority}, self.priority_exponent...);
  visit(Field{"priority_epsilon", Field::kChangeable, 0, kAnyNumber, by_priority}, self.priority_epsilon...);
  visit(Field{"absolute_priorities", Field::kFixed}, self.absolute_priorities...);
  visit(Field{"without_replacement", Field::kFixed}, self.without_replacement...);
  visit(Field{"independent_draws", Field::kFixed, 0, 1, by_priority}, self.independent_draws...);
  visit(Field{"uniform_share", Field::kChangeable, 0, 1, by_priority}, self.uniform_share...);
  const std::string by_recency = unless(prioritized || uniform, "uniform or prioritized");
  visit(Field{"recent_share", Field::kChangeable, 0, 1, by_recency}, self.recent_share...);
  const std::string by_share =
      (... || (self.recent_share > 0)) ? "" : "means nothing while recent_share is 0; wanted a recent_share, or none";
  visit(Field{"recent_items", Field::kChangeable, 1, kMaxTableItems, by_share}, self.recent_items...);
  visit(Field{"recent_decay", Field::kChangeable, 0, 1, by_share}, self.recent_decay...);
  visit(Field{"recent_period", Field::kChangeable, 1, kMaxTableItems, by_share}, self.recent_period...);
}

template <class Visitor, class... Self>
void RemoverConfig::Visit(Visitor&& visit, Self&... self) {
  using Field = TableField;
  visit(Field{"kind", Field::kFixed}, self.kind...);
  absl::string_view kind;
  ((kind = Name(self.kind)), ...);
  const std::string by_priority =
      (... || (self.kind == SelectorKind::kPrioritized))
          ? ""
          : absl::StrCat("means nothing to the remover ", kind, "; wanted kind: prioritized, or none");
  visit(Field{"priority_exponent", Field::kChangeable, 0, kAnyNumber, by_priority}, self.priority_exponent...);
}

template <class Visitor, class... Self>
void RateLimiterConfig::Visit(Visitor&& visit, Self&... self) {
  using Field = TableField;
  visit(Field{"samples_per_insert", Field::kChangeable}, self.samples_per_insert...);
  visit(Field{"min_items", Field::kChangeable, 1}, self.min_items...);
  const std::string by_ratio =
      (... || (self.samples_per_insert > 0))
          ? ""
          : "means nothing while samples_per_insert is 0; wanted none, or a samples_per_insert";
  visit(Field{"error_buffer", Field::kChangeable, 0, kAnyNumber, by_ratio}, self.error_buffer...);
  visit(Field{"min_difference", Field::kChangeable, -kAnyNumber}, self.min_difference...);
  visit(Field{"max_difference", Field::kChangeable, -kAnyNumber}, self.max_difference...);
}

template <class Visitor, class... Self>
void ViewField::Visit(Visitor&& visit, Self&... self) {
  using Field = TableField;
  visit(Field{"name", Field::kGiven}, self.name...);
  visit(Field{"column", Field::kGiven}, self.column...);
  visit(Field{"rows", Field::kGiven}, self.rows...);
  visit(Field{"stack", Field::kGiven, 1, kMaxStack}, self.stack...);
}

template <class Visitor, class... Self>
void ColumnCompression::Visit(Visitor&& visit, Self&... self) {
  using Field = TableField;
  visit(Field{"column", Field::kFixed}, self.column...);
  visit(Field{"codec", Field::kFixed, 1}, self.codec...);  // Not kNone.
}

template <class Visitor, class... Self>
void TableConfig::Visit(Visitor&& visit, Self&... self) {
  using Field = TableField;
  constexpr double kMaxCount = 1U << 24;
  visit(Field{"name", Field::kGiven}, self.name...);
  visit(Field{"signature", Field::kGiven}, self.signature...);
  visit(Field{"view", Field::kGiven}, self.view...);
  visit(Field{"max_items", Field::kChangeable, 1, kMaxTableItems}, self.max_items...);
  visit(Field{"max_bytes", Field::kChangeable, 1}, self.max_bytes...);
  visit(Field{"max_times_sampled", Field::kChangeable, 0, kMaxCount}, self.max_times_sampled...);
  visit(Field{"max_window", Field::kGiven, 1, kMaxCount}, self.max_window...);
  visit(Field{"transition_rows", Field::kGiven, 0, kMaxCount}, self.transition_rows...);
  visit(Field{"future_row", Field::kGiven}, self.future_row...);
  visit(Field{"seed", Field::kGiven}, self.seed...);
  visit(Field{"sampler", Field::kChangeable}, self.sampler...);
  visit(Field{"remover", Field::kChangeable}, self.remover...);
  visit(Field{"rate_limiter", Field::kChangeable}, self.rate_limiter...);
  visit(Field{"compression", Field::kFixed}, self.compression...);
  visit(Field{"durability", Field::kFixed}, self.durability...);
  absl::string_view durability;
  ((durability = Name(self.durability)), ...);
  const std::string by_log = (... || (self.durability == Durability::kLog))
                                 ? ""
                                 : absl::StrCat("means nothing with durability ", durability, "; wanted log, or none");
  visit(Field{"log_sync", Field::kFixed, 0, 1, by_log}, self.log_sync...);
  // The limit decides the rows' arrangement as they come.
  const bool limited = (... || (self.memory_limit > 0));
  const bool all_limited = (... && (self.memory_limit > 0));
  visit(Field{"memory_limit", limited == all_limited ? Field::kChangeable : Field::kFixed}, self.memory_limit...);
}

}  // namespace waggle
