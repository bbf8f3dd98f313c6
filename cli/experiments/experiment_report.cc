#include "cli/experiments/experiment_report.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/human_text.h"
#include "cli/status/run_facts.h"
#include "common/hub/hub_convert.h"
#include "common/hub/pool_convert.h"
#include "common/hub/summary/proto_json.h"
#include "common/hub/summary/result_report.h"

namespace waggle {
namespace {

using Json = nlohmann::ordered_json;

std::string StateText(const v1::ExperimentInfo& experiment) {
  const absl::StatusOr<RunState> state = FromProto(experiment.state());
  return state.ok() ? RunStateName(*state) : "unknown";
}

std::string AgoText(int64_t at_us, absl::Time now) {
  return at_us == 0 ? "-" : absl::StrCat(ShortAge(now - absl::FromUnixMicros(at_us)), " ago");
}

Json SecondsJson(int64_t at_us) {
  return at_us == 0 ? Json(nullptr) : Json(static_cast<double>(at_us) / 1e6);
}

std::string KindText(v1::WorkerKind kind) {
  const absl::StatusOr<WorkerKind> known = FromProto(kind);
  return known.ok() ? WorkerKindName(*known) : "unknown";
}

std::string RoleText(const v1::PoolMember& member, const v1::WorkOrder& order) {
  const absl::StatusOr<Role> role = FromProto(order.role());
  if (member.kind() == v1::WORKER_KIND_GRADIENT && order.role() == v1::ROLE_LEARNER) {
    return "primary";
  }
  return role.ok() ? RoleName(*role) : "unknown";
}

// "actor 2 of pole-x7k2q, evaluator 0 of cart-99abc; leaving".
std::string WorkText(const v1::PoolMember& member) {
  std::vector<std::string> parts;
  for (const v1::WorkOrder& order : member.orders()) {
    parts.push_back(absl::StrCat(RoleText(member, order), " ", order.index(), " of ", order.experiment_id()));
  }
  return absl::StrCat(parts.empty() ? "nothing" : absl::StrJoin(parts, ", "), member.leaving() ? "; leaving" : "");
}

std::string OrDash(const std::string& text) {
  return text.empty() ? "-" : text;
}

// A line of a list.
struct ListedRow {
  int64_t submitted_at_us = 0;
  std::string group;  // The one that it is a member of; empty: none.
  std::vector<std::string> columns;
  std::string settings;
  std::string tags;
  std::string owner;
};

std::string ReturnText(bool is_known, const v1::Result& result) {
  return is_known ? absl::StrFormat("%.1f", result.evaluation().mean_return()) : "-";
}

ListedRow RowOf(const v1::ExperimentInfo& one, absl::Time now) {
  ListedRow row;
  row.submitted_at_us = one.submitted_at_us();
  row.group = one.group();
  row.columns = {one.id(),
                 StateText(one),
                 absl::StrCat(one.priority()),
                 AgoText(one.submitted_at_us(), now),
                 one.started_at_us() == 0 ? "-" : ShortAge(absl::Milliseconds(one.running_ms())),
                 ShortNumber(static_cast<double>(one.env_steps())),
                 ShortNumber(static_cast<double>(one.learner_steps())),
                 ReturnText(one.has_result(), one.result()),
                 absl::StrCat(one.workers(), " of ", one.workers_wanted()),
                 CauseOf(one)};
  row.settings = absl::StrJoin(one.settings(), " ");
  row.tags = absl::StrJoin(one.tags(), " ");
  row.owner = one.owner();
  return row;
}

// "2 running, 13 queued".
std::string StatesText(const v1::ExperimentGroup& group) {
  return absl::StrJoin(group.states(), ", ", [](std::string* out, const auto& one) {
    const absl::StatusOr<RunState> state = FromProto(one.state());
    absl::StrAppend(out, one.count(), " ", state.ok() ? RunStateName(*state) : "unknown");
  });
}

ListedRow RowOf(const v1::ExperimentGroup& group, absl::Time now) {
  std::vector<std::string> remarks;
  if (group.has_best()) {
    remarks.push_back(absl::StrCat("best: ", group.best_id(), group.best_settings().empty() ? "" : " ",
                                   absl::StrJoin(group.best_settings(), " ")));
  }
  if (!group.reason().empty()) {
    remarks.push_back(group.reason());
  }
  ListedRow row;
  row.submitted_at_us = group.submitted_at_us();
  row.columns = {absl::StrCat(group.id(), " (", group.members(), ")"),
                 StatesText(group),
                 absl::StrCat(group.priority()),
                 AgoText(group.submitted_at_us(), now),
                 "-",
                 ShortNumber(static_cast<double>(group.env_steps())),
                 ShortNumber(static_cast<double>(group.learner_steps())),
                 ReturnText(group.has_best(), group.best()),
                 absl::StrCat(group.workers(), " of ", group.workers_wanted()),
                 absl::StrJoin(remarks, "; ")};
  row.tags = absl::StrJoin(group.tags(), " ");
  row.owner = group.owner();
  return row;
}

}  // namespace

std::string ExperimentsText(const v1::ListExperimentsResponse& experiments, absl::Time now) {
  std::vector<ListedRow> alone;
  std::vector<ListedRow> groups;
  for (const v1::ExperimentInfo& one : experiments.experiments()) {
    alone.push_back(RowOf(one, now));
  }
  for (const v1::ExperimentGroup& group : experiments.groups()) {
    groups.push_back(RowOf(group, now));
  }
  if (alone.empty() && groups.empty()) {
    return "  no experiment\n";
  }
  std::vector<ListedRow> listed;
  std::merge(alone.begin(), alone.end(), groups.begin(), groups.end(), std::back_inserter(listed),
             [](const ListedRow& a, const ListedRow& b) { return a.submitted_at_us > b.submitted_at_us; });
  // The members of a group often have one long reason. The last row is changed first: each is compared unchanged.
  for (size_t i = listed.size() - 1; i > 0; --i) {
    std::string& reason = listed[i].columns.back();
    const ListedRow& above = listed[i - 1];
    if (!reason.empty() && !listed[i].group.empty() && listed[i].group == above.group &&
        reason == above.columns.back()) {
      reason = "as above";
    }
  }
  std::vector<std::vector<std::string>> rows = {{"experiment", "state", "priority", "submitted", "time", "env steps",
                                                 "learner steps", "best return", "workers", ""}};
  for (const ListedRow& row : listed) {
    rows.push_back(row.columns);
  }
  // Columns that most lists do not need.
  const auto add = [&](const char* title, bool is_needed, const std::string ListedRow::*text) {
    for (size_t i = 0; is_needed && i < rows.size(); ++i) {
      rows[i].insert(rows[i].end() - 1, i == 0 ? title : OrDash(Printable(listed[i - 1].*text)));
    }
  };
  const auto any = [&](const std::string ListedRow::*text) {
    return std::any_of(listed.begin(), listed.end(), [text](const ListedRow& row) { return !(row.*text).empty(); });
  };
  add("settings", any(&ListedRow::settings), &ListedRow::settings);
  add("tags", any(&ListedRow::tags), &ListedRow::tags);
  const bool has_owners = std::any_of(listed.begin(), listed.end(),
                                      [&listed](const ListedRow& row) { return row.owner != listed.front().owner; });
  add("owner", has_owners, &ListedRow::owner);
  return absl::StrCat(AlignedColumns(rows, "  "), experiments.next_page_token().empty()
                                                      ? ""
                                                      : "  older ones are not shown: waggle list --limit N\n");
}

Json ExperimentsJson(const v1::ListExperimentsResponse& experiments) {
  Json json = Json::array();
  for (const v1::ExperimentInfo& one : experiments.experiments()) {
    json.push_back(ExperimentJson(one));
  }
  return json;
}

Json GroupsJson(const v1::ListExperimentsResponse& experiments) {
  Json json = Json::array();
  for (const v1::ExperimentGroup& group : experiments.groups()) {
    Json& out = json.emplace_back(ProtoJson(group, {"name", "states", "best", "submitted_at_us"}));
    out.update({{"experiment", group.name()},
                {"submitted_at", SecondsJson(group.submitted_at_us())},
                {"states", Json::object()},
                {"best", ResultJson(group.has_best() ? std::optional<v1::Result>(group.best())
                                                     : std::optional<v1::Result>())}});
    for (const v1::ExperimentGroup::StateCount& one : group.states()) {
      const absl::StatusOr<RunState> state = FromProto(one.state());
      out["states"][state.ok() ? RunStateName(*state) : "unknown"] = one.count();
    }
  }
  return json;
}

std::string PoolText(const v1::PoolResponse& pool) {
  if (pool.members().empty()) {
    return "  no process is in the pool: start some with this --param-server\n";
  }
  std::vector<std::vector<std::string>> rows = {
      {"process", "host", "pid", "address", "cores", "memory", "devices", "heard", "works as"}};
  for (const v1::PoolMember& member : pool.members()) {
    const v1::Resources& resources = member.resources();
    rows.push_back(
        {KindText(member.kind()), OrDash(member.host()), absl::StrCat(member.process_id()), OrDash(member.address()),
         absl::StrCat(resources.cores()), ShortBytes(static_cast<double>(resources.memory_bytes())),
         OrDash(absl::StrJoin(resources.devices(), ",")),
         member.silent_ms() < 1000 ? "now" : absl::StrCat(ShortAge(absl::Milliseconds(member.silent_ms())), " ago"),
         WorkText(member)});
  }
  return AlignedColumns(rows, "  ");
}

Json ExperimentJson(const v1::ExperimentInfo& experiment) {
  Json json = ProtoJson(experiment, {"name", "state", "submitted_at_us", "started_at_us", "ended_at_us", "result",
                                     "running_ms", "submitted_yaml", "effective_yaml"});
  json.update({{"experiment", experiment.name()},
               {"outcome", StateText(experiment)},
               {"submitted_at", SecondsJson(experiment.submitted_at_us())},
               {"started_at", SecondsJson(experiment.started_at_us())},
               {"ended_at", SecondsJson(experiment.ended_at_us())},
               {"result", ResultJson(experiment.has_result() ? std::optional<v1::Result>(experiment.result())
                                                             : std::optional<v1::Result>())}});
  return json;
}

std::string StandingText(const v1::ExperimentInfo& experiment) {
  const std::string cause = CauseOf(experiment);
  return absl::StrCat(experiment.id(), ": ", StateText(experiment), cause.empty() ? "" : ": ", Printable(cause), "\n");
}

std::string ChangesText(const v1::SetNumbersResponse& done, bool dry_run) {
  if (done.changes().empty()) {
    return "nothing changes: the numbers have these values\n";
  }
  std::string text;
  for (const v1::SetNumbersResponse::Change& change : done.changes()) {
    absl::StrAppend(&text, Printable(change.key()), ": ", Printable(change.from()), " -> ", Printable(change.to()),
                    dry_run ? " (not set)" : "", "\n");
  }
  return text;
}

Json ChangesJson(const v1::SetNumbersResponse& done, bool dry_run) {
  Json changes = Json::array();
  for (const v1::SetNumbersResponse::Change& change : done.changes()) {
    changes.push_back(ProtoJson(change));
  }
  return {{"changes", changes}, {"dry_run", dry_run}};
}

Json PoolJson(const v1::PoolResponse& pool) {
  Json json = Json::array();
  for (const v1::PoolMember& member : pool.members()) {
    Json& out = json.emplace_back(ProtoJson(member, {"process_id", "resources", "silent_ms", "orders"}));
    out.update(ProtoJson(member.resources()));
    out.update({{"kind", KindText(member.kind())},
                {"pid", member.process_id()},
                {"seconds_silent", static_cast<double>(member.silent_ms()) / 1e3},
                {"orders", Json::array()}});
    for (const v1::WorkOrder& order : member.orders()) {
      out["orders"].push_back({{"experiment", order.experiment_id()},
                               {"role", RoleText(member, order)},
                               {"index", order.index()},
                               {"number", order.number()}});
    }
  }
  return json;
}

std::string EventText(const v1::ExperimentEvent& event) {
  return absl::StrCat(absl::FormatTime("%Y-%m-%d %H:%M:%S", absl::FromUnixMicros(event.at_us()), absl::UTCTimeZone()),
                      "  ", Printable(event.text()), "\n");
}

std::string EventJsonLine(const v1::ExperimentEvent& event) {
  const Json json = {{"number", event.number()}, {"at", SecondsJson(event.at_us())}, {"text", event.text()}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace waggle
