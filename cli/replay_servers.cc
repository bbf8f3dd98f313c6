#include "cli/replay_servers.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/status_macros.h"
#include "common/experiment/experiment.h"
#include "common/rl/algorithms/builtin.h"
#include "waggle/v1/worker.grpc.pb.h"

namespace waggle {
namespace {

constexpr char kPurpose[] = "questions";

// Addresses in the order of the servers' indices, or as they were named, each once.
struct Found {
  std::vector<std::string> addresses;
  absl::Status complete;
};

void AddOnce(const std::string& address, std::vector<std::string>* addresses) {
  if (std::find(addresses->begin(), addresses->end(), address) == addresses->end()) {
    addresses->push_back(address);
  }
}

// Whether there is one living server for each index. One that is gone stays in the overview for a while; the
// experiment says how many there are to be.
absl::Status CheckIndices(const v1::OverviewResponse& overview, const std::string& hub) {
  std::map<uint32_t, int> alive;  // By index.
  for (const v1::WorkerInfo& worker : overview.workers()) {
    if (worker.role() == v1::ROLE_REPLAY_SERVER) {
      alive[worker.index()] += worker.alive() && !worker.address().empty() ? 1 : 0;
    }
  }
  uint32_t servers = alive.empty() ? 0 : alive.rbegin()->first + 1;
  if (const auto experiment = ParseExperiment(overview.experiment_yaml(), hub, {}, BuiltinAlgorithmDefinitions());
      experiment.ok()) {
    servers = std::max(servers, static_cast<uint32_t>(experiment->replay.servers));
  }
  for (uint32_t index = 0; index < servers; ++index) {
    if (const int there = alive[index]; there != 1) {
      return absl::UnavailableError(
          absl::StrCat("of the run's ", servers, " replay servers, ", there == 0 ? "none" : absl::StrCat(there),
                       " with index ", index, there > 1 ? " are" : " is",
                       " alive: an item's place depends on their order, so all have to be there, "
                       "or name all of them with --replay-server in the order of their indices"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Found> AddressesOf(const ReplayTarget& target, absl::Duration timeout) {
  Found found;
  for (const std::string& address : target.replay_servers) {
    AddOnce(address, &found.addresses);
  }
  if (!found.addresses.empty()) {
    return found;
  }
  v1::OverviewResponse overview;
  const auto hub = v1::WorkerService::NewStub(NewChannel(target.param_server, kPurpose));
  const absl::Status status = CallUnary(timeout, StopToken(), [&](grpc::ClientContext* context) {
    return hub->Overview(context, v1::OverviewRequest(), &overview);
  });
  if (absl::IsUnimplemented(status)) {
    return TellOtherKind(status, target.param_server, ServerKind::kParamServer);
  }
  WAGGLE_RETURN_IF_ERROR(
      Annotate(status, absl::StrCat("the parameter server at ", target.param_server, " does not answer")));
  std::vector<const v1::WorkerInfo*> workers;
  for (const v1::WorkerInfo& worker : overview.workers()) {
    if (worker.role() == v1::ROLE_REPLAY_SERVER && worker.alive() && !worker.address().empty()) {
      workers.push_back(&worker);
    }
  }
  std::stable_sort(workers.begin(), workers.end(),
                   [](const auto* left, const auto* right) { return left->index() < right->index(); });
  for (const v1::WorkerInfo* worker : workers) {
    AddOnce(worker->address(), &found.addresses);
  }
  if (found.addresses.empty()) {
    return absl::NotFoundError(
        absl::StrCat("the parameter server at ", target.param_server, " knows no replay server that is alive"));
  }
  found.complete = CheckIndices(overview, target.param_server);
  return found;
}

}  // namespace

absl::StatusOr<ReplayServers> ReplayServers::Find(const ReplayTarget& target, absl::Duration timeout) {
  WAGGLE_ASSIGN_OR_RETURN(const Found found, AddressesOf(target, timeout));
  ReplayServers servers;
  servers.complete_ = found.complete;
  for (const std::string& address : found.addresses) {
    servers.servers_.push_back({address, v1::ReplayService::NewStub(NewChannel(address, kPurpose))});
  }
  return servers;
}

}  // namespace waggle
