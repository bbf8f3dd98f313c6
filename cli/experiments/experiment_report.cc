#include "cli/experiments/experiment_report.h"

#include <algorithm>
#include <cstddef>
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

}  // namespace

std::string ExperimentsText(const v1::ListExperimentsResponse& experiments, absl::Time now) {
  if (experiments.experiments().empty()) {
    return "  no experiment\n";
  }
  std::vector<std::vector<std::string>> rows = {{"experiment", "state", "priority", "submitted", "time", "env steps",
                                                 "learner steps", "best return", "workers", ""}};
  for (const v1::ExperimentInfo& one : experiments.experiments()) {
    rows.push_back({one.id(), StateText(one), absl::StrCat(one.priority()), AgoText(one.submitted_at_us(), now),
                    one.started_at_us() == 0 ? "-" : ShortAge(absl::Milliseconds(one.running_ms())),
                    ShortNumber(static_cast<double>(one.env_steps())),
                    ShortNumber(static_cast<double>(one.learner_steps())),
                    one.has_result() ? absl::StrFormat("%.1f", one.result().evaluation().mean_return()) : "-",
                    absl::StrCat(one.workers(), " of ", one.workers_wanted()), CauseOf(one)});
  }
  const bool has_populations = std::any_of(experiments.experiments().begin(), experiments.experiments().end(),
                                           [](const auto& one) { return !one.population().empty(); });
  for (size_t i = 0; has_populations && i < rows.size(); ++i) {
    rows[i].insert(rows[i].begin() + 1,
                   i == 0 ? "population" : OrDash(experiments.experiments(static_cast<int>(i) - 1).population()));
  }
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
