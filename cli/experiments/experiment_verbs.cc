#include "cli/experiments/experiment_verbs.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "cli/check/checked_experiment.h"
#include "cli/experiments/experiment_client.h"
#include "cli/experiments/experiment_report.h"
#include "cli/experiments/sweep.h"
#include "cli/human_text.h"
#include "cli/status/cluster_client.h"
#include "cli/status/pool_snapshot.h"
#include "cli/status/status_report.h"
#include "common/base/status_macros.h"
#include "common/hub/hub_convert.h"
#include "common/hub/summary/bottleneck.h"

namespace waggle {
namespace {

using Service = v1::ExperimentService::Stub;
using Json = nlohmann::ordered_json;

constexpr absl::Duration kAnswerTimeout = absl::Seconds(5);
// Long enough for a hub that restarts.
constexpr absl::Duration kSubmitPatience = absl::Seconds(15);
constexpr absl::Duration kFollowPause = absl::Seconds(1);
// The hub needs longer for a group.
constexpr absl::Duration kGroupPatience = absl::Seconds(60);

std::string Dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

// A line for each bottleneck with its runs: "pole-x7k2q, cart-99abc: no learner works …".
std::string BottlenecksText(const PoolSnapshot& snapshot) {
  std::map<std::string, std::vector<std::string>> runs_with;
  for (const auto& [id, run] : snapshot.runs) {
    runs_with[BottleneckText(FindBottleneck(LoopOf(run)))].push_back(Printable(id));
  }
  std::string text;
  for (const auto& [bottleneck, runs] : runs_with) {
    absl::StrAppend(&text, text.empty() ? "\n" : "", "  ", absl::StrJoin(runs, ", "), ": ", bottleneck, "\n");
  }
  return text;
}

absl::StatusOr<std::string> AskPoolStatus(const StatusFlags& flags) {
  v1::ListExperimentsRequest filter;
  filter.set_fold_groups(true);
  PoolSnapshotClient client(flags.target.param_server);
  WAGGLE_ASSIGN_OR_RETURN(const PoolSnapshot snapshot, client.Fetch(ListFlags().limit, filter, kAnswerTimeout));
  if (!flags.json) {
    return absl::StrCat(PoolText(snapshot.pool), "\n", ExperimentsText(snapshot.experiments, absl::Now()),
                        BottlenecksText(snapshot));
  }
  Json json;
  json["software_version"] = snapshot.pool.software_version();
  json["pool"] = PoolJson(snapshot.pool);
  json["experiments"] = ExperimentsJson(snapshot.experiments);
  json["groups"] = GroupsJson(snapshot.experiments);
  for (Json& experiment : json["experiments"]) {
    if (const auto run = snapshot.runs.find(experiment["id"]); run != snapshot.runs.end()) {
      experiment["bottleneck"] = BottleneckJson(FindBottleneck(LoopOf(run->second)));
    }
  }
  return Dump(json);
}

// The name of the user that runs this process.
std::string UserName() {
  const passwd* const user = getpwuid(geteuid());
  return user != nullptr && user->pw_name != nullptr && *user->pw_name != '\0' ? user->pw_name
                                                                               : absl::StrCat("uid-", geteuid());
}

// Checks the file, with each combination of the swept values, and fills the experiments in.
absl::Status AddExperiments(const SubmitFlags& flags, v1::SubmitRequest* request) {
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<SweepValues> combinations, CombineAxes(flags.sweeps));
  for (const auto& [key, value] : flags.overrides) {
    if (!combinations.empty() && std::any_of(combinations.front().begin(), combinations.front().end(),
                                             [&key = key](const auto& swept) { return swept.first == key; })) {
      return absl::InvalidArgumentError(absl::StrCat(key, ": got ", value, " and a sweep; wanted one of the two"));
    }
  }
  for (const SweepValues& values : combinations.empty() ? std::vector<SweepValues>(1) : combinations) {
    SweepValues overrides = flags.overrides;
    overrides.insert(overrides.end(), values.begin(), values.end());
    WAGGLE_ASSIGN_OR_RETURN(const CheckedExperiment checked,
                            LoadCheckedExperiment(flags.file, overrides, ForeignEnvironments::kNotOpened));
    request->set_submitted_yaml(checked.text);
    const PopulationOptions& population = checked.experiment.experiment.population;
    if (combinations.empty()) {
      request->set_effective_yaml(ToYaml(checked.experiment));
    } else {
      v1::SubmitRequest::Member* const member = request->add_members();
      member->set_effective_yaml(ToYaml(checked.experiment));
      for (const auto& [key, value] : values) {
        member->add_settings(absl::StrCat(key, "=", value));
      }
      if (population.is_given()) {
        return absl::InvalidArgumentError(
            "experiment.population: got one and --sweep or --seeds; wanted one of the two");
      }
    }
    if (flags.watch && (!combinations.empty() || population.is_given())) {
      return absl::InvalidArgumentError(
          "--watch: got several experiments; wanted one, or `waggle watch` with the id of one");
    }
  }
  return absl::OkStatus();
}

// Writes the events after `request->after()`, and advances that.
absl::Status WriteEvents(const ExperimentClient& client, bool json, const StopToken& stop, v1::EventsRequest* request,
                         std::ostream* out) {
  v1::EventsResponse response;
  do {
    WAGGLE_ASSIGN_OR_RETURN(response, client.Ask(&Service::Events, *request, kAnswerTimeout, stop));
    for (const v1::ExperimentEvent& event : response.events()) {
      *out << (json ? EventJsonLine(event) : EventText(event));
      request->set_after(event.number());
    }
    out->flush();
    if (!out->good()) {
      return absl::DataLossError("the output cannot be written");
    }
  } while (!response.events().empty());
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Submitted> Submit(const SubmitFlags& flags, const StopToken& stop,
                                 const std::function<void(const std::string& line)>& tell) {
  v1::SubmitRequest request;
  if (const absl::Status added = AddExperiments(flags, &request); !added.ok()) {
    return absl::InvalidArgumentError(added.message());
  }
  request.set_priority(static_cast<int32_t>(flags.priority));
  request.set_request_id(NewRequestId());
  request.mutable_tags()->Add(flags.tags.begin(), flags.tags.end());
  request.set_owner(flags.owner.empty() ? UserName() : flags.owner);
  Submitted submitted;
  const ExperimentClient client(flags.param_server);
  WAGGLE_ASSIGN_OR_RETURN(
      const v1::SubmitResponse answer,
      client.Submit(request, request.members().empty() ? kSubmitPatience : kGroupPatience, stop, tell));
  submitted.id = answer.id();
  const std::string& named = answer.group().empty() ? answer.id() : answer.group();
  if (!answer.warnings().empty()) {
    submitted.standing = absl::StrCat(named, " cannot begin now: ", absl::StrJoin(answer.warnings(), "; "), "\n");
  } else if (!answer.group().empty()) {
    submitted.standing = absl::StrCat(named, ": ", answer.members_size(), " experiments are in the queue\n");
  } else if (const auto info = client.Get(submitted.id, kAnswerTimeout, stop); info.ok() && !info->reason().empty()) {
    submitted.standing = StandingText(*info);  // The experiment is in the queue even if this call fails.
  }
  Json json = {{"id", submitted.id}};
  if (!answer.group().empty()) {
    json["group"] = answer.group();
    json["members"] = std::vector<std::string>(answer.members().begin(), answer.members().end());
  }
  if (!answer.warnings().empty()) {
    json["warnings"] = std::vector<std::string>(answer.warnings().begin(), answer.warnings().end());
  }
  submitted.text = absl::StrCat(flags.json ? json.dump() : named, "\n");
  return submitted;
}

absl::StatusOr<std::string> AskList(const ListFlags& flags) {
  const ExperimentClient client(flags.param_server);
  v1::ListExperimentsRequest filter;
  if (flags.state.has_value()) {
    filter.add_states(ToProto(*flags.state));
  }
  if (!flags.group.empty()) {
    WAGGLE_ASSIGN_OR_RETURN(const v1::ResolveResponse found, client.Resolve(flags.group, kAnswerTimeout));
    if (found.group().empty()) {
      return absl::FailedPreconditionError(
          absl::StrCat("--group: got ", found.ids(0), ", which is a single experiment; wanted the id of a group"));
    }
    filter.set_group(found.group());
  }
  filter.mutable_tags()->Add(flags.tags.begin(), flags.tags.end());
  filter.set_owner(flags.owner);
  filter.set_name(flags.name);
  filter.set_fold_groups(!flags.flat && flags.group.empty());
  WAGGLE_ASSIGN_OR_RETURN(const v1::ListExperimentsResponse experiments,
                          client.List(flags.limit, filter, kAnswerTimeout));
  if (!flags.json) {
    return ExperimentsText(experiments, absl::Now());
  }
  Json json;
  json["experiments"] = ExperimentsJson(experiments);
  if (filter.fold_groups()) {
    json["groups"] = GroupsJson(experiments);
  }
  json["more"] = !experiments.next_page_token().empty();
  return Dump(json);
}

absl::StatusOr<std::string> AskStatus(const StatusFlags& flags) {
  if (flags.target.experiment_id.empty()) {
    return AskPoolStatus(flags);
  }
  WAGGLE_ASSIGN_OR_RETURN(
      const std::string id,
      ExperimentClient(flags.target.param_server).ResolveOne(flags.target.experiment_id, kAnswerTimeout));
  WAGGLE_ASSIGN_OR_RETURN(const ClusterSnapshot snapshot,
                          ClusterClient(flags.target.param_server, id).Fetch(kAnswerTimeout));
  return flags.json ? StatusJson(snapshot) : StatusText(snapshot, absl::Now());
}

absl::Status Logs(const LogsFlags& flags, const StopToken& stop, std::ostream* out, absl::Duration patience) {
  const ExperimentClient client(flags.param_server);
  HubPatience hub_patience(patience);
  WAGGLE_ASSIGN_OR_RETURN(const std::string id, client.ResolveOne(flags.id, kAnswerTimeout, stop));
  hub_patience.Answered();
  v1::EventsRequest request;
  request.set_id(id);
  do {
    // Fetched before the events, so that all events before the end are written.
    absl::StatusOr<v1::ExperimentInfo> info = client.Get(id, kAnswerTimeout, stop);
    absl::Status told = info.status();
    if (told.ok()) {
      hub_patience.Answered();
      told = WriteEvents(client, flags.json, stop, &request, out);
    }
    if (!told.ok() && !(flags.follow && hub_patience.Bears(told))) {
      return told;
    }
    if (told.ok() && (!flags.follow || IsOver(FromProto(info->state()).value_or(RunState::kNoExperiment)))) {
      return absl::OkStatus();
    }
  } while (!stop.WaitFor(kFollowPause));
  return absl::CancelledError("interrupted");
}

int ExperimentExitStatus(const absl::Status& status) {
  return status.ok()                          ? 0
         : absl::IsCancelled(status)          ? 130
         : absl::IsNotFound(status)           ? 2
         : absl::IsInvalidArgument(status)    ? 2
         : absl::IsFailedPrecondition(status) ? 2
         : absl::IsAlreadyExists(status)      ? 2
                                              : 1;
}

}  // namespace waggle
