// Answers of a replay server, real or forged, to a writer and to a priority updater, over a real connection. A server
// in this process ends it after the input's messages.
#include <deque>
#include <memory>
#include <utility>

#include "common/base/check.h"
#include "common/base/threads/mutex.h"
#include "common/net/server.h"
#include "common/replay/replay_client.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/fuzz_tables.h"
#include "waggle/v1/replay.grpc.pb.h"

namespace waggle {
namespace {

constexpr uint64_t kBlocks = 3;

const grpc::Status& TheEnd() {
  // An error after which no client tries again.
  static const grpc::Status& status = *new grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, "no more");
  return status;
}

using PretenderBase = v1::ReplayService::WithRawCallbackMethod_Insert<
    v1::ReplayService::WithRawCallbackMethod_UpdatePriorities<v1::ReplayService::Service>>;

// Answers every call with the input's messages.
class Pretender final : public PretenderBase {
 public:
  void Give(std::deque<grpc::ByteBuffer> answers) {
    MutexLock lock(&mutex_);
    answers_ = std::move(answers);
  }
  bool Take(grpc::ByteBuffer* answer) {
    MutexLock lock(&mutex_);
    if (answers_.empty()) {
      return false;
    }
    *answer = std::move(answers_.front());
    answers_.pop_front();
    return true;
  }

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Insert(grpc::CallbackServerContext*) override {
    return new Stream(this);
  }
  grpc::ServerUnaryReactor* UpdatePriorities(grpc::CallbackServerContext* context, const grpc::ByteBuffer* /*request*/,
                                             grpc::ByteBuffer* response) override {
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(Take(response) ? grpc::Status::OK : TheEnd());
    return reactor;
  }

 private:
  class Stream final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
   public:
    explicit Stream(Pretender* pretender) : pretender_(pretender) { Next(); }
    void OnWriteDone(bool ok) override {
      if (ok) {
        Next();
      } else {
        Finish(TheEnd());
      }
    }
    void OnDone() override { delete this; }

   private:
    void Next() {
      if (pretender_->Take(&answer_)) {
        StartWrite(&answer_);
      } else {
        Finish(TheEnd());
      }
    }

    Pretender* const pretender_;
    grpc::ByteBuffer answer_;
  };

  Mutex mutex_;
  std::deque<grpc::ByteBuffer> answers_ ABSL_GUARDED_BY(mutex_);
};

void Write(ReplayConnection* connection) {
  const TableConfig table = fuzz::Table(0);
  ReplayWriterOptions options;
  options.writer_id = "w";
  options.tables = {table.name};
  options.signature = table.signature;
  const auto writer = *connection->NewWriter(options);
  for (uint64_t i = 0; i < kBlocks; ++i) {
    if (!writer->Append(fuzz::ZeroBlock(table, {{0, 4 * i, 4, false}}, 1, 2), StopToken()).ok()) {
      break;  // The connection has failed already.
    }
  }
  const absl::Status flushed = writer->Flush(absl::Seconds(20));
  WAGGLE_CHECK(!absl::IsDeadlineExceeded(flushed), "a writer learns how its stream has ended");
  writer->stats();
}

void Update(ReplayConnection* connection) {
  const auto updater = *connection->NewPriorityUpdater(fuzz::TableName(0));
  updater->Update({1, 2}, {1, 1}, {0.5, 2}).IgnoreError();
  const absl::Status flushed = updater->Flush(absl::Seconds(20));
  WAGGLE_CHECK(!absl::IsDeadlineExceeded(flushed), "an updater learns how its call has ended");
  updater->counts();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Pretender& pretender = *new Pretender;
  static RpcServer& server = *RpcServer::Start("127.0.0.1:0", {&pretender})->release();
  static ReplayConnection& connection = *NewGrpcReplayConnection({server.address()})->release();
  fuzz::Input input(data, size);
  const bool writes = input.Byte() % 2 == 0;
  std::deque<grpc::ByteBuffer> answers;
  while (!input.empty()) {
    answers.push_back(input.NextMessage());
  }
  pretender.Give(std::move(answers));
  if (writes) {
    Write(&connection);
  } else {
    Update(&connection);
  }
  return 0;
}

}  // namespace waggle
