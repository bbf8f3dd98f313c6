#include "cli/experiments/experiment_verbs.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "cli/check/checked_experiment.h"
#include "cli/experiments/experiment_client.h"
#include "cli/experiments/experiment_report.h"
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
// A change may take the hub a while: it ends a run, or deletes files on its disk.
constexpr absl::Duration kChangeTimeout = absl::Seconds(30);

std::string Dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

// A line for each run: "pole-x7k2q: learner: the learner works …".
std::string BottlenecksText(const PoolSnapshot& snapshot) {
  std::string text;
  for (const auto& [id, run] : snapshot.runs) {
    absl::StrAppend(&text, text.empty() ? "\n" : "", "  ", Printable(id), ": ",
                    BottleneckText(FindBottleneck(LoopOf(run))), "\n");
  }
  return text;
}

absl::StatusOr<std::string> AskPoolStatus(const StatusFlags& flags) {
  WAGGLE_ASSIGN_OR_RETURN(const PoolSnapshot snapshot,
                          PoolSnapshotClient(flags.target.param_server).Fetch(ListFlags().limit, kAnswerTimeout));
  if (!flags.json) {
    return absl::StrCat(PoolText(snapshot.pool), "\n", ExperimentsText(snapshot.experiments, absl::Now()),
                        BottlenecksText(snapshot));
  }
  Json json;
  json["software_version"] = snapshot.pool.software_version();
  json["pool"] = PoolJson(snapshot.pool);
  json["experiments"] = ExperimentsJson(snapshot.experiments);
  for (Json& experiment : json["experiments"]) {
    if (const auto run = snapshot.runs.find(experiment["id"]); run != snapshot.runs.end()) {
      experiment["bottleneck"] = BottleneckJson(FindBottleneck(LoopOf(run->second)));
    }
  }
  return Dump(json);
}

std::string ChangedText(const ChangeFlags& flags, const v1::ExperimentInfo& info) {
  return flags.json ? Dump(ExperimentJson(info)) : StandingText(info);
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
  const absl::StatusOr<CheckedExperiment> checked =
      LoadCheckedExperiment(flags.file, flags.overrides, ForeignEnvironments::kNotOpened);
  if (!checked.ok()) {
    return absl::InvalidArgumentError(checked.status().message());
  }
  if (const int64_t members = checked->experiment.experiment.population.size; flags.watch && members > 0) {
    return absl::InvalidArgumentError(absl::StrCat("--watch: got a population of ", members,
                                                   " experiments; wanted one, or `waggle watch` with the id of one"));
  }
  v1::SubmitRequest request;
  request.set_submitted_yaml(checked->text);
  request.set_effective_yaml(ToYaml(checked->experiment));
  request.set_priority(static_cast<int32_t>(flags.priority));
  request.set_request_id(NewRequestId());
  Submitted submitted;
  const ExperimentClient client(flags.param_server);
  WAGGLE_ASSIGN_OR_RETURN(const v1::SubmitResponse answer, client.Submit(request, kSubmitPatience, stop, tell));
  submitted.id = answer.id();
  // The experiment is in the queue even if this call fails.
  if (const auto info = client.Get(submitted.id, kAnswerTimeout, stop); info.ok() && !info->reason().empty()) {
    submitted.standing = StandingText(*info);
  }
  Json json = {{"id", submitted.id}};
  if (!answer.members().empty()) {
    json["members"] = std::vector<std::string>(answer.members().begin(), answer.members().end());
  }
  const std::string ids = answer.members().empty() ? submitted.id : absl::StrJoin(answer.members(), "\n");
  submitted.text = absl::StrCat(flags.json ? json.dump() : ids, "\n");
  return submitted;
}

absl::StatusOr<std::string> AskList(const ListFlags& flags) {
  std::vector<v1::RunState> states;
  if (flags.state.has_value()) {
    states.push_back(ToProto(*flags.state));
  }
  WAGGLE_ASSIGN_OR_RETURN(const v1::ListExperimentsResponse experiments,
                          ExperimentClient(flags.param_server).List(flags.limit, states, kAnswerTimeout));
  if (!flags.json) {
    return ExperimentsText(experiments, absl::Now());
  }
  Json json;
  json["experiments"] = ExperimentsJson(experiments);
  json["more"] = !experiments.next_page_token().empty();
  return Dump(json);
}

absl::StatusOr<std::string> AskStatus(const StatusFlags& flags) {
  if (flags.target.experiment_id.empty()) {
    return AskPoolStatus(flags);
  }
  WAGGLE_ASSIGN_OR_RETURN(const ClusterSnapshot snapshot,
                          ClusterClient(flags.target.param_server, flags.target.experiment_id).Fetch(kAnswerTimeout));
  return flags.json ? StatusJson(snapshot) : StatusText(snapshot, absl::Now());
}

const char* ChangeName(ChangeFlags::Change change) {
  return change == ChangeFlags::Change::kStop ? "stop" : change == ChangeFlags::Change::kResume ? "resume" : "delete";
}

absl::StatusOr<std::string> Change(const ChangeFlags& flags) {
  const ExperimentClient client(flags.param_server);
  if (flags.change == ChangeFlags::Change::kStop) {
    v1::StopExperimentRequest request;
    request.set_id(flags.id);
    WAGGLE_ASSIGN_OR_RETURN(const v1::ExperimentInfo info, client.Ask(&Service::Stop, request, kChangeTimeout));
    return ChangedText(flags, info);
  }
  if (flags.change == ChangeFlags::Change::kResume) {
    v1::ResumeExperimentRequest request;
    request.set_id(flags.id);
    WAGGLE_ASSIGN_OR_RETURN(const v1::ExperimentInfo info, client.Ask(&Service::Resume, request, kChangeTimeout));
    return ChangedText(flags, info);
  }
  v1::DeleteExperimentRequest request;
  request.set_id(flags.id);
  WAGGLE_RETURN_IF_ERROR(client.Ask(&Service::Delete, request, kChangeTimeout).status());
  return flags.json ? Dump(Json{{"id", flags.id}, {"outcome", "deleted"}}) : absl::StrCat(flags.id, ": deleted\n");
}

absl::StatusOr<std::string> SetNumbers(const SetFlags& flags) {
  v1::SetNumbersRequest request;
  request.set_id(flags.id);
  request.set_dry_run(flags.dry_run);
  for (const auto& [key, value] : flags.numbers) {
    v1::SetNumbersRequest::Number* const number = request.add_numbers();
    number->set_key(key);
    number->set_value(value);
  }
  const ExperimentClient client(flags.param_server);
  WAGGLE_ASSIGN_OR_RETURN(const v1::SetNumbersResponse done, client.Ask(&Service::Set, request, kChangeTimeout));
  return flags.json ? Dump(ChangesJson(done, flags.dry_run)) : ChangesText(done, flags.dry_run);
}

absl::Status Logs(const LogsFlags& flags, const StopToken& stop, std::ostream* out, absl::Duration patience) {
  const ExperimentClient client(flags.param_server);
  HubPatience hub_patience(patience);
  v1::EventsRequest request;
  request.set_id(flags.id);
  do {
    // Fetched before the events, so that all events before the end are written.
    absl::StatusOr<v1::ExperimentInfo> info = client.Get(flags.id, kAnswerTimeout, stop);
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
