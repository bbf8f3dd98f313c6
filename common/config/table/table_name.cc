#include "common/config/table/table_name.h"

#include "absl/strings/str_cat.h"

namespace waggle {

std::string TableNameOf(absl::string_view experiment_id, absl::string_view table) {
  return experiment_id.empty() ? std::string(table) : absl::StrCat(experiment_id, "/", table);
}

absl::string_view ExperimentOfTable(absl::string_view name) {
  const size_t slash = name.find('/');
  return slash == absl::string_view::npos ? absl::string_view() : name.substr(0, slash);
}

absl::string_view PlainTableName(absl::string_view name) {
  const size_t slash = name.find('/');
  return slash == absl::string_view::npos ? name : name.substr(slash + 1);
}

}  // namespace waggle
