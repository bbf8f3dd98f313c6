#include "common/replay/file/replay_transfer.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/annotate.h"
#include "common/base/status_macros.h"
#include "common/base/steady_now.h"
#include "common/base/threads/mutex.h"
#include "common/base/threads/thread.h"
#include "common/net/blocking_stream.h"
#include "common/net/channel.h"
#include "common/net/raw_codec.h"
#include "common/replay/replay_convert.h"
#include "common/replay/table_config_convert.h"

namespace waggle {
namespace {

constexpr char kMethod[] = "/waggle.v1.ReplayService/Export";
// Listing many millions of items takes a while.
constexpr absl::Duration kIdleTimeout = absl::Seconds(120);
constexpr absl::Duration kStep = absl::Seconds(1);

void Report(const OnTransfer& on_progress, const TransferProgress& progress) {
  if (on_progress != nullptr) {
    on_progress(progress);
  }
}

// Waits without limit until everything is acknowledged.
absl::Status FlushAll(ReplayWriter* writer, const StopToken& stop) {
  for (;;) {
    const absl::Status flushed = writer->Flush(kStep);
    if (!absl::IsDeadlineExceeded(flushed)) {
      return flushed;
    }
    if (stop.StopRequested()) {
      return absl::CancelledError("stopped before everything was acknowledged");
    }
  }
}

// Stops an import that makes no progress, from its own thread: the import's calls wait without limit.
class ImportWatch {
 public:
  // `of_items` is an estimate. The options must outlive this object.
  ImportWatch(const ImportOptions& options, uint64_t of_items, const StopToken& stop)
      : options_(options),
        of_items_(of_items),
        forward_(stop, [this] { stop_.RequestStop(); }),
        thread_("import", [this] { Run(); }) {}
  ~ImportWatch() { End().IgnoreError(); }

  // Stopped by the caller, or after too long an idle time.
  const StopToken& stop() const { return stop_; }
  // Lets the watch check a writer.
  class Writer {
   public:
    Writer(ImportWatch* watch, const ReplayWriter* writer) : watch_(watch) { Set(writer); }
    ~Writer() { Set(nullptr); }
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;

   private:
    void Set(const ReplayWriter* writer) {
      MutexLock lock(&watch_->mutex_);
      watch_->writer_ = writer;
    }
    ImportWatch* const watch_;
  };
  // DEADLINE_EXCEEDED if the watch has stopped the import.
  absl::Status End() {
    done_.RequestStop();
    thread_.Join();
    return error_;
  }

 private:
  uint64_t Acknowledged() {
    MutexLock lock(&mutex_);
    if (writer_ != nullptr) {
      acknowledged_ = writer_->stats().items_inserted;
    }
    return acknowledged_;
  }

  void Run() {
    uint64_t acknowledged = 0;
    absl::Time moved_at = SteadyNow();
    while (!done_.WaitFor(std::min(kStep, options_.idle_timeout))) {
      const uint64_t now = Acknowledged();
      if (now != acknowledged) {
        acknowledged = now;
        moved_at = SteadyNow();
      }
      const absl::Duration idle = SteadyNow() - moved_at;
      TransferProgress progress;
      progress.items = acknowledged;
      progress.of_items = of_items_;
      progress.idle = idle;
      Report(options_.on_progress, progress);
      if (idle >= options_.idle_timeout) {
        const std::string why = options_.why_idle == nullptr ? "" : options_.why_idle();
        error_ = absl::DeadlineExceededError(
            absl::StrCat("nothing was acknowledged for ", absl::FormatDuration(options_.idle_timeout), ", after ",
                         acknowledged, " of about ", of_items_, " items", why.empty() ? "" : ": ", why));
        stop_.RequestStop();
        return;
      }
    }
  }

  const ImportOptions& options_;
  const uint64_t of_items_;
  const StopToken stop_;
  const StopToken done_;
  Mutex mutex_;
  const ReplayWriter* writer_ ABSL_GUARDED_BY(mutex_) = nullptr;
  uint64_t acknowledged_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status error_;  // Owned by the thread, until it is joined.
  const StopToken::Callback forward_;
  Thread thread_;
};

absl::Status Import(ReplayFileReader* file, const TableConfig& config, ReplayConnection* connection, ImportWatch* watch,
                    TransferProgress* progress) {
  WAGGLE_RETURN_IF_ERROR(connection->CreateTable(config, watch->stop()));
  std::random_device random;
  ReplayWriterOptions options;
  options.writer_id = absl::StrCat("import-", absl::Hex(random(), absl::kZeroPad8));
  options.tables = {config.name};
  options.signature = config.signature;
  options.compression = config.compression;
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<ReplayWriter> writer, connection->NewWriter(options));
  const ImportWatch::Writer watched(watch, writer.get());
  for (;;) {
    absl::StatusOr<std::optional<InsertBlock>> block = file->Next();
    if (!block.ok()) {
      // The table must have all blocks before it.
      const absl::Status flushed = FlushAll(writer.get(), watch->stop());
      return absl::Status(
          block.status().code(),
          absl::StrCat(block.status().message(), "; ", writer->stats().items_inserted, " of about ", file->items(),
                       " items were inserted before, and stay", flushed.ok() ? "" : "; others were under way"));
    }
    if (!block->has_value()) {
      break;
    }
    progress->items += (*block)->items.size();
    WAGGLE_RETURN_IF_ERROR(writer->Append(**std::move(block), watch->stop()));
  }
  WAGGLE_RETURN_IF_ERROR(FlushAll(writer.get(), watch->stop()));
  const uint64_t lost = writer->stats().items_without_rows;
  return lost == 0
             ? absl::OkStatus()
             : absl::AbortedError(absl::StrCat(lost, " of ", progress->items,
                                               " items reach back to rows that the server does not have any more"));
}

}  // namespace

absl::StatusOr<TransferProgress> ExportTable(const std::string& address, const std::string& table,
                                             const std::string& path, const StopToken& stop,
                                             const OnTransfer& on_progress, const std::string& name) {
  v1::ExportRequest request;
  request.set_table(table);
  BlockingStream stream(NewChannel(address, "replay-export"), kMethod, kIdleTimeout, stop);
  std::unique_ptr<ReplayFileWriter> file;
  TransferProgress progress;
  grpc::ByteBuffer buffer;
  stream.WriteLast(EncodeMessage(request, ByteSlices()));
  while (stream.Read(&buffer)) {
    Message<v1::ExportResponse> message;
    WAGGLE_RETURN_IF_ERROR(DecodeMessage(buffer, kMaxHeaderBytes, &message.header, &message.data));
    if (message.header.has_header() == (file != nullptr)) {
      return absl::InternalError(
          absl::StrCat(address, " sent ", file == nullptr ? "a block before" : "another", " header"));
    }
    if (file == nullptr) {
      WAGGLE_ASSIGN_OR_RETURN(TableConfig config, FromProto(message.header.header().config()));
      config.name = name.empty() ? config.name : name;
      progress.of_items = message.header.header().items();
      WAGGLE_ASSIGN_OR_RETURN(file, ReplayFileWriter::Create(path, config, progress.of_items));
      continue;
    }
    WAGGLE_ASSIGN_OR_RETURN(const InsertBlock block, FromProto(message.header.block(), std::move(message.data)));
    WAGGLE_RETURN_IF_ERROR(file->Append(block));
    progress.items = file->items();
    progress.bytes = file->bytes();
    Report(on_progress, progress);
  }
  WAGGLE_RETURN_IF_ERROR(Annotate(stream.Finish(), absl::StrCat("replay server ", address)));
  if (file == nullptr) {
    return absl::InternalError(absl::StrCat(address, " sent nothing"));
  }
  WAGGLE_RETURN_IF_ERROR(file->Finish());
  progress.bytes = file->bytes();
  return progress;
}

absl::StatusOr<TransferProgress> ImportTable(const std::string& path, const std::string& table,
                                             ReplayConnection* connection, const StopToken& stop,
                                             const ImportOptions& options) {
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<ReplayFileReader> file, ReplayFileReader::Open(path));
  TableConfig config = file->config();
  config.name = table.empty() ? config.name : table;
  TransferProgress progress;
  progress.of_items = file->items();
  ImportWatch watch(options, progress.of_items, stop);
  const absl::Status imported = Import(file.get(), config, connection, &watch, &progress);
  const absl::Status idle = watch.End();
  // The import returns CANCELLED after a stop by the watch too.
  const absl::Status status = absl::IsCancelled(imported) && !idle.ok() ? idle : imported;
  // The file's own errors have its name.
  WAGGLE_RETURN_IF_ERROR(absl::StartsWith(status.message(), path) ? status : Annotate(status, path));
  return progress;
}

}  // namespace waggle
