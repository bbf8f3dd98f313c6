#include "cli/status/cluster_client.h"

#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/deadline.h"
#include "common/base/status_macros.h"
#include "common/base/steady_now.h"
#include "common/net/channel.h"
#include "common/net/unary_call.h"
#include "waggle/v1/worker.grpc.pb.h"

namespace waggle {
namespace {

// Not on the connections for bulk data, which may be full.
constexpr char kPurpose[] = "status";

// Fills in an overview for an experiment that has not begun.
void FillIn(const v1::ExperimentInfo& info, v1::OverviewResponse* overview) {
  overview->set_experiment_name(info.name());
  overview->set_experiment_yaml(info.effective_yaml());
  overview->set_env_steps(info.env_steps());
  overview->set_learner_steps(info.learner_steps());
  overview->set_running_ms(info.running_ms());
  overview->set_software_version(info.software_version());
  if (info.has_result()) {
    *overview->mutable_result() = info.result();
  }
}

}  // namespace

ClusterClient::ClusterClient(const std::string& param_server, std::string experiment_id)
    : experiment_id_(std::move(experiment_id)), experiments_(param_server), hub_(NewChannel(param_server, kPurpose)) {}

absl::StatusOr<ClusterSnapshot> ClusterClient::Fetch(absl::Duration timeout) {
  ClusterSnapshot snapshot;
  snapshot.requested_at = SteadyNow();
  const Deadline deadline(timeout);
  // Fetched first, so that the rest is at least as new as the state.
  WAGGLE_ASSIGN_OR_RETURN(snapshot.info, experiments_.Get(experiment_id_, timeout));
  v1::OverviewRequest request;
  request.set_experiment_id(experiment_id_);
  const auto stub = v1::WorkerService::NewStub(hub_);
  auto overview = CallUnary(stub.get(), &v1::WorkerService::Stub::Overview, request, deadline.Left());
  if (overview.ok()) {
    snapshot.overview = *std::move(overview);
  } else if (absl::IsNotFound(overview.status())) {
    FillIn(snapshot.info, &snapshot.overview);
  } else {
    return Annotate(overview.status(),
                    absl::StrCat("the parameter server at ", experiments_.param_server(), " does not answer"));
  }
  snapshot.overview.set_run_state(snapshot.info.state());
  snapshot.overview.set_outcome_reason(snapshot.info.reason());
  if (snapshot.info.state() == v1::RUN_STATE_QUEUED || snapshot.info.ended_at_us() != 0) {
    return snapshot;  // The experiment has no tables yet, or no longer.
  }
  std::set<std::string> addresses;
  for (const v1::WorkerInfo& worker : snapshot.overview.workers()) {
    if (worker.role() == v1::ROLE_REPLAY_SERVER && worker.alive() && !worker.address().empty()) {
      addresses.insert(worker.address());
    }
  }
  snapshot.replay_servers = replay_.Describe({addresses.begin(), addresses.end()}, deadline.Left(), experiment_id_);
  return snapshot;
}

}  // namespace waggle
