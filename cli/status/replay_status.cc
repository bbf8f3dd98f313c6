#include "cli/status/replay_status.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "cli/human_text.h"
#include "cli/status/tables_report.h"
#include "common/base/annotate.h"
#include "common/base/threads/stop_token.h"
#include "common/hub/summary/proto_json.h"

namespace waggle {
namespace {

using Json = nlohmann::ordered_json;

std::string MemoryText(const v1::DescribeResponse& server) {
  return absl::StrCat(ShortBytes(static_cast<double>(server.memory_bytes())), " of ",
                      ShortBytes(static_cast<double>(server.max_memory_bytes())));
}

std::string WritersText(const v1::DescribeResponse& server) {
  return server.writers() == 0
             ? "none"
             : absl::StrCat(server.writers(), ", with ", ShortBytes(static_cast<double>(server.writer_bytes())));
}

std::string CheckpointText(const v1::DescribeResponse& server) {
  if (!server.has_storage()) {
    return "no --data-dir";
  }
  const v1::StorageInfo& storage = server.storage();
  std::string text = "none since it was started";
  if (storage.has_checkpoint_ago()) {
    text = absl::StrCat("number ", storage.checkpoint_number(), ", ",
                        ShortDuration(absl::Seconds(storage.checkpoint_ago())), " ago");
  }
  if (!storage.checkpoint_problem().empty()) {
    absl::StrAppend(&text, "; the last one failed: ", storage.checkpoint_problem());
  }
  if (!storage.write_problem().empty()) {
    absl::StrAppend(&text, "; ", storage.write_problem());
  }
  return text;
}

std::string ServersText(const std::vector<ReplayServerState>& servers) {
  std::vector<std::vector<std::string>> rows = {
      {"replay server", "version", "since", "memory of rows", "writers", "checkpoint"}};
  for (const ReplayServerState& server : servers) {
    if (server.status.ok()) {
      rows.push_back({server.address, server.tables.software_version(),
                      ShortDuration(absl::Seconds(server.tables.seconds_running())), MemoryText(server.tables),
                      WritersText(server.tables), CheckpointText(server.tables)});
    }
  }
  return rows.size() == 1 ? "" : absl::StrCat(AlignedColumns(rows, "  "), "\n");
}

Json ServerJson(const ReplayServerState& server) {
  const v1::DescribeResponse& described = server.tables;
  Json json = ProtoJson(described, {"tables", "refusals", "storage"});
  json["address"] = server.address;
  json["storage"] = nullptr;
  if (described.has_storage()) {
    const v1::StorageInfo& storage = described.storage();
    const bool any = storage.has_checkpoint_ago();
    json["storage"] = {{"checkpoint_number", any ? Json(storage.checkpoint_number()) : Json(nullptr)},
                       {"seconds_since_checkpoint", any ? Json(storage.checkpoint_ago()) : Json(nullptr)},
                       {"checkpoint_problem", storage.checkpoint_problem()},
                       {"write_problem", storage.write_problem()}};
  }
  return json;
}

}  // namespace

std::map<std::string, ReplayServerState::Rates> RatesBetween(const ReplayServerState& before,
                                                             const ReplayServerState& after) {
  std::map<std::string, ReplayServerState::Rates> rates;
  const double seconds = after.tables.seconds_running() - before.tables.seconds_running();
  if (!before.status.ok() || !after.status.ok() || seconds <= 0) {
    return rates;
  }
  std::map<std::string, const v1::TableInfo*> known;
  for (const v1::TableInfo& table : before.tables.tables()) {
    known[table.config().name()] = &table;
  }
  for (const v1::TableInfo& now : after.tables.tables()) {
    const auto found = known.find(now.config().name());
    // Counters that went back belong to another table with that name.
    if (found != known.end() && now.items_inserted() >= found->second->items_inserted() &&
        now.items_sampled() >= found->second->items_sampled()) {
      rates[now.config().name()] = {
          static_cast<double>(now.items_inserted() - found->second->items_inserted()) / seconds,
          static_cast<double>(now.items_sampled() - found->second->items_sampled()) / seconds};
    }
  }
  return rates;
}

absl::StatusOr<std::vector<ReplayServerState>> AskReplayStatus(const std::vector<std::string>& addresses,
                                                               const std::string& experiment_id, absl::Duration timeout,
                                                               absl::Duration between) {
  std::vector<std::string> each;
  for (const std::string& address : addresses) {
    if (std::find(each.begin(), each.end(), address) == each.end()) {
      each.push_back(address);
    }
  }
  DescribeClient client;
  const std::vector<ReplayServerState> before = client.Describe(each, timeout, experiment_id);
  if (std::none_of(before.begin(), before.end(), [](const ReplayServerState& server) { return server.status.ok(); })) {
    return Annotate(before.front().status, absl::StrCat("the replay server at ", before.front().address));
  }
  StopToken().WaitFor(between);
  std::vector<ReplayServerState> servers = client.Describe(each, timeout, experiment_id);
  for (size_t i = 0; i < servers.size(); ++i) {
    servers[i].rates = RatesBetween(before[i], servers[i]);
  }
  return servers;
}

std::string ReplayStatusText(const std::vector<ReplayServerState>& servers) {
  return absl::StrCat(ServersText(servers), TablesText(servers), RefusalsText(servers));
}

std::string ReplayStatusJson(const std::vector<ReplayServerState>& servers) {
  Json json;
  json["replay_servers"] = Json::array();
  for (const ReplayServerState& server : servers) {
    if (server.status.ok()) {
      json["replay_servers"].push_back(ServerJson(server));
    }
  }
  AddTables(servers, &json);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace waggle
