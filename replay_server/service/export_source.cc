#include "replay_server/service/export_source.h"

#include <optional>
#include <utility>

#include "common/base/threads/mutex.h"
#include "common/net/raw_codec.h"
#include "common/replay/replay_convert.h"
#include "common/replay/table_config_convert.h"
#include "replay_server/base/refusal_reasons.h"
#include "replay_server/store/table_exporter.h"

namespace waggle {

// A task of the queue makes one step at a time. The transport takes it when it can send.
class ExportSource::State : public std::enable_shared_from_this<State> {
 public:
  State(std::shared_ptr<Table> table, std::shared_ptr<const void> place)
      : place_(std::move(place)), table_(std::move(table)), exporter_(table_) {}

  void Open(std::function<void()> wake) { wake_ = std::move(wake); }

  void End() ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    ended_ = true;
  }

  // Returns the finished step, and starts the next one. Empty if no step is finished yet.
  Step Take(TaskQueue* queue) ABSL_LOCKS_EXCLUDED(mutex_) {
    Step step;
    {
      MutexLock lock(&mutex_);
      if (ready_.has_value()) {
        step = *std::exchange(ready_, std::nullopt);
      }
      if (making_ || step.end.has_value()) {
        return step;
      }
      making_ = true;
    }
    const absl::Status submitted = queue->Submit([self = shared_from_this()] { self->Make(); });
    if (!submitted.ok() && !step.message.has_value()) {
      step.end = Refusal(absl::StatusCode::kUnavailable, reasons::kTooBusy, "the replay server is too busy");
    }
    if (!submitted.ok()) {
      MutexLock lock(&mutex_);
      making_ = false;
    }
    return step;
  }

 private:
  void Make() ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      MutexLock lock(&mutex_);
      if (ended_) {
        return;
      }
    }
    Step step = MakeStep();
    {
      MutexLock lock(&mutex_);
      making_ = false;
      ready_ = std::move(step);
    }
    wake_();
  }

  Step MakeStep() {
    Message<v1::ExportResponse> message;
    if (!has_header_) {
      has_header_ = true;
      exporter_.Prepare();
      *message.header.mutable_header()->mutable_config() = ToProto(*table_->config());
      message.header.mutable_header()->set_items(static_cast<uint64_t>(exporter_.items()));
      return {EncodeMessage(message), std::nullopt};
    }
    absl::StatusOr<std::optional<InsertBlock>> block = exporter_.Next();
    if (!block.ok() || !block->has_value()) {
      return {std::nullopt, block.status()};
    }
    *message.header.mutable_block() = ToProto(**block);
    message.header.mutable_block()->set_sequence(++sequence_);
    message.data = std::move((*block)->data);
    return {EncodeMessage(message), std::nullopt};
  }

  const std::shared_ptr<const void> place_;
  const std::shared_ptr<Table> table_;
  std::function<void()> wake_;  // Set once, before other calls.
  // Used by the running task only.
  TableExporter exporter_;
  bool has_header_ = false;
  uint64_t sequence_ = 0;

  Mutex mutex_;
  std::optional<Step> ready_ ABSL_GUARDED_BY(mutex_);
  bool making_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
};

ExportSource::ExportSource(std::shared_ptr<Table> table, TaskQueue* queue, std::shared_ptr<const void> place)
    : queue_(queue), state_(std::make_shared<State>(std::move(table), std::move(place))) {}

ExportSource::~ExportSource() {
  state_->End();
}

void ExportSource::OnOpen(std::function<void()> wake) {
  state_->Open(std::move(wake));
}

WriteSource::Step ExportSource::Next() {
  return state_->Take(queue_);
}

}  // namespace waggle
