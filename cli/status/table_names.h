#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"

// On replay servers the tables of an experiment are called "ID/TABLE"; people know them by their plain names.

namespace waggle {

// What precedes the names of an experiment's tables. Empty without one: of tables that are nobody's.
inline std::string TablePrefix(const std::string& experiment_id) {
  return experiment_id.empty() ? "" : absl::StrCat(experiment_id, "/");
}

// A text of a server's in which an experiment's tables are called by their plain names.
inline std::string WithPlainNames(const std::string& text, const std::string& experiment_id) {
  return experiment_id.empty() ? text : absl::StrReplaceAll(text, {{TablePrefix(experiment_id), ""}});
}

inline absl::Status WithPlainNames(const absl::Status& status, const std::string& experiment_id) {
  absl::Status plain(status.code(), WithPlainNames(std::string(status.message()), experiment_id));
  status.ForEachPayload([&plain](absl::string_view url, const absl::Cord& payload) { plain.SetPayload(url, payload); });
  return plain;
}

// Leaves the tables of an experiment alone in an answer that lists tables, under their plain names; all of them, as
// they are, without one.
template <class Response>
void KeepTablesOf(const std::string& experiment_id, Response* response) {
  if (experiment_id.empty()) {
    return;
  }
  const std::string prefix = TablePrefix(experiment_id);
  auto& tables = *response->mutable_tables();
  for (int i = tables.size() - 1; i >= 0; --i) {
    if (!absl::StartsWith(tables[i].config().name(), prefix)) {
      tables.DeleteSubrange(i, 1);
    } else {
      tables[i].mutable_config()->set_name(tables[i].config().name().substr(prefix.size()));
    }
  }
}

}  // namespace waggle
