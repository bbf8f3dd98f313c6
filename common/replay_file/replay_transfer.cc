#include "common/replay_file/replay_transfer.h"

#include <memory>
#include <optional>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/annotate.h"
#include "common/base/status_macros.h"
#include "common/clients/replay_convert.h"
#include "common/clients/table_config_convert.h"
#include "common/rpc/blocking_stream.h"
#include "common/rpc/channel.h"
#include "common/rpc/raw_codec.h"

namespace waggle {
namespace {

constexpr char kMethod[] = "/waggle.v1.ReplayService/Export";
// A table of many millions of items takes a while to be listed.
constexpr absl::Duration kIdleTimeout = absl::Seconds(120);
constexpr absl::Duration kFlushStep = absl::Seconds(1);

void Report(const OnTransfer& on_progress, const TransferProgress& progress) {
  if (on_progress != nullptr) {
    on_progress(progress);
  }
}

// Waits until everything is acknowledged, however long the table makes it wait.
absl::Status FlushAll(ReplayWriter* writer, const StopToken& stop) {
  for (;;) {
    const absl::Status flushed = writer->Flush(kFlushStep);
    if (!absl::IsDeadlineExceeded(flushed)) {
      return flushed;
    }
    if (stop.StopRequested()) {
      return absl::CancelledError("stopped before everything was acknowledged");
    }
  }
}

}  // namespace

absl::StatusOr<TransferProgress> ExportTable(const std::string& address, const std::string& table,
                                             const std::string& path, const StopToken& stop,
                                             const OnTransfer& on_progress) {
  v1::ExportRequest request;
  request.set_table(table);
  BlockingStream stream(NewChannel(address, "replay-export"), kMethod, kIdleTimeout, stop);
  std::unique_ptr<ReplayFileWriter> file;
  TransferProgress progress;
  grpc::ByteBuffer buffer;
  bool open = stream.Write(EncodeMessage(request, ByteSlices())) && stream.WritesDone();
  while (open && (open = stream.Read(&buffer))) {
    Message<v1::ExportResponse> message;
    WAGGLE_RETURN_IF_ERROR(DecodeMessage(buffer, kMaxHeaderBytes, &message.header, &message.data));
    if (message.header.has_header() == (file != nullptr)) {
      return absl::InternalError(
          absl::StrCat(address, " sent ", file == nullptr ? "a block before" : "another", " header"));
    }
    if (file == nullptr) {
      WAGGLE_ASSIGN_OR_RETURN(const TableConfig config, FromProto(message.header.header().config()));
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
                                             const OnTransfer& on_progress) {
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<ReplayFileReader> file, ReplayFileReader::Open(path));
  TableConfig config = file->config();
  config.name = table.empty() ? config.name : table;
  WAGGLE_RETURN_IF_ERROR(connection->CreateTable(config, stop));
  std::random_device random;
  ReplayWriterOptions options;
  options.writer_id = absl::StrCat("import-", absl::Hex(random(), absl::kZeroPad8));
  options.tables = {config.name};
  options.signature = config.signature;
  options.compression = config.compression;
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<ReplayWriter> writer, connection->NewWriter(options));
  TransferProgress progress;
  progress.of_items = file->items();
  for (;;) {
    WAGGLE_ASSIGN_OR_RETURN(std::optional<InsertBlock> block, file->Next());
    if (!block.has_value()) {
      break;
    }
    progress.items += block->items.size();
    WAGGLE_RETURN_IF_ERROR(writer->Append(*std::move(block), stop));
    Report(on_progress, progress);
  }
  WAGGLE_RETURN_IF_ERROR(FlushAll(writer.get(), stop));
  const uint64_t lost = writer->stats().items_without_rows;
  if (lost > 0) {
    return absl::DataLossError(absl::StrCat(path, ": ", lost, " of ", progress.items,
                                            " items reach back to rows that the server does not have any more"));
  }
  return progress;
}

}  // namespace waggle
