#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/host_port.h"
#include "common/base/log.h"
#include "common/base/machine_memory.h"
#include "common/base/status_macros.h"
#include "common/base/stopwatch.h"
#include "common/clients/hub_client.h"
#include "common/metrics/metrics.h"
#include "common/process/allocator.h"
#include "common/process/flags.h"
#include "common/process/process.h"
#include "replay_server/memory_budgets.h"
#include "replay_server/replay_server.h"

namespace waggle {
namespace {

constexpr absl::Duration kGaugeInterval = absl::Seconds(1);
// What is freed is kept for what comes next, but not all that many threads have ever had: batches that are read from
// the disk take megabytes each.
constexpr absl::Duration kReturnInterval = absl::Seconds(10);
constexpr int64_t kMostKeptBytes = int64_t{64} << 20;
constexpr absl::Duration kGrace = absl::Seconds(1);

struct Flags {
  std::string listen = "127.0.0.1:0";
  std::string advertise;
  std::string param_server;
  std::string data_dir;
  double checkpoint_seconds = 300;
  int64_t memory_bytes = DefaultTableBytes(MachineMemoryBytes());
  SavedPolicy if_saved_differs = SavedPolicy::kRefuse;
  int64_t index = 0;
  LogLevel log_level = LogLevel::kInfo;
};

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

absl::Status RunReplayServer(const Flags& flags, const StopToken& stop) {
  Metrics metrics;
  ReplayServerOptions options;
  options.listen = flags.listen;
  options.data_dir = flags.data_dir;
  options.checkpoint_period =
      flags.checkpoint_seconds == 0 ? absl::InfiniteDuration() : absl::Seconds(flags.checkpoint_seconds);
  options.store.saved = flags.if_saved_differs;
  SetMemoryBudgets(flags.memory_bytes, &options);
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
  const absl::Status served = Serve(server.get(), hub.get(), stop);
  LogInfo("stopping");
  server->Shutdown(kGrace);
  if (hub != nullptr) {
    hub->Leave(absl::Seconds(2));
  }
  return served;
}

}  // namespace
}  // namespace waggle

int main(int argc, char** argv) {
  waggle::Flags flags;
  CLI::App app("Waggle's replay server: holds the tables that actors write to and learners sample from.");
  waggle::AddCommonFlags(&app, &flags.log_level);
  waggle::AddListenFlag(&app, &flags.listen);
  app.add_option("--advertise", flags.advertise, "Where others find this server; by default the address listened on")
      ->check([](const std::string& address) { return std::string(waggle::ValidateReachable(address).message()); })
      ->type_name("HOST:PORT");
  waggle::AddParamServerFlag(&app, &flags.param_server);
  app.get_option("--param-server")->required(false);  // Without one it serves whoever knows its address.
  app.add_option("--data-dir", flags.data_dir,
                 "Folder that tables are kept in whose durability is checkpoint or log, and rows past a memory_limit; "
                 "without one there can be none")
      ->type_name("DIR");
  app.add_option("--checkpoint-seconds", flags.checkpoint_seconds,
                 "Time between two checkpoints; 0: only when asked for, and at the end")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option(
         "--memory-bytes", flags.memory_bytes,
         "Memory for the rows of all tables: past it those lose items that take more, and a table that could "
         "never be full in it is refused. Beside it, a sixteenth of it, and at most 1 GiB, is each for blocks "
         "that come in, for batches that go out and for rows lent to these; a sixteenth, at least 64 MiB and at most "
         "16 GiB, is for writers' newest rows, and a 32nd, at most 512 MiB, for writers that are away. By "
         "default what these leave of four fifths of the machine's, or of the least that its control groups "
         "allow")
      ->check(CLI::PositiveNumber)
      ->type_name("BYTES");
  app.add_option("--if-saved-differs", flags.if_saved_differs,
                 "What becomes of a restored table where one that differs is created: refuse to, keep the restored "
                 "one, or replace it")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, waggle::SavedPolicy>{{"refuse", waggle::SavedPolicy::kRefuse},
                                                     {"keep", waggle::SavedPolicy::kKeep},
                                                     {"replace", waggle::SavedPolicy::kReplace}}))
      ->default_str("refuse");
  app.add_option("--index", flags.index,
                 "Which of the run's replay servers this is, from 0 to one less than the experiment's replay.servers. "
                 "One that is started again with its index takes the dead one's place; a second one is refused while "
                 "the first lives")
      ->check(CLI::Range(0, 1023))
      ->type_name("N");
  if (const std::optional<int> exit_status = waggle::ParseCommandLine(&app, argc, argv); exit_status.has_value()) {
    return *exit_status;
  }
  return waggle::RunProcess("replay-server", flags.log_level,
                            [&flags](const waggle::StopToken& stop) { return waggle::RunReplayServer(flags, stop); });
}
