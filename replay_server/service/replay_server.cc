#include "replay_server/service/replay_server.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/status_macros.h"
#include "common/base/steady_now.h"
#include "replay_server/service/experiment_figures.h"

namespace waggle {
namespace {

// Every stream has at most one task for its blocks and one for each batch in flight.
constexpr size_t kMaxQueuedTasks = 65536;

// These threads mostly wait for the disk, which is fastest with several requests at a time.
constexpr int kDiskThreads = 8;

int ExecutorThreads() {
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 2, 16);
}

ReplayServiceOptions Counting(ReplayServiceOptions options, Metrics* metrics) {
  options.insert.on_inserted = [metrics](uint64_t items) {
    metrics->Add("items_inserted", static_cast<double>(items));
  };
  options.sample.on_sampled = [metrics](uint64_t items) { metrics->Add("items_sampled", static_cast<double>(items)); };
  options.refusals.on_refused = [metrics](absl::string_view reason) {
    metrics->Add(absl::StrCat("refused_", reason), 1);
  };
  return options;
}

}  // namespace

ReplayServer::ReplayServer(ReplayServerOptions options, Metrics* metrics, std::unique_ptr<DataFolder> folder,
                           std::shared_ptr<DiskRows> disk_rows, std::unique_ptr<Journal> journal)
    : metrics_(metrics),
      folder_(std::move(folder)),
      disk_rows_(std::move(disk_rows)),
      journal_(std::move(journal)),
      tiers_(disk_rows_ != nullptr ? std::make_unique<ChunkTiers>(disk_rows_) : nullptr),
      store_(options.store, journal_.get(), tiers_.get()),
      disk_executor_("replay-disk", kDiskThreads, kMaxQueuedTasks),
      executor_("replay", ExecutorThreads(), kMaxQueuedTasks),
      service_(&store_, journal_.get(), &executor_, &disk_executor_, Counting(std::move(options.service), metrics)) {}

absl::StatusOr<std::unique_ptr<ReplayServer>> ReplayServer::Start(ReplayServerOptions options, Metrics* metrics) {
  WAGGLE_RETURN_IF_ERROR(Annotate(options.store.Validate(), "the store's options"));
  WAGGLE_RETURN_IF_ERROR(Annotate(options.service.Validate(), "the service's options"));
  const std::string listen = options.listen;
  const Keepalive keepalive = options.keepalive;
  RpcFigures* const rpcs = options.rpcs;
  std::unique_ptr<DataFolder> folder;
  std::shared_ptr<DiskRows> disk_rows;
  std::unique_ptr<Journal> journal;
  SavedState saved;
  std::vector<FailedReturn> failed;
  if (!options.data_dir.empty()) {
    DataFolderOptions folder_options;
    folder_options.path = options.data_dir;
    folder_options.return_to = options.return_to;
    WAGGLE_ASSIGN_OR_RETURN(DataFolder::Opened opened, DataFolder::Open(folder_options));
    folder = std::move(opened.folder);
    saved = std::move(opened.state);
    failed = std::move(opened.failed);
    JournalOptions journal_options;
    journal_options.checkpoint_period = options.checkpoint_period;
    journal_options.folder = folder->absolute_path();
    journal_options.keep = [folder = folder.get()](Database* database) { return folder->KeepCheckpoint(database); };
    journal_options.keep_cut = [folder = folder.get()](Database* database, const CutRequest& cut) {
      return folder->KeepCut(database, cut);
    };
    journal_options.note = [folder = folder.get()](uint64_t sequence, uint64_t items) {
      folder->NoteCommit(sequence, items);
    };
    const std::shared_ptr<Database> database = std::move(opened.database);
    disk_rows = std::make_shared<DiskRows>(database, folder->cold_path());
    journal = std::make_unique<Journal>(database, saved, std::move(journal_options));
  }
  std::unique_ptr<ReplayServer> server(
      new ReplayServer(std::move(options), metrics, std::move(folder), std::move(disk_rows), std::move(journal)));
  server->failed_returns_ = std::move(failed);
  absl::Status started = server->store_.Restore(std::move(saved.tables), std::move(saved.writers));
  if (started.ok()) {
    absl::StatusOr<std::unique_ptr<RpcServer>> rpc = RpcServer::Start(listen, {&server->service_}, keepalive, rpcs);
    started = rpc.status();
    server->server_ = rpc.ok() ? *std::move(rpc) : nullptr;
  }
  if (!started.ok() && server->journal_ != nullptr) {
    server->journal_->Abandon();  // A failed start must not replace a kept checkpoint.
  }
  WAGGLE_RETURN_IF_ERROR(started);
  return server;
}

ReplayServer::~ReplayServer() {
  if (server_ != nullptr) {
    Shutdown(absl::ZeroDuration());
  }
  if (disk_rows_ != nullptr) {
    disk_rows_->Close();  // Rows may outlive the server: calls that were about to read them hold them.
  }
}

void ReplayServer::UpdateGauges() {
  MutexLock lock(&gauges_mutex_);
  store_.TendWriters(SteadyNow());
  service_.TendSamplers(SteadyNow());
  SetTableGauges(store_.tables(), store_.writer_info(), metrics_);
}

void ReplayServer::Shutdown(absl::Duration grace) {
  store_.Close();
  if (journal_ != nullptr) {
    tiers_->Stop();
    journal_->Stop();
  }
  server_->Shutdown(grace);
}

}  // namespace waggle
