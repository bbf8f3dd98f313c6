#include "replay_server/replay_work.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/file.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/base/tensor/array_spec.h"
#include "common/base/threads/thread.h"
#include "common/config/table/table_name.h"
#include "common/hub/pool_client.h"
#include "common/hub/ports/turn_taker.h"
#include "replay_server/service/experiment_figures.h"

namespace waggle {
namespace {

constexpr absl::Duration kLookInterval = absl::Seconds(1);
constexpr absl::Duration kLeaveTimeout = absl::Seconds(2);

// Ends the turns of a lock-step run until `stop`; the figures of a turn are sent with its end. Goes on after an error,
// because a failed run may go on.
void TakeTurns(HubLink* hub, const StopToken& stop) {
  // Its tables begin anew with each cut by themselves.
  TurnTaker turns(hub, Role::kReplayServer, /*since_cut=*/std::numeric_limits<uint64_t>::max());
  do {
    while (turns.Await(stop).ok()) {
      turns.End();
    }
  } while (!stop.WaitFor(kLookInterval));
}

}  // namespace

absl::Status ReplayWork::Do(const WorkOrder& order, const std::string& run_worker_id, const StopToken& stop) {
  Metrics metrics;
  ExperimentFigures figures(server_->store(), order.experiment_id, &metrics);
  // Updates the figures for each heartbeat: older figures would make its rates jump.
  const auto refresh = metrics.BeforeSnapshot([&figures] { figures.Update(); });
  HubClientOptions options = HubOptionsOf(hub_address_, order, run_worker_id);
  options.metrics = &metrics;
  // Others learn the address once the tables are those of the run.
  WAGGLE_ASSIGN_OR_RETURN(std::unique_ptr<HubLink> hub, JoinHub(options, stop));
  if (const std::optional<Restoration> restoration = hub->assignment().restoration; restoration.has_value()) {
    const absl::StatusOr<std::string> token =
        server_->folder() == nullptr ? std::string() : server_->folder()->ReturnToken(order.experiment_id);
    if (!token.ok() || *token != restoration->token) {
      // A start would lose what the disk does not take now.
      while (!server_->storage_status().ok()) {
        if (stop.WaitFor(kLookInterval)) {
          hub->Leave(kLeaveTimeout);
          return absl::OkStatus();
        }
      }
      const absl::Status begun = token.ok() ? BeginReturn(order.experiment_id, *restoration) : token.status();
      if (!begun.ok()) {
        hub->ReportFailure(begun);
      }
      hub->Leave(kLeaveTimeout);
      return begun;
    }
  }
  options.address = address_;
  hub.reset();
  WAGGLE_ASSIGN_OR_RETURN(hub, JoinHub(options, stop));
  const StopToken ended;
  std::optional<Thread> turns;
  if (hub->assignment().turn.has_value()) {
    turns.emplace("turns", [&] { TakeTurns(hub.get(), ended); });
  }
  absl::Status refusal;
  do {
    // A hub forgets the workers of a run that it is through with. Its refusal ends this loop.
    if (hub->run_over().StopRequested() && !IsOver(hub->assignment().run_state)) {
      refusal = hub->WaitUntil([](const Assignment&) { return true; }, stop).status();
    }
  } while ((refusal.ok() || absl::IsCancelled(refusal)) && !stop.WaitFor(kLookInterval));
  ended.RequestStop();
  turns.reset();
  hub->Leave(kLeaveTimeout);
  return stop.StopRequested() ? absl::OkStatus() : refusal;
}

absl::Status ReplayWork::BeginReturn(const std::string& experiment_id, const Restoration& restoration) {
  if (server_->folder() == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("cut ", restoration.cut, ": this replay server has no folder with it (--data-dir)"));
  }
  const CutReturn cut{experiment_id, restoration.cut, restoration.token};
  for (const FailedReturn& failed : failed_) {
    if (failed.cut.experiment == cut.experiment && failed.cut.token == cut.token) {
      return failed.status;
    }
  }
  WAGGLE_RETURN_IF_ERROR(server_->folder()->FindCut(cut));
  for (const std::shared_ptr<Table>& table : server_->store()->tables()) {
    const TableConfig& config = table->created();
    if (config.durability == Durability::kNone && ExperimentOfTable(config.name) != experiment_id) {
      return absl::FailedPreconditionError(
          absl::StrCat("cut ", restoration.cut, ": this replay server cannot go back to it, as it has to start again, ",
                       "and table ", config.name, " has durability none"));
    }
  }
  {
    MutexLock lock(&mutex_);
    returns_.push_back(cut);
  }
  leave_.RequestStop();
  LogInfo("starts again with the tables of cut ", restoration.cut, " of experiment ", experiment_id);
  return absl::OkStatus();
}

std::vector<CutReturn> ReplayWork::returns() const {
  MutexLock lock(&mutex_);
  return returns_;
}

void ReplayWork::Discard(const std::string& experiment_id) {
  const int64_t tables = server_->store()->DropExperiment(experiment_id);
  LogInfo("dropped the ", tables, " tables of experiment ", experiment_id,
          ": the experiment is over, or another server has this one's place");
}

absl::StatusOr<std::string> StorageId(const std::string& data_dir) {
  constexpr size_t kMostBytes = 1000;
  const std::string path = data_dir + "/storage_id";
  const absl::StatusOr<std::string> known = ReadSmallFile(path, kMostBytes);
  if (known.ok()) {
    std::string id(absl::StripTrailingAsciiWhitespace(*known));
    if (!ValidateName(id).ok()) {
      return absl::DataLossError(absl::StrCat(path,
                                              " does not hold the name of this folder; remove the file, and the folder "
                                              "gets a new name"));
    }
    return id;
  }
  if (!absl::IsNotFound(known.status())) {
    return known.status();
  }
  std::random_device random;
  const uint64_t high = (uint64_t{random()} << 32) | random();
  const uint64_t low = (uint64_t{random()} << 32) | random();
  const std::string id = absl::StrCat("replay-", absl::Hex(high, absl::kZeroPad16), absl::Hex(low, absl::kZeroPad16));
  WAGGLE_RETURN_IF_ERROR(WriteFileAtomically(path, id + "\n"));
  return id;
}

}  // namespace waggle
