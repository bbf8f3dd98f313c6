#include "cli/replay/replay_servers.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/experiments/experiment_client.h"
#include "cli/human_text.h"
#include "cli/status/run_facts.h"
#include "common/base/annotate.h"
#include "common/base/status_macros.h"
#include "common/config/experiment/experiment.h"
#include "common/hub/hub_convert.h"
#include "common/hub/summary/bottleneck.h"
#include "common/rl/algorithms/definitions.h"
#include "waggle/v1/worker.grpc.pb.h"

namespace waggle {
namespace {

constexpr char kQuestionPurpose[] = "questions";

// Addresses in the order of the servers' indices, or in the order of the flags; each once.
struct Found {
  std::string experiment_id;
  std::vector<std::string> addresses;
  absl::Status complete;
  std::vector<MissingReplayServer> missing;
  std::vector<SilentWorker> silent;
};

void AddOnce(const std::string& address, std::vector<std::string>* addresses) {
  if (std::find(addresses->begin(), addresses->end(), address) == addresses->end()) {
    addresses->push_back(address);
  }
}

bool IsThere(const v1::WorkerInfo& worker) {
  return worker.alive() && !worker.address().empty();
}

// A run's replay servers by its overview.
struct Census {
  std::vector<int> alive;  // By index.
  std::vector<MissingReplayServer> missing;
};

// Counts the servers by index; `wanted` is the run's number of them. A server that is gone stays in the overview for a
// while.
Census CountServers(const v1::OverviewResponse& overview, int64_t wanted) {
  std::map<uint32_t, int> alive;
  std::map<uint32_t, const v1::WorkerInfo*> last;  // The worker heard of last, by index.
  for (const v1::WorkerInfo& worker : overview.workers()) {
    if (worker.role() == v1::ROLE_REPLAY_SERVER) {
      alive[worker.index()] += IsThere(worker) ? 1 : 0;
      const v1::WorkerInfo*& known = last[worker.index()];
      known = known == nullptr || worker.silent_ms() < known->silent_ms() ? &worker : known;
    }
  }
  uint32_t servers = alive.empty() ? 0 : alive.rbegin()->first + 1;
  servers = std::max(servers, static_cast<uint32_t>(wanted));
  Census census;
  for (uint32_t index = 0; index < servers; ++index) {
    census.alive.push_back(alive[index]);
    if (alive[index] > 0) {
      continue;
    }
    MissingReplayServer missing;
    missing.index = index;
    if (const v1::WorkerInfo* const known = last[index]; known != nullptr) {
      missing.address = known->address();
      missing.silent = absl::Milliseconds(known->silent_ms());
      missing.failure = known->failure();
    }
    census.missing.push_back(std::move(missing));
  }
  return census;
}

// OK if each index has exactly one living server.
absl::Status CheckIndices(const std::vector<int>& alive, const std::string& experiment_id) {
  const size_t servers = alive.size();
  for (size_t index = 0; index < servers; ++index) {
    if (const int there = alive[index]; there != 1) {
      return absl::UnavailableError(
          absl::StrCat("of the run's ", servers, " replay servers, ", there == 0 ? "none" : absl::StrCat(there),
                       " with index ", index, there > 1 ? " are" : " is",
                       " alive: an item's place depends on their order, so all must be there, "
                       "or name all of them with --experiment ",
                       experiment_id, " and --replay-server, in the order of their indices"));
    }
  }
  return absl::OkStatus();
}

// The target's experiment. It must be running, so that its servers have its tables.
absl::StatusOr<v1::ExperimentInfo> ExperimentOf(const ReplayTarget& target, absl::Duration timeout) {
  const ExperimentClient client(target.param_server);
  if (target.experiment_id.empty()) {
    return client.TheRunningOne(timeout);
  }
  const absl::StatusOr<std::string> id = client.ResolveOne(target.experiment_id, timeout);
  absl::StatusOr<v1::ExperimentInfo> info = id.ok() ? client.Get(*id, timeout) : id.status();
  if (absl::IsNotFound(info.status())) {
    return absl::FailedPreconditionError(info.status().message());
  }
  WAGGLE_RETURN_IF_ERROR(info.status());
  const RunState state = FromProto(info->state()).value_or(RunState::kNoExperiment);
  if (IsOver(state)) {
    return absl::FailedPreconditionError(
        absl::StrCat("experiment ", info->id(), " is over (", RunStateName(state), "): its tables are gone"));
  }
  if (state == RunState::kQueued) {
    return absl::NotFoundError(absl::StrCat("experiment ", info->id(), " is queued, and has no tables yet"));
  }
  return info;
}

absl::StatusOr<Found> AddressesOf(const ReplayTarget& target, absl::Duration timeout) {
  Found found;
  for (const std::string& address : target.replay_servers) {
    AddOnce(address, &found.addresses);
  }
  if (!found.addresses.empty()) {
    found.experiment_id = target.experiment_id;
    return found;
  }
  WAGGLE_ASSIGN_OR_RETURN(const v1::ExperimentInfo experiment, ExperimentOf(target, timeout));
  found.experiment_id = experiment.id();
  v1::OverviewRequest request;
  request.set_experiment_id(experiment.id());
  const auto hub = v1::WorkerService::NewStub(NewChannel(target.param_server, kQuestionPurpose));
  const auto answer = CallUnary(hub.get(), &v1::WorkerService::Stub::Overview, request, timeout);
  WAGGLE_RETURN_IF_ERROR(
      Annotate(answer.status(), absl::StrCat("the parameter server at ", target.param_server, " does not answer")));
  const v1::OverviewResponse& overview = *answer;
  const auto parsed =
      ParseStoredExperiment(overview.experiment_yaml(), target.param_server, {}, BuiltinAlgorithmDefinitions());
  if (parsed.ok() && parsed->learner.actors_push()) {
    return absl::FailedPreconditionError(
        absl::StrCat("experiment ", experiment.id(), " has no replay servers: its actors push gradients"));
  }
  std::vector<const v1::WorkerInfo*> workers;
  for (const v1::WorkerInfo& worker : overview.workers()) {
    if (worker.role() == v1::ROLE_REPLAY_SERVER && IsThere(worker)) {
      workers.push_back(&worker);
    }
    if (!worker.gone() && worker.silent_ms() >= kSilentWorkerMs) {
      found.silent.push_back({worker, absl::Milliseconds(worker.silent_ms())});
    }
  }
  std::stable_sort(workers.begin(), workers.end(),
                   [](const auto* left, const auto* right) { return left->index() < right->index(); });
  for (const v1::WorkerInfo* worker : workers) {
    AddOnce(worker->address(), &found.addresses);
  }
  Census census = CountServers(overview, parsed.ok() ? parsed->replay.servers : 0);
  if (found.addresses.empty()) {
    std::vector<std::string> missing;
    for (const MissingReplayServer& server : census.missing) {
      missing.push_back(MissingText(server));
    }
    return absl::NotFoundError(absl::StrCat("the parameter server at ", target.param_server,
                                            " knows no replay server of ", experiment.id(), " that is alive",
                                            missing.empty() ? "" : "; ", absl::StrJoin(missing, "; ")));
  }
  found.complete = CheckIndices(census.alive, experiment.id());
  found.missing = std::move(census.missing);
  return found;
}

}  // namespace

std::string MissingText(const MissingReplayServer& server) {
  std::string text = absl::StrCat("replay server ", server.index);
  if (!server.address.empty()) {
    absl::StrAppend(&text, ", last at ", server.address, ",");
  }
  absl::StrAppend(&text, " is missing: ");
  if (!server.silent.has_value()) {
    return absl::StrCat(
        text, "the parameter server does not know it: it has not joined the run yet, or has been gone for long");
  }
  absl::StrAppend(&text, "the parameter server heard of it last ", ShortDuration(*server.silent),
                  " ago, and counts it as gone");
  return server.failure.empty() ? text : absl::StrCat(text, "; it gave up: ", Printable(server.failure));
}

absl::StatusOr<ReplayServers> ReplayServers::Find(const ReplayTarget& target, absl::Duration timeout) {
  WAGGLE_ASSIGN_OR_RETURN(const Found found, AddressesOf(target, timeout));
  ReplayServers servers;
  servers.experiment_id_ = found.experiment_id;
  servers.complete_ = found.complete;
  servers.missing_ = found.missing;
  servers.silent_ = found.silent;
  servers.of_run_ = target.replay_servers.empty();
  for (const std::string& address : found.addresses) {
    servers.servers_.push_back({address, v1::ReplayService::NewStub(NewChannel(address, kQuestionPurpose))});
  }
  return servers;
}

}  // namespace waggle
