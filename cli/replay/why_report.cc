#include "cli/replay/why_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "cli/human_text.h"
#include "cli/status/run_facts.h"
#include "common/hub/summary/proto_json.h"

namespace waggle {
namespace {

using Json = nlohmann::ordered_json;
using Explanation = v1::TableExplanation;

struct TableAt {
  const std::string* address;
  const Explanation* table;
};

std::string VerdictName(Explanation::Verdict verdict) {
  return EnumName(*Explanation::Verdict_descriptor(), verdict);
}

// The worst verdict first, then the most waiting calls.
std::vector<TableAt> Sorted(const Explanations& explanations) {
  std::vector<TableAt> tables;
  for (const auto& server : explanations) {
    for (const Explanation& table : server.response.tables()) {
      tables.push_back({&server.address, &table});
    }
  }
  std::stable_sort(tables.begin(), tables.end(), [](const TableAt& a, const TableAt& b) {
    return std::make_pair(a.table->verdict(), a.table->inserts_waiting() + a.table->samples_waiting()) >
           std::make_pair(b.table->verdict(), b.table->inserts_waiting() + b.table->samples_waiting());
  });
  return tables;
}

std::string Ago(bool has, double seconds) {
  return has ? absl::StrCat(ShortDuration(absl::Seconds(seconds)), " ago") : "never";
}

// In words, for a remedy that is not a setting: "room in DIR" and "more" give "more room in DIR".
std::string RemedyInWords(const v1::Remedy& remedy) {
  const std::string& change = remedy.change();
  const size_t word = std::min(change.find_first_of(" ,"), change.size());
  return absl::StrCat(change.substr(0, word), " ", remedy.setting(), change.substr(word),
                      remedy.now().empty() || remedy.now() == "none" ? "" : absl::StrCat(", now ", remedy.now()));
}

std::string RemedyText(const Explanation& table, const v1::Remedy& remedy) {
  if (!remedy.is_table_setting() && remedy.setting() != "batch_size") {
    return RemedyInWords(remedy);
  }
  std::string text = absl::StrCat(remedy.setting(), " ", remedy.change(), ", now ", remedy.now());
  if (remedy.is_table_setting()) {
    absl::StrAppend(&text, absl::StrFormat("    waggle reconfigure %s %s=%.15g", table.config().name(),
                                           remedy.setting(), remedy.value()));
  } else {
    absl::StrAppend(&text, "    of the sampler");
  }
  return text;
}

std::string LimiterText(const Explanation& table) {
  const v1::RateLimiterConfig& limiter = table.config().rate_limiter();
  std::string text =
      absl::StrFormat("%d items (min_items %d, max_items %d), %d inserted, %d sampled", table.items(),
                      limiter.min_items(), table.config().max_items(), table.items_inserted(), table.items_sampled());
  if (limiter.samples_per_insert() > 0) {
    absl::StrAppend(
        &text, absl::StrFormat("; difference %.12g in [%.12g, %.12g] at %.12g samples an insert", table.difference(),
                               table.min_difference(), table.max_difference(), limiter.samples_per_insert()));
  }
  return text;
}

std::string WaitsText(const Explanation& table) {
  std::vector<std::vector<std::string>> rows;
  for (const v1::Wait& wait : table.waits()) {
    const bool is_insert = wait.kind() == v1::Wait::KIND_INSERT;
    std::string what = absl::StrCat(wait.items(), is_insert ? " items left" : " items");
    if (!is_insert && wait.counted() != wait.items()) {
      absl::StrAppend(&what, " counted as ", wait.counted());
    }
    rows.push_back({is_insert ? "insert" : "sample",
                    absl::StrCat(wait.who().empty() ? "?" : wait.who(), wait.connected() ? "" : " (gone)"),
                    std::move(what), ShortDuration(absl::Seconds(wait.seconds())), wait.why()});
  }
  const auto listed = static_cast<uint64_t>(table.waits_size());
  const uint64_t all = table.inserts_waiting() + table.samples_waiting();
  std::string text = AlignedColumns(rows, "      ");
  if (all > listed) {
    absl::StrAppend(&text, "      and ", all - listed, " more\n");
  }
  return text;
}

std::string PartiesText(const Explanation& table) {
  std::vector<std::vector<std::string>> rows;
  for (const v1::Party& party : table.parties()) {
    std::string here =
        party.connected() ? "connected" : absl::StrCat("left ", Ago(party.has_left_ago(), party.left_ago()));
    if (!party.waits_at().empty()) {
      absl::StrAppend(&here, ", waits at ", party.waits_at());
    }
    const bool writes = party.kind() == v1::Party::KIND_WRITER;
    rows.push_back({writes ? "writer" : "sampler", party.name().empty() ? "?" : party.name(), std::move(here),
                    absl::StrCat(party.items(), " items, last ", Ago(party.has_active_ago(), party.active_ago()))});
  }
  if (table.has_priorities_updated_ago()) {
    rows.push_back({"updater", table.priorities_updated_by(), "",
                    absl::StrCat("priorities ", Ago(true, table.priorities_updated_ago()))});
  }
  return AlignedColumns(rows, "      ");
}

// Empty if the disk has no problem.
std::string DiskText(const Explanation& table) {
  const v1::StorageInfo& storage = table.storage();
  std::vector<std::string> parts;
  if (!storage.write_problem().empty()) {
    parts.push_back(absl::StrCat("for ", ShortDuration(absl::Seconds(storage.write_problem_seconds())),
                                 " nothing can be written: ", Printable(storage.write_problem())));
  } else if (table.unacknowledged_blocks() > 0 && storage.commit_waiting_seconds() > 0) {
    parts.push_back(
        absl::StrCat("a commit has been pending for ", ShortDuration(absl::Seconds(storage.commit_waiting_seconds()))));
  }
  if (!parts.empty()) {
    const bool one = table.unacknowledged_blocks() == 1;
    parts.push_back(absl::StrCat(table.unacknowledged_blocks(), one ? " block with " : " blocks with ",
                                 ShortBytes(static_cast<double>(table.unacknowledged_bytes())), " of its writers ",
                                 one ? "is" : "are", " not acknowledged"));
  }
  if (!storage.checkpoint_problem().empty()) {
    parts.push_back(absl::StrCat("last checkpoint kept ", Ago(storage.has_checkpoint_ago(), storage.checkpoint_ago()),
                                 ", the one since failed: ", Printable(storage.checkpoint_problem())));
  }
  if (parts.empty()) {
    return "";
  }
  const std::string folder = storage.folder().empty() ? "" : absl::StrCat(", in ", Printable(storage.folder()));
  return absl::StrCat("  on disk", folder, ":\n      ", absl::StrJoin(parts, "\n      "), "\n");
}

std::string TableText(const TableAt& at, bool in_full) {
  const Explanation& table = *at.table;
  const bool stuck = table.verdict() != Explanation::VERDICT_FLOWING;
  const std::string verdict = VerdictName(table.verdict());
  std::string text =
      absl::StrCat(Printable(table.config().name()), " at ", *at.address, ": ",
                   stuck ? absl::AsciiStrToUpper(verdict) : verdict, ": ", Printable(table.summary()), "\n");
  if (!stuck && !in_full) {
    return text;
  }
  if (!table.who_could().empty()) {
    absl::StrAppend(&text, "  could be ended by: ", Printable(table.who_could()), "\n");
  }
  if (table.remedies_size() > 0) {
    absl::StrAppend(&text, "  remedies", table.remedies_size() > 1 ? ", each enough by itself" : "", ":\n");
  }
  for (const v1::Remedy& remedy : table.remedies()) {
    absl::StrAppend(&text, "      ", Printable(RemedyText(table, remedy)), "\n");
  }
  if (table.waits_size() > 0) {
    absl::StrAppend(&text, "  waiting calls:\n", WaitsText(table));
  }
  absl::StrAppend(&text, "  in numbers: ", LimiterText(table), "\n", DiskText(table));
  if (table.parties_size() > 0 || table.has_priorities_updated_ago()) {
    absl::StrAppend(&text, "  clients:\n", PartiesText(table));
  }
  return text;
}

// The tables that wait for this worker's role: a learner samples, an actor writes.
std::vector<std::string> WaitingFor(const v1::WorkerInfo& worker, const std::vector<TableAt>& tables) {
  std::vector<std::string> names;
  for (const TableAt& at : tables) {
    const Explanation& table = *at.table;
    const bool waits = (worker.role() == v1::ROLE_LEARNER && table.inserts_waiting() > 0) ||
                       (worker.role() == v1::ROLE_ACTOR && table.samples_waiting() > 0);
    if (waits && table.verdict() != Explanation::VERDICT_FLOWING) {
      names.push_back(absl::StrCat(Printable(table.config().name()), " at ", *at.address));
    }
  }
  return names;
}

std::string SilentText(const SilentWorkers& silent, const std::vector<TableAt>& tables) {
  std::string text;
  for (const SilentWorker& each : silent) {
    const std::vector<std::string> names = WaitingFor(each.worker, tables);
    if (names.empty()) {
      continue;
    }
    const bool learner = each.worker.role() == v1::ROLE_LEARNER;
    absl::StrAppend(&text, WorkerName(each.worker), ", process ", each.worker.process_id(), " on ",
                    Printable(each.worker.host()), ", has sent no heartbeat for ", ShortDuration(each.silent),
                    ": it is stopped, hangs or is cut off, and should ", learner ? "sample from " : "write to ",
                    absl::StrJoin(names, ", "), "; another setting would let the others go on for a moment only\n");
  }
  return text;
}

Json Optional(bool has, double value) {
  return has ? Json(value) : Json(nullptr);
}

Json TableJson(const TableAt& at) {
  const Explanation& table = *at.table;
  Json json = ProtoJson(
      table, {"config", "items_inserted", "items_sampled", "storage", "unacknowledged_blocks", "unacknowledged_bytes"});
  json["table"] = table.config().name();
  json["server"] = *at.address;
  json["samples_per_insert"] = table.config().rate_limiter().samples_per_insert();
  json["min_items"] = table.config().rate_limiter().min_items();
  json["inserts"] = table.items_inserted();
  json["samples"] = table.items_sampled();
  if (Json& storage = json["storage"]; table.has_storage()) {
    storage = ProtoJson(table.storage(), {"checkpoint_number", "checkpoint_ago"});
    storage["seconds_since_checkpoint"] =
        Optional(table.storage().has_checkpoint_ago(), table.storage().checkpoint_ago());
    storage["unacknowledged_blocks"] = table.unacknowledged_blocks();
    storage["unacknowledged_bytes"] = table.unacknowledged_bytes();
  }
  return json;
}

}  // namespace

std::string WhyText(const Explanations& explanations, const MissingServers& missing, bool in_full,
                    const SilentWorkers& silent) {
  const std::vector<TableAt> tables = Sorted(explanations);
  std::string text = SilentText(silent, tables);
  for (const TableAt& at : tables) {
    absl::StrAppend(&text, TableText(at, in_full));
  }
  for (const auto& server : explanations) {
    if (!server.status.ok()) {
      absl::StrAppend(&text, "the replay server at ", server.address,
                      " does not answer: ", Printable(server.status.message()), "\n");
    } else if (server.response.tables().empty()) {
      absl::StrAppend(&text, "the replay server at ", server.address, " has no table yet\n");
    }
  }
  for (const MissingReplayServer& server : missing) {
    absl::StrAppend(&text, MissingText(server), "\n");
  }
  return text;
}

std::string WhyJson(const Explanations& explanations, const MissingServers& missing, const SilentWorkers& silent) {
  const std::vector<TableAt> tables = Sorted(explanations);
  Json json;
  json["verdict"] = tables.empty() ? "flowing" : VerdictName(tables.front().table->verdict());
  json["tables"] = Json::array();
  for (const TableAt& at : tables) {
    json["tables"].push_back(TableJson(at));
  }
  json["silent"] = Json::array();
  for (const SilentWorker& each : silent) {
    json["silent"].push_back({{"worker", WorkerName(each.worker)},
                              {"index", each.worker.index()},
                              {"process_id", each.worker.process_id()},
                              {"host", each.worker.host()},
                              {"address", each.worker.address()},
                              {"silent_seconds", absl::ToDoubleSeconds(each.silent)},
                              {"waited_for_at", WaitingFor(each.worker, tables)}});
  }
  json["unanswered"] = Json::array();
  for (const auto& server : explanations) {
    if (!server.status.ok()) {
      json["unanswered"].push_back({{"server", server.address}, {"error", std::string(server.status.message())}});
    }
  }
  json["missing"] = Json::array();
  for (const MissingReplayServer& server : missing) {
    json["missing"].push_back(
        {{"index", server.index},
         {"server", server.address},
         {"silent_seconds",
          Optional(server.silent.has_value(), absl::ToDoubleSeconds(server.silent.value_or(absl::ZeroDuration())))},
         {"failure", server.failure}});
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

int WhyExitStatus(const Explanations& explanations, const MissingServers& missing) {
  const std::vector<TableAt> tables = Sorted(explanations);
  if (!tables.empty() && tables.front().table->verdict() == Explanation::VERDICT_DEADLOCK) {
    return 4;
  }
  if (!tables.empty() && tables.front().table->verdict() == Explanation::VERDICT_WAITING) {
    return 3;
  }
  const bool all_answered = missing.empty() && std::all_of(explanations.begin(), explanations.end(),
                                                           [](const auto& server) { return server.status.ok(); });
  return all_answered ? 0 : 1;
}

}  // namespace waggle
