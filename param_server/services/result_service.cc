#include "param_server/services/result_service.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/guard.h"
#include "common/base/status_macros.h"
#include "common/base/tensor/checksum.h"
#include "common/base/threads/mutex.h"
#include "common/net/raw_codec.h"
#include "common/net/unary_method.h"
#include "common/net/write_reactor.h"

namespace waggle {
namespace {

constexpr int kReaders = 2;
constexpr size_t kMaxWaiting = 256;
constexpr int64_t kMostBytes = int64_t{1} << 20;  // In one message.

ByteSlices Share(std::string bytes) {
  const auto owner = std::make_shared<const std::string>(std::move(bytes));
  return ByteSlices({owner->data(), owner->size(), owner});
}

// A file that is sent in pieces. Tasks of an executor read it, one piece ahead of the transport.
class FilePart : public std::enable_shared_from_this<FilePart> {
 public:
  FilePart(Executor* readers, ResultFolders folders, v1::FetchResultRequest request,
           std::shared_ptr<std::atomic<int>> streams)
      : readers_(readers),
        folders_(std::move(folders)),
        request_(std::move(request)),
        streams_(std::move(streams)),
        next_(static_cast<int64_t>(request_.begin())) {}
  ~FilePart() { --*streams_; }

  void Open(std::function<void()> wake) {
    {
      MutexLock lock(&mutex_);
      wake_ = std::move(wake);
    }
    ReadOn();
  }

  WriteSource::Step Next() {
    std::optional<WriteSource::Step> step;
    {
      MutexLock lock(&mutex_);
      if (!ready_.has_value()) {
        return {};
      }
      step = std::exchange(ready_, std::nullopt);
    }
    if (!step->end.has_value()) {
      if (const absl::Status queued = Queue(); !queued.ok()) {
        step->end = queued;
      }
    }
    return *std::move(step);
  }

 private:
  absl::Status Queue() {
    const absl::Status queued = readers_->SubmitBytes(kMostBytes, [self = shared_from_this()] { self->TakePiece(); });
    return queued.ok() ? queued : absl::UnavailableError("this server is busy with too many other files");
  }

  void ReadOn() {
    if (const absl::Status queued = Queue(); !queued.ok()) {
      MutexLock lock(&mutex_);
      ready_ = WriteSource::Step{std::nullopt, queued};
    }
  }

  // In a thread of the executor; one call at a time.
  void TakePiece() {
    WriteSource::Step step;
    if (const absl::Status read = GuardedStatus([&] { return Read(&step); }); !read.ok()) {
      step = {std::nullopt, read};
    }
    std::function<void()> wake;
    {
      MutexLock lock(&mutex_);
      ready_ = std::move(step);
      wake = wake_;
    }
    wake();
  }

  absl::Status Read(WriteSource::Step* step) {
    if (!file_.is_open()) {
      WAGGLE_ASSIGN_OR_RETURN(file_, OpenResult(folders_, request_.name(), request_.identity(), request_.end()));
    }
    const int64_t left = static_cast<int64_t>(request_.end()) - next_;
    const int64_t size = std::min(left, kMostBytes);
    if (size > 0) {
      WAGGLE_ASSIGN_OR_RETURN(std::string bytes, file_.ReadAt(next_, size));
      if (static_cast<int64_t>(bytes.size()) < size) {
        return absl::AbortedError(absl::StrCat(request_.name(), " has become shorter"));
      }
      v1::FetchResultResponse header;
      header.set_offset(static_cast<uint64_t>(next_));
      header.set_checksum(Checksum(bytes.data(), bytes.size()));
      step->message = EncodeMessage(header, Share(std::move(bytes)));
      next_ += size;
    }
    if (size == left) {
      step->end = absl::OkStatus();
    }
    return absl::OkStatus();
  }

  Executor* const readers_;
  const ResultFolders folders_;
  const v1::FetchResultRequest request_;
  const std::shared_ptr<std::atomic<int>> streams_;
  // Only for the tasks.
  File file_;
  int64_t next_;
  Mutex mutex_;
  std::function<void()> wake_ ABSL_GUARDED_BY(mutex_);
  std::optional<WriteSource::Step> ready_ ABSL_GUARDED_BY(mutex_);
};

class FilePartSource final : public WriteSource {
 public:
  explicit FilePartSource(std::shared_ptr<FilePart> part) : part_(std::move(part)) {}

  void OnOpen(std::function<void()> wake) override { part_->Open(std::move(wake)); }
  Step Next() override { return part_->Next(); }

 private:
  const std::shared_ptr<FilePart> part_;
};

grpc::ServerWriteReactor<grpc::ByteBuffer>* Refuse(absl::Status status) {
  return new WriteReactor(std::make_unique<EndedSource>(std::move(status)));
}

}  // namespace

ResultService::ResultService(FindResults find, int max_streams)
    : find_(std::move(find)), max_streams_(max_streams), readers_("result-files", kReaders, kMaxWaiting) {}

grpc::ServerUnaryReactor* ResultService::List(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                              grpc::ByteBuffer* response) {
  return AnswerLater<v1::ListResultsRequest, v1::ListResultsResponse>(
      &readers_, context, *request, response, kMaxUnaryBytes,
      [this](const v1::ListResultsRequest& decoded, v1::ListResultsResponse* answer) -> absl::Status {
        WAGGLE_ASSIGN_OR_RETURN(const ResultFolders folders, find_(decoded.experiment_id()));
        const ResultListing listing = ListResults(folders);
        for (const ResultFile& file : listing.files) {
          v1::ResultFile* const proto = answer->add_files();
          proto->set_name(file.name);
          proto->set_size(static_cast<uint64_t>(file.size));
          proto->set_identity(file.identity);
        }
        answer->mutable_missing()->Add(listing.missing.begin(), listing.missing.end());
        return absl::OkStatus();
      });
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* ResultService::Fetch(grpc::CallbackServerContext* /*context*/,
                                                                 const grpc::ByteBuffer* request) {
  v1::FetchResultRequest decoded;
  if (absl::Status status = DecodeRequest(*request, kMaxUnaryBytes, &decoded); !status.ok()) {
    return Refuse(std::move(status));
  }
  constexpr uint64_t kMost = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (decoded.begin() > decoded.end() || decoded.end() > kMost) {
    return Refuse(absl::InvalidArgumentError(absl::StrCat("begin and end: got ", decoded.begin(), " and ",
                                                          decoded.end(), "; wanted two places in the file, in order")));
  }
  absl::StatusOr<ResultFolders> folders = find_(decoded.experiment_id());
  if (!folders.ok()) {
    return Refuse(folders.status());
  }
  ++*streams_;
  auto part = std::make_shared<FilePart>(&readers_, *std::move(folders), std::move(decoded), streams_);
  if (*streams_ > max_streams_) {
    return Refuse(absl::UnavailableError("this server is busy with too many other files"));
  }
  return new WriteReactor(std::make_unique<FilePartSource>(std::move(part)));
}

}  // namespace waggle
