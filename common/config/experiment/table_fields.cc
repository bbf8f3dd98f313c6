#include "common/config/experiment/table_fields.h"

#include <cstdint>
#include <optional>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "common/config/experiment/visit_name.h"
#include "common/config/table/table_fields.h"

namespace waggle {
namespace {

// Hands the fields that users set to a visitor of options.
class OptionFields {
 public:
  OptionFields(TableFieldSet set, ConfigVisitor* visitor) : set_(set), visitor_(visitor) {}

  template <class T>
  void operator()(const TableField& field, T& value) const;

 private:
  const TableFieldSet set_;
  ConfigVisitor* const visitor_;
};

// A part of the configuration as a section of its own. Relations between its values are checked in the whole.
template <class Part>
struct PartSection {
  Part* part;
  TableFieldSet set;
  void Visit(ConfigVisitor& visitor) { Part::Visit(OptionFields(set, &visitor), *part); }
  static absl::Status Validate() { return absl::OkStatus(); }
};

// An element of `compression`.
struct CompressionElement {
  ColumnCompression compression;
  void Visit(ConfigVisitor& visitor) {
    ColumnCompression::Visit(OptionFields(TableFieldSet::kAll, &visitor), compression);
  }
  absl::Status Validate() const {
    return compression.column.empty() ? absl::InvalidArgumentError("column: is missing; wanted a column's name")
                                      : absl::OkStatus();
  }
};

void VisitCompression(const char* key, std::vector<ColumnCompression>* compression, ConfigVisitor* visitor) {
  std::vector<CompressionElement> list;
  for (const ColumnCompression& column : *compression) {
    list.push_back({column});
  }
  visitor->List(key, &list);
  compression->clear();
  for (const CompressionElement& element : list) {
    compression->push_back(element.compression);
  }
}

template <class T>
void OptionFields::operator()(const TableField& field, T& value) const {
  if (field.kind == TableField::kGiven || (field.kind == TableField::kFixed && set_ == TableFieldSet::kChangeable) ||
      !visitor_->Applies(field.key, field.meaningless.empty(), field.meaningless)) {
    return;
  }
  const Range range = In(field.least, field.most);
  if constexpr (std::is_same_v<T, bool>) {
    visitor_->Bool(field.key, &value);
  } else if constexpr (std::is_same_v<T, int64_t>) {
    visitor_->Int(field.key, &value, range);
  } else if constexpr (std::is_same_v<T, double>) {
    visitor_->Double(field.key, &value, range);
  } else if constexpr (std::is_same_v<T, std::optional<double>>) {
    visitor_->OptionalDouble(field.key, &value, range);
  } else if constexpr (std::is_same_v<T, std::string>) {
    visitor_->String(field.key, &value);
  } else if constexpr (std::is_enum_v<T>) {
    VisitName(field.key, &value, KnownValues<T>(field.least), visitor_);
  } else if constexpr (std::is_same_v<T, std::vector<ColumnCompression>>) {
    VisitCompression(field.key, &value, visitor_);
  } else if constexpr (std::is_aggregate_v<T>) {
    PartSection<T> section{&value, set_};
    visitor_->Section(field.key, &section);
  }
}

// Collects the keys of fields that cannot be changed.
struct FixedKeys {
  template <class T>
  void operator()(const TableField& field, T& value) const {
    if constexpr (std::is_aggregate_v<T>) {
      T::Visit(FixedKeys{absl::StrCat(prefix, field.key, "."), keys}, value);
    } else if (field.kind != TableField::kChangeable) {
      keys->push_back(absl::StrCat(prefix, field.key));
    }
  }

  std::string prefix;
  std::vector<std::string>* keys;
};

}  // namespace

void VisitTableFields(TableConfig* config, TableFieldSet set, ConfigVisitor* visitor) {
  TableConfig::Visit(OptionFields(set, visitor), *config);
}

std::vector<std::string> FixedTableKeys() {
  std::vector<std::string> keys;
  const TableConfig config;
  TableConfig::Visit(FixedKeys{"", &keys}, config);
  return keys;
}

}  // namespace waggle
