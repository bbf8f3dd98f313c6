#include "cli/experiments/change.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/experiments/cuts.h"
#include "cli/experiments/experiment_client.h"
#include "cli/experiments/experiment_report.h"
#include "common/base/annotate.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

using Service = v1::ExperimentService::Stub;
using Json = nlohmann::ordered_json;

constexpr absl::Duration kAnswerTimeout = absl::Seconds(5);
// A change may take the hub a while: it ends a run, or deletes files on its disk.
constexpr absl::Duration kChangeTimeout = absl::Seconds(30);

std::string Dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

// The experiments that the user's words stand for, each once.
struct Targets {
  std::vector<std::string> ids;
  bool is_one = false;  // The user named one experiment.
};

absl::StatusOr<Targets> FindTargets(const ExperimentClient& client, const std::vector<std::string>& words) {
  Targets targets;
  bool any_group = false;
  for (const std::string& word : words) {
    WAGGLE_ASSIGN_OR_RETURN(const v1::ResolveResponse found, client.Resolve(word, kAnswerTimeout));
    any_group = any_group || !found.group().empty();
    for (const std::string& id : found.ids()) {
      if (std::find(targets.ids.begin(), targets.ids.end(), id) == targets.ids.end()) {
        targets.ids.push_back(id);
      }
    }
  }
  targets.is_one = words.size() == 1 && !any_group;
  return targets;
}

// An outcome as text and as JSON.
struct ChangeOutcome {
  std::string text;
  Json json;
};

absl::StatusOr<Changed> ForEach(const Targets& targets, bool json,
                                const std::function<absl::StatusOr<ChangeOutcome>(const std::string& id)>& change) {
  Changed changed;
  Json all = Json::array();
  for (const std::string& id : targets.ids) {
    absl::StatusOr<ChangeOutcome> outcome = change(id);
    if (!outcome.ok()) {
      const absl::Status error =
          absl::StrContains(outcome.status().message(), id) ? outcome.status() : Annotate(outcome.status(), id);
      all.push_back({{"id", id}, {"error", std::string(error.message())}});
      changed.errors.push_back(error);
      if (HubIsAway(error)) {
        break;  // It would not answer for the others either.
      }
      continue;
    }
    absl::StrAppend(&changed.text, outcome->text);
    all.push_back(std::move(outcome->json));
  }
  if (json) {
    changed.text = targets.is_one ? changed.errors.empty() ? Dump(all[0]) : "" : Dump(all);
  }
  return changed;
}

ChangeOutcome StandingOutcome(const v1::ExperimentInfo& info) {
  return {StandingText(info), ExperimentJson(info)};
}

}  // namespace

const char* ChangeName(ChangeFlags::Change change) {
  switch (change) {
    case ChangeFlags::Change::kStop:
      return "stop";
    case ChangeFlags::Change::kResume:
      return "resume";
    case ChangeFlags::Change::kDelete:
      return "delete";
    case ChangeFlags::Change::kPriority:
      return "priority";
    case ChangeFlags::Change::kCheckpoint:
      return "checkpoint";
  }
  return "";
}

absl::StatusOr<Changed> Change(const ChangeFlags& flags) {
  const ExperimentClient client(flags.param_server);
  WAGGLE_ASSIGN_OR_RETURN(Targets targets, FindTargets(client, flags.ids));
  if (flags.change == ChangeFlags::Change::kStop) {
    std::reverse(targets.ids.begin(), targets.ids.end());
  }
  return ForEach(targets, flags.json, [&](const std::string& id) -> absl::StatusOr<ChangeOutcome> {
    if (flags.change == ChangeFlags::Change::kStop) {
      v1::StopExperimentRequest request;
      request.set_id(id);
      WAGGLE_ASSIGN_OR_RETURN(const v1::ExperimentInfo info, client.Ask(&Service::Stop, request, kChangeTimeout));
      return StandingOutcome(info);
    }
    if (flags.change == ChangeFlags::Change::kResume) {
      v1::ResumeExperimentRequest request;
      request.set_id(id);
      for (const auto& [key, value] : flags.limits) {
        v1::SetNumbersRequest::Number* const limit = request.add_limits();
        limit->set_key(key);
        limit->set_value(value);
      }
      request.set_cut(static_cast<uint64_t>(flags.cut));
      WAGGLE_ASSIGN_OR_RETURN(const v1::ExperimentInfo info, client.Ask(&Service::Resume, request, kChangeTimeout));
      return StandingOutcome(info);
    }
    if (flags.change == ChangeFlags::Change::kCheckpoint) {
      WAGGLE_ASSIGN_OR_RETURN(const v1::CutsResponse::Cut cut, MakeCut(client, id));
      Json json = CutJson(cut);
      json["id"] = id;
      return ChangeOutcome{CutText(id, cut), std::move(json)};
    }
    if (flags.change == ChangeFlags::Change::kPriority) {
      v1::SetPriorityRequest request;
      request.set_id(id);
      request.set_priority(static_cast<int32_t>(flags.priority));
      WAGGLE_ASSIGN_OR_RETURN(const v1::ExperimentInfo info,
                              client.Ask(&Service::SetPriority, request, kChangeTimeout));
      return ChangeOutcome{absl::StrCat(id, ": priority ", info.priority(), "\n"), ExperimentJson(info)};
    }
    v1::DeleteExperimentRequest request;
    request.set_id(id);
    WAGGLE_RETURN_IF_ERROR(client.Ask(&Service::Delete, request, kChangeTimeout).status());
    return ChangeOutcome{absl::StrCat(id, ": deleted\n"), Json{{"id", id}, {"outcome", "deleted"}}};
  });
}

absl::StatusOr<Changed> SetNumbers(const SetFlags& flags) {
  const ExperimentClient client(flags.param_server);
  WAGGLE_ASSIGN_OR_RETURN(const Targets targets, FindTargets(client, {flags.id}));
  return ForEach(targets, flags.json, [&](const std::string& id) -> absl::StatusOr<ChangeOutcome> {
    v1::SetNumbersRequest request;
    request.set_id(id);
    request.set_dry_run(flags.dry_run);
    for (const auto& [key, value] : flags.numbers) {
      v1::SetNumbersRequest::Number* const number = request.add_numbers();
      number->set_key(key);
      number->set_value(value);
    }
    WAGGLE_ASSIGN_OR_RETURN(const v1::SetNumbersResponse done, client.Ask(&Service::Set, request, kChangeTimeout));
    Json json = ChangesJson(done, flags.dry_run);
    if (!targets.is_one) {
      json["id"] = id;
    }
    return ChangeOutcome{absl::StrCat(targets.is_one ? "" : absl::StrCat(id, ":\n"), ChangesText(done, flags.dry_run)),
                         std::move(json)};
  });
}

}  // namespace waggle
