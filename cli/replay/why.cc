#include "cli/replay/why.h"

#include "common/replay/table_names.h"

namespace waggle {

Explanations AskWhy(const std::string& table, absl::Duration timeout, ReplayServers* servers) {
  v1::ExplainRequest request;
  if (!table.empty()) {
    request.set_table(servers->TableName(table));
  }
  Explanations explanations = servers->AskAll(&v1::ReplayService::Stub::Explain, request, timeout);
  const std::string& id = servers->experiment_id();
  for (auto& server : explanations) {
    KeepTablesOf(id, &server.response);
    for (v1::TableExplanation& explained : *server.response.mutable_tables()) {
      explained.set_summary(WithPlainNames(explained.summary(), id));
      explained.set_who_could(WithPlainNames(explained.who_could(), id));
      for (v1::Wait& wait : *explained.mutable_waits()) {
        wait.set_why(WithPlainNames(wait.why(), id));
      }
      for (v1::Party& party : *explained.mutable_parties()) {
        party.set_waits_at(WithPlainNames(party.waits_at(), id));
      }
    }
  }
  return explanations;
}

}  // namespace waggle
