#include "cli/status/tables_report.h"

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/human_text.h"
#include "cli/status/run_facts.h"
#include "common/hub/summary/proto_json.h"

namespace waggle {
namespace {

using Json = nlohmann::ordered_json;

// The Python client's default, and more memory than any machine has.
constexpr int64_t kMuchMemory = int64_t{1} << 40;

std::string Limiter(const v1::RateLimiterConfig& limiter) {
  return limiter.samples_per_insert() > 0
             ? absl::StrFormat("%g samples an insert, from %d items", limiter.samples_per_insert(), limiter.min_items())
             : absl::StrFormat("from %d items", limiter.min_items());
}

// The bytes of rows, their limit, and the bytes on disk if the table has a memory_limit.
std::string BytesText(const v1::TableInfo& table) {
  std::string text = ShortBytes(static_cast<double>(table.bytes()));
  if (table.config().max_bytes() > 0 && table.config().max_bytes() < kMuchMemory) {
    absl::StrAppend(&text, " of ", ShortBytes(static_cast<double>(table.config().max_bytes())));
  }
  if (table.config().memory_limit() > 0) {
    absl::StrAppend(&text, ", ", ShortBytes(static_cast<double>(table.disk_bytes())), " on disk");
  }
  return text;
}

std::string DurabilityName(v1::Durability durability) {
  return EnumName(*v1::Durability_descriptor(), durability);
}

std::optional<ReplayServerState::Rates> RatesOf(const ReplayServerState& server, const v1::TableInfo& table) {
  const auto found = server.rates.find(table.config().name());
  return found == server.rates.end() ? std::nullopt : std::optional<ReplayServerState::Rates>(found->second);
}

// "198000", or "198000, 2.10k/s".
std::string CountText(uint64_t count, std::optional<double> rate) {
  return rate.has_value() ? absl::StrCat(count, ", ", ShortNumber(*rate), "/s") : absl::StrCat(count);
}

// "none", "3 inserts, 1 sample", or the reason why nothing moves.
std::string WaitingText(const v1::TableInfo& table, std::optional<double> inserted_per_s,
                        std::optional<double> sampled_per_s) {
  std::vector<std::string> parts;
  const auto count = [&parts](uint64_t waiting, const char* what) {
    if (waiting > 0) {
      parts.push_back(absl::StrCat(waiting, what, waiting == 1 ? "" : "s"));
    }
  };
  count(table.inserts_waiting(), " insert");
  count(table.samples_waiting(), " sample");
  if (parts.empty() || IsStuck(table, inserted_per_s, sampled_per_s)) {
    return table.blocked_because().empty() ? "none" : table.blocked_because();
  }
  return absl::StrJoin(parts, ", ");
}

std::vector<std::string> TableRow(const ReplayServerState& server, const v1::TableInfo& table) {
  const v1::TableConfig& config = table.config();
  const std::optional<ReplayServerState::Rates> rates = RatesOf(server, table);
  std::optional<double> inserted;
  std::optional<double> sampled;
  if (rates.has_value()) {
    inserted = rates->items_inserted;
    sampled = rates->items_sampled;
  }
  return {config.name(),
          server.address,
          absl::StrCat(table.items(), " of ", config.max_items()),
          BytesText(table),
          CountText(table.items_inserted(), inserted),
          CountText(table.items_sampled(), sampled),
          Limiter(config.rate_limiter()),
          absl::StrCat(DurabilityName(config.durability()), config.log_sync() ? ", synced" : ""),
          WaitingText(table, inserted, sampled)};
}

Json TableJson(const ReplayServerState& server, const v1::TableInfo& table) {
  const std::optional<ReplayServerState::Rates> rates = RatesOf(server, table);
  const v1::TableConfig& config = table.config();
  Json json = ProtoJson(table, {"config", "priority_sum", "config_generation", "blocked_because"});
  json.update({{"name", config.name()},
               {"server", server.address},
               {"max_items", config.max_items()},
               {"max_bytes", config.max_bytes()},
               {"durability", DurabilityName(config.durability())},
               {"log_sync", config.log_sync()},
               {"memory_limit", config.memory_limit()},
               {"items_inserted_per_second", rates.has_value() ? Json(rates->items_inserted) : Json(nullptr)},
               {"items_sampled_per_second", rates.has_value() ? Json(rates->items_sampled) : Json(nullptr)},
               {"limiter",
                {{"samples_per_insert", config.rate_limiter().samples_per_insert()},
                 {"min_items", config.rate_limiter().min_items()},
                 {"error_buffer", config.rate_limiter().error_buffer()},
                 {"blocked_because", table.blocked_because()}}}});
  return json;
}

}  // namespace

std::string RefusalsText(const std::vector<ReplayServerState>& servers) {
  std::string text;
  for (const ReplayServerState& server : servers) {
    const auto& refusals = server.tables.refusals();
    std::vector<std::string> parts;
    for (const auto& [reason, count] : std::map<std::string, uint64_t>(refusals.begin(), refusals.end())) {
      parts.push_back(absl::StrCat(Printable(reason), " ", count));
    }
    if (!parts.empty()) {
      absl::StrAppend(&text, "  refused by ", server.address, ": ", absl::StrJoin(parts, ", "), "\n");
    }
  }
  return text.empty() ? "" : absl::StrCat("\n", text);
}

std::string TablesText(const std::vector<ReplayServerState>& servers) {
  std::vector<std::vector<std::string>> rows = {
      {"table", "server", "items", "bytes", "inserted", "sampled", "limiter", "durability", "waiting"}};
  for (const ReplayServerState& server : servers) {
    if (!server.status.ok()) {
      std::vector<std::string> row(rows.front().size());
      row[0] = "?";
      row[1] = server.address;
      row.back() =
          // This text is long; in the last column it widens no other.
          absl::StrCat("does not answer: ", server.status.message());
      rows.push_back(std::move(row));
    }
    for (const v1::TableInfo& table : server.tables.tables()) {
      rows.push_back(TableRow(server, table));
    }
  }
  return rows.size() == 1 ? "  no table yet, or no server answers\n" : AlignedColumns(rows, "  ");
}

void AddTables(const std::vector<ReplayServerState>& servers, Json* json) {
  Json tables = Json::array();
  Json unanswered = Json::array();
  Json refused = Json::array();
  for (const ReplayServerState& server : servers) {
    if (!server.status.ok()) {
      unanswered.push_back({{"server", server.address}, {"error", std::string(server.status.message())}});
    }
    for (const v1::TableInfo& table : server.tables.tables()) {
      tables.push_back(TableJson(server, table));
    }
    const auto& refusals = server.tables.refusals();
    for (const auto& [reason, count] : std::map<std::string, uint64_t>(refusals.begin(), refusals.end())) {
      refused.push_back({{"server", server.address}, {"reason", reason}, {"count", count}});
    }
  }
  (*json)["tables"] = std::move(tables);
  (*json)["unanswered"] = std::move(unanswered);
  (*json)["refusals"] = std::move(refused);
}

}  // namespace waggle
