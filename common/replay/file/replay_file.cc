#include "common/replay/file/replay_file.h"

#include <cstring>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/status_macros.h"
#include "common/base/tensor/checksum.h"
#include "common/base/tensor/compression.h"
#include "common/hub/hub_convert.h"
#include "common/net/raw_codec.h"
#include "common/replay/replay_convert.h"
#include "common/replay/table_config_convert.h"

namespace waggle {
namespace {

// A new path each time, so that files of killed processes are not in the way.
std::string PartialPath(const std::string& path) {
  std::random_device random;
  return absl::StrCat(path, ".partial-", absl::Hex(random(), absl::kZeroPad8));
}

absl::Status CheckFree(const std::string& path) {
  // A path that cannot be opened is taken as well.
  const absl::Status opened = File::OpenToRead(path).status();
  if (absl::IsNotFound(opened)) {
    return absl::OkStatus();
  }
  return absl::AlreadyExistsError(
      opened.ok() ? absl::StrCat(path, " is there already")
                  : absl::StrCat(path, " is there already, or cannot be opened: ", opened.message()));
}

constexpr char kMagic[8] = {'W', 'A', 'G', 'G', 'L', 'E', 'R', 'P'};
constexpr uint32_t kVersion = 1;
// Far more than a block has.
constexpr uint64_t kMaxRecordBytes = uint64_t{1} << 30;

enum Kind : uint32_t { kHeader = 1, kBlock = 2, kEnd = 3 };
enum Storage : uint32_t { kPlain = 0, kZstd = 1 };

// Written before each record. Little-endian, like everything in the file.
struct RecordHead {
  uint32_t kind = 0;
  uint32_t storage = 0;
  uint64_t stored_bytes = 0;
  uint64_t bytes = 0;     // After decompression.
  uint64_t checksum = 0;  // XXH3 of the fields above and the stored bytes.
};
static_assert(sizeof(RecordHead) == 32, "it is written as it lies in memory");

struct End {
  uint64_t blocks = 0;
  uint64_t items = 0;
};

template <class T>
absl::string_view BytesOf(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

uint64_t ChecksumOf(const RecordHead& head, const std::string& stored) {
  Checksummer checksum;
  checksum.Update(&head, sizeof(head) - sizeof(head.checksum));
  checksum.Update(stored.data(), stored.size());
  return checksum.Digest();
}

std::string Encode(const Message<v1::ExportResponse>& message) {
  std::string bytes;
  std::vector<grpc::Slice> slices;
  if (EncodeMessage(message).Dump(&slices).ok()) {
    for (const grpc::Slice& slice : slices) {
      bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
    }
  }
  return bytes;
}

// A record with a right checksum that cannot be parsed was written wrongly.
template <class T>
absl::StatusOr<T> Intact(absl::StatusOr<T> value) {
  return value.ok() ? std::move(value) : absl::DataLossError(value.status().message());
}

// The bytes of the rows share `payload`.
absl::StatusOr<Message<v1::ExportResponse>> Decode(std::shared_ptr<const std::string> payload) {
  const grpc::Slice slice(payload->data(), payload->size(), grpc::Slice::STATIC_SLICE);
  Message<v1::ExportResponse> message;
  ByteSlices data;
  WAGGLE_RETURN_IF_ERROR(DecodeMessage(grpc::ByteBuffer(&slice, 1), kMaxHeaderBytes, &message.header, &data));
  for (const ByteSlice& run : data.slices()) {
    message.data.Append({run.data, run.size, payload});
  }
  return message;
}

}  // namespace

struct ReplayFileReader::Record {
  uint32_t kind = 0;
  std::shared_ptr<const std::string> payload;
};

ReplayFileWriter::ReplayFileWriter(const std::string& path) : path_(path), partial_path_(PartialPath(path)) {}

ReplayFileWriter::~ReplayFileWriter() {
  if (!finished_ && file_.is_open()) {
    RemoveAll(partial_path_).IgnoreError();
  }
}

absl::StatusOr<std::unique_ptr<ReplayFileWriter>> ReplayFileWriter::Create(const std::string& path,
                                                                           const TableConfig& config, uint64_t items,
                                                                           const EnvironmentSpec* environment) {
  WAGGLE_RETURN_IF_ERROR(config.Validate());
  WAGGLE_RETURN_IF_ERROR(CheckFree(path));
  std::unique_ptr<ReplayFileWriter> writer(new ReplayFileWriter(path));
  WAGGLE_ASSIGN_OR_RETURN(writer->file_, File::Create(writer->partial_path_));
  WAGGLE_RETURN_IF_ERROR(writer->file_.Append({kMagic, sizeof(kMagic)}));
  WAGGLE_RETURN_IF_ERROR(writer->file_.Append(BytesOf(kVersion)));
  writer->bytes_ = sizeof(kMagic) + sizeof(kVersion);
  Message<v1::ExportResponse> message;
  *message.header.mutable_header()->mutable_config() = ToProto(config);
  message.header.mutable_header()->set_items(items);
  if (environment != nullptr) {
    *message.header.mutable_header()->mutable_environment() = ToProto(*environment);
  }
  WAGGLE_RETURN_IF_ERROR(writer->AppendRecord(kHeader, Encode(message)));
  return writer;
}

absl::Status ReplayFileWriter::Append(const InsertBlock& block) {
  Message<v1::ExportResponse> message;
  *message.header.mutable_block() = ToProto(block);
  message.header.mutable_block()->set_sequence(++blocks_);
  message.data = block.data;
  items_ += block.items.size();
  return AppendRecord(kBlock, Encode(message));
}

absl::Status ReplayFileWriter::Finish() {
  const End end{blocks_, items_};
  WAGGLE_RETURN_IF_ERROR(AppendRecord(kEnd, std::string(BytesOf(end))));
  WAGGLE_RETURN_IF_ERROR(file_.Sync());
  WAGGLE_RETURN_IF_ERROR(CheckFree(path_));  // Another process may have taken it.
  WAGGLE_RETURN_IF_ERROR(Rename(partial_path_, path_));
  finished_ = true;
  return SyncFolder(ParentFolder(path_));
}

absl::Status ReplayFileWriter::AppendRecord(uint32_t kind, const std::string& payload) {
  if (payload.empty() || payload.size() > kMaxRecordBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(path_, ": a record of ", payload.size(), " bytes; 1 to ", kMaxRecordBytes, " are allowed"));
  }
  std::string packed(MaxCompressedBytes(Codec::kZstd, payload.size()), '\0');
  packed.resize(Compress(Codec::kZstd, payload.data(), payload.size(), packed.data()));
  const std::string& stored = packed.empty() ? payload : packed;
  RecordHead head;
  head.kind = kind;
  head.storage = packed.empty() ? kPlain : kZstd;
  head.stored_bytes = stored.size();
  head.bytes = payload.size();
  head.checksum = ChecksumOf(head, stored);
  bytes_ += sizeof(head) + stored.size();
  WAGGLE_RETURN_IF_ERROR(file_.Append(BytesOf(head)));
  return file_.Append(stored);
}

ReplayFileReader::ReplayFileReader(const std::string& path, File file, int64_t bytes_left)
    : path_(path), file_(std::move(file)), bytes_left_(bytes_left) {}

absl::StatusOr<std::unique_ptr<ReplayFileReader>> ReplayFileReader::Open(const std::string& path) {
  WAGGLE_ASSIGN_OR_RETURN(File file, File::OpenToRead(path));
  WAGGLE_ASSIGN_OR_RETURN(const int64_t size, file.Size());
  std::unique_ptr<ReplayFileReader> reader(new ReplayFileReader(path, std::move(file), size));
  WAGGLE_RETURN_IF_ERROR(Annotate(reader->ReadHeader(), path));
  return reader;
}

absl::Status ReplayFileReader::ReadHeader() {
  char magic[sizeof(kMagic)];
  uint32_t version = 0;
  if (bytes_left_ < static_cast<int64_t>(sizeof(magic) + sizeof(version))) {
    return absl::FailedPreconditionError("it is not a replay file");
  }
  WAGGLE_RETURN_IF_ERROR(file_.Read(magic, sizeof(magic)));
  if (std::memcmp(magic, kMagic, sizeof(magic)) != 0) {
    return absl::FailedPreconditionError("it is not a replay file");
  }
  WAGGLE_RETURN_IF_ERROR(file_.Read(reinterpret_cast<char*>(&version), sizeof(version)));
  if (version != kVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("it has version ", version, " of the format; this program reads version ", kVersion));
  }
  bytes_left_ -= static_cast<int64_t>(sizeof(magic) + sizeof(version));
  WAGGLE_ASSIGN_OR_RETURN(const Record record, ReadRecord());
  WAGGLE_ASSIGN_OR_RETURN(const Message<v1::ExportResponse> message, Intact(Decode(record.payload)));
  if (record.kind != kHeader || !message.header.has_header()) {
    return absl::DataLossError("its first record is not a header");
  }
  WAGGLE_ASSIGN_OR_RETURN(config_, Intact(FromProto(message.header.header().config())));
  items_ = message.header.header().items();
  if (message.header.header().has_environment()) {
    WAGGLE_ASSIGN_OR_RETURN(environment_, Intact(FromProto(message.header.header().environment())));
  }
  return absl::OkStatus();
}

absl::StatusOr<ReplayFileReader::Record> ReplayFileReader::ReadRecord() {
  RecordHead head;
  if (bytes_left_ < static_cast<int64_t>(sizeof(head))) {
    return absl::DataLossError("it has no end record: it was cut off");
  }
  WAGGLE_RETURN_IF_ERROR(file_.Read(reinterpret_cast<char*>(&head), sizeof(head)));
  bytes_left_ -= static_cast<int64_t>(sizeof(head));
  // Checked before memory is taken.
  if (head.bytes == 0 || head.bytes > kMaxRecordBytes || head.stored_bytes > head.bytes || head.storage > kZstd ||
      (head.storage == kPlain && head.stored_bytes != head.bytes)) {
    return absl::DataLossError(absl::StrCat("it is damaged: a record of kind ", head.kind, " says that it has ",
                                            head.bytes, " bytes, stored as ", head.stored_bytes));
  }
  if (static_cast<int64_t>(head.stored_bytes) > bytes_left_) {
    return absl::DataLossError("it ends within a record: it was cut off");
  }
  auto stored = std::make_shared<std::string>(head.stored_bytes, '\0');
  WAGGLE_RETURN_IF_ERROR(file_.Read(stored->data(), static_cast<int64_t>(head.stored_bytes)));
  bytes_left_ -= static_cast<int64_t>(head.stored_bytes);
  if (const uint64_t checksum = ChecksumOf(head, *stored); checksum != head.checksum) {
    return absl::DataLossError(
        absl::StrCat("it is damaged: a record's checksum is ", checksum, "; it was written with ", head.checksum));
  }
  if (head.storage == kPlain) {
    return Record{head.kind, std::move(stored)};
  }
  auto payload = std::make_shared<std::string>(head.bytes, '\0');
  WAGGLE_RETURN_IF_ERROR(Decompress(Codec::kZstd, stored->data(), stored->size(), payload->data(), payload->size()));
  return Record{head.kind, std::move(payload)};
}

absl::StatusOr<std::optional<InsertBlock>> ReplayFileReader::Next() {
  if (ended_) {
    return std::optional<InsertBlock>();
  }
  const std::string where = absl::StrCat(path_, ", behind block ", blocks_);
  const absl::StatusOr<Record> record = ReadRecord();
  if (!record.ok()) {
    return Annotate(record.status(), where);
  }
  if (record->kind == kEnd) {
    End end;
    if (record->payload->size() != sizeof(end)) {
      return absl::DataLossError(absl::StrCat(where, ": its end has ", record->payload->size(), " bytes"));
    }
    std::memcpy(&end, record->payload->data(), sizeof(end));
    if (bytes_left_ != 0) {
      return absl::DataLossError(absl::StrCat(where, ": ", bytes_left_,
                                              bytes_left_ == 1 ? " byte follows" : " bytes follow",
                                              " its end: something was appended to it"));
    }
    if (end.blocks != blocks_ || end.items != items_read_) {
      return absl::DataLossError(absl::StrCat(where, ": it has ", blocks_, " blocks with ", items_read_,
                                              " items; it was written with ", end.blocks, " and ", end.items));
    }
    ended_ = true;
    return std::optional<InsertBlock>();
  }
  absl::StatusOr<Message<v1::ExportResponse>> message = Intact(Decode(record->payload));
  if (!message.ok()) {
    return Annotate(message.status(), where);
  }
  if (record->kind != kBlock || !message->header.has_block() || message->header.block().sequence() != blocks_ + 1) {
    return absl::DataLossError(absl::StrCat(where, ": the next record is not block ", blocks_ + 1,
                                            ": blocks are missing, or not in their order"));
  }
  absl::StatusOr<InsertBlock> block = Intact(FromProto(message->header.block(), std::move(message->data)));
  if (!block.ok()) {
    return Annotate(block.status(), where);
  }
  ++blocks_;
  items_read_ += block->items.size();
  return std::make_optional(*std::move(block));
}

}  // namespace waggle
