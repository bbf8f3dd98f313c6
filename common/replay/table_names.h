#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"

// Replay servers call an experiment's tables "ID/TABLE"; users know them by their plain names.

namespace waggle {

// The prefix of the names of an experiment's tables. Empty without an experiment.
inline std::string TablePrefix(const std::string& experiment_id) {
  return experiment_id.empty() ? "" : absl::StrCat(experiment_id, "/");
}

// A server's text with plain names in place of the experiment's table names: removes "ID/" wherever it occurs.
inline std::string WithPlainNames(const std::string& text, const std::string& experiment_id) {
  return experiment_id.empty() ? text : absl::StrReplaceAll(text, {{TablePrefix(experiment_id), ""}});
}

inline absl::Status WithPlainNames(const absl::Status& status, const std::string& experiment_id) {
  absl::Status plain(status.code(), WithPlainNames(std::string(status.message()), experiment_id));
  status.ForEachPayload([&plain](absl::string_view url, const absl::Cord& payload) { plain.SetPayload(url, payload); });
  return plain;
}

// Keeps only the experiment's tables in an answer that lists tables, and gives them their plain names. Without an
// experiment it changes nothing.
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
