#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/config/table/table_fields.h"

// The differences of two tables' configurations.

namespace waggle {
namespace {

std::string Text(const std::vector<ArraySpec>& signature) {
  return DebugString(signature);
}

std::string Text(const std::vector<ViewField>& view) {
  const auto append = [](std::string* out, const ViewField& field) {
    absl::StrAppend(out, field.name, " = ", Name(field.rows), " ", field.column,
                    field.stack > 1 ? absl::StrCat(" in stacks of ", field.stack) : "");
  };
  return absl::StrCat("[", absl::StrJoin(view, ", ", append), "]");
}

// Sorted, because the list's order means nothing.
std::string Text(const std::vector<ColumnCompression>& compression) {
  std::map<std::string, absl::string_view> codecs;
  for (const ColumnCompression& column : compression) {
    codecs.emplace(column.column, Name(column.codec));
  }
  return absl::StrCat("[", absl::StrJoin(codecs, ", ", absl::PairFormatter(" = ")), "]");
}

std::string Text(bool value) {
  return value ? "true" : "false";
}

std::string Text(std::optional<double> value) {
  return value.has_value() ? absl::StrCat(*value) : "none";
}

template <class T>
std::string Text(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return std::string(Name(value));
  } else {
    return absl::StrCat(value);
  }
}

template <class T>
bool Same(const T& a, const T& b) {
  return a == b;
}

template <class T>
bool Same(const std::vector<T>& a, const std::vector<T>& b) {
  return Text(a) == Text(b);
}

// Visits two configurations. Fields that mean nothing in both are no difference.
struct Comparison {
  template <class T>
  void operator()(const TableField& field, const T& a, const T& b) {
    if constexpr (std::is_aggregate_v<T>) {
      const std::string outer = std::exchange(prefix, absl::StrCat(prefix, field.key, "."));
      T::Visit(*this, a, b);
      prefix = outer;
    } else if (field.meaningless.empty() && !Same(a, b)) {
      // A part is named by its kind.
      const std::string key = absl::StrCat(prefix, field.key);
      const std::string text = absl::StrCat(absl::StripSuffix(key, ".kind"), ": ", Text(a), " and ", Text(b));
      all.push_back(text);
      if (field.kind != TableField::kChangeable) {
        fixed.push_back(text);
      }
    }
  }

  std::string prefix;
  std::vector<std::string> all;
  std::vector<std::string> fixed;
};

Comparison Compare(const TableConfig& a, const TableConfig& b) {
  Comparison comparison;
  TableConfig::Visit(comparison, a, b);
  return comparison;
}

}  // namespace

std::vector<std::string> Differences(const TableConfig& a, const TableConfig& b) {
  return Compare(a, b).all;
}

std::vector<std::string> FixedDifferences(const TableConfig& a, const TableConfig& b) {
  return Compare(a, b).fixed;
}

}  // namespace waggle
