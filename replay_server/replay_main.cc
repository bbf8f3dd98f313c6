#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/api/turn_taker.h"
#include "common/base/host_port.h"
#include "common/base/log.h"
#include "common/base/machine_memory.h"
#include "common/base/status_macros.h"
#include "common/base/stopwatch.h"
#include "common/base/thread.h"
#include "common/hub_client/hub_client.h"
#include "common/metrics/metrics.h"
#include "common/process/allocator.h"
#include "common/process/flags.h"
#include "common/process/process.h"
#include "replay_server/replay_flags.h"
#include "replay_server/service/replay_server.h"

namespace waggle {
namespace {

constexpr absl::Duration kGaugeInterval = absl::Seconds(1);
// What is freed is kept for what comes next, but not all that many threads have ever had: batches that are read from
// the disk take megabytes each.
constexpr absl::Duration kReturnInterval = absl::Seconds(10);
constexpr int64_t kMostKeptBytes = int64_t{64} << 20;
constexpr absl::Duration kGrace = absl::Seconds(1);

// Serves until `stop`, with the gauges kept up to date: longer than a run lasts, for its learner still has priorities
// to send when it is over. A hub that refuses this server ends it.
absl::Status Serve(ReplayServer* server, HubLink* hub, const StopToken& stop) {
  Stopwatch since_return;
  do {
    server->UpdateGauges();
    if (since_return.Elapsed() >= kReturnInterval) {
      ReturnFreedMemory(kMostKeptBytes);
      since_return = Stopwatch();
    }
    if (hub != nullptr && hub->run_over().StopRequested()) {
      // Returns at once: CANCELLED where the run is over, the refusal otherwise.
      const absl::Status ended = hub->WaitUntil([](const Assignment& /*assignment*/) { return false; }, stop).status();
      if (!absl::IsCancelled(ended)) {
        return ended;
      }
    }
  } while (!stop.WaitFor(kGaugeInterval));
  return absl::OkStatus();
}

// In lock-step: brings the figures up to date in each turn, until `stop`. A run that has failed may go on.
void TakeTurns(ReplayServer* server, HubLink* hub, const StopToken& stop) {
  TurnTaker turns(hub, Role::kReplayServer);
  do {
    while (turns.Await(stop).ok()) {
      server->UpdateGauges();
      turns.End();
    }
  } while (!stop.WaitFor(kGaugeInterval));
}

absl::Status RunReplayServer(const ReplayFlags& flags, const StopToken& stop) {
  Metrics metrics;
  const ReplayServerOptions options = flags.ServerOptions();
  if (const std::string warning = MemoryWarning(options, MachineMemoryBytes()); !warning.empty()) {
    LogWarning(warning);
  }
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<ReplayServer> server, ReplayServer::Start(options, &metrics));
  const std::string address = flags.advertise.empty() ? server->address() : flags.advertise;
  LogInfo("serving replay on ", server->address());
  std::unique_ptr<HubLink> hub;
  if (!flags.param_server.empty()) {
    // Everybody would connect to itself.
    if (const absl::Status reachable = ValidateReachable(address); !reachable.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--listen ", flags.listen, " needs --advertise: ", reachable.message()));
    }
    HubClientOptions hub_options;
    hub_options.hub_address = flags.param_server;
    hub_options.role = Role::kReplayServer;
    hub_options.address = address;
    // Never one that happens to be free: which part of the buffer this server holds follows from it, also for those
    // that come back with what they held.
    hub_options.index = flags.index;
    hub_options.metrics = &metrics;
    WAGGLE_ASSIGN_OR_RETURN(hub, JoinHub(hub_options, stop));
    LogInfo("joined the hub at ", flags.param_server, " as replay server ", flags.index, " at ", address);
  } else {
    LogInfo("serves alone: without --param-server nobody is told of ", address);
  }
  std::optional<Thread> turns;
  if (hub != nullptr && hub->assignment().turn.has_value()) {
    turns.emplace("turns", [&server, &hub, stop] { TakeTurns(server.get(), hub.get(), stop); });
  }
  const absl::Status served = Serve(server.get(), hub.get(), stop);
  LogInfo("stopping");
  turns.reset();  // Whose waits have ended too.
  server->Shutdown(kGrace);
  if (hub != nullptr) {
    hub->Leave(absl::Seconds(2));
  }
  return served;
}

}  // namespace
}  // namespace waggle

int main(int argc, char** argv) {
  waggle::ReplayFlags flags;
  const std::shared_ptr<CLI::App> app =
      waggle::NewCommandLine("Waggle's replay server: holds the tables that actors write to and learners sample from.",
                             "waggle-replay-server");
  waggle::AddReplayFlags(app.get(), waggle::MachineMemoryBytes(), &flags);
  if (const std::optional<int> exit_status = waggle::ParseCommandLine(app.get(), argc, argv); exit_status.has_value()) {
    return *exit_status;
  }
  return waggle::RunProcess("replay-server", flags.log_level,
                            [&flags](const waggle::StopToken& stop) { return waggle::RunReplayServer(flags, stop); });
}
