#include "common/hub/gradients/gradient_sink.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/deadline.h"
#include "common/base/threads/mutex.h"

namespace waggle {
namespace {

// Shared with answers, which may come after the sink's end.
struct Ledger {
  Mutex mutex;
  CondVar changed;
  GradientCounts counts ABSL_GUARDED_BY(mutex);
  int64_t unanswered ABSL_GUARDED_BY(mutex) = 0;
  std::map<uint64_t, bool> answered ABSL_GUARDED_BY(mutex);  // Above `acknowledged`. True if it was applied.
  uint64_t acknowledged ABSL_GUARDED_BY(mutex) = 0;
  uint64_t applied ABSL_GUARDED_BY(mutex) = 0;  // Those up to `acknowledged`.
};

class LedgerSink final : public GradientSink {
 public:
  LedgerSink(const GradientSinkOptions& options, GradientTaker* taker, Metrics* metrics)
      : options_(options), taker_(taker), metrics_(metrics), ledger_(std::make_shared<Ledger>()) {
    if (metrics_ != nullptr) {
      metrics_->Add("gradients_pushed", 0);  // The counter shows that gradients are pushed here.
    }
  }

  absl::Status Push(std::shared_ptr<const float> gradient, const ModelVersion& based_on,
                    const StopToken& stop) override {
    const StopToken::Callback wake = WakeOn(stop);
    GradientPush push;
    push.model = options_.model;
    push.data = std::move(gradient);
    GradientMember member{options_.worker_id, options_.life, 0, based_on, 0, 0};
    {
      MutexLock lock(&ledger_->mutex);
      // The second bound matters if one answer is late while others come.
      while ((ledger_->unanswered >= options_.max_unacknowledged ||
              next_sequence_ - ledger_->acknowledged > kMaxGradientsAhead) &&
             !stop.StopRequested()) {
        ledger_->changed.Wait(&ledger_->mutex);
      }
      if (stop.StopRequested()) {
        return absl::CancelledError("stopped while pushing a gradient");
      }
      member.sequence = next_sequence_++;
      member.acknowledged = ledger_->acknowledged;
      member.applied = ledger_->applied;
      ++ledger_->unanswered;
      ++ledger_->counts.pushed;
    }
    if (metrics_ != nullptr) {
      metrics_->Add("gradients_pushed", 1);
    }
    push.members = {member};
    taker_->Take(std::move(push), [ledger = ledger_, metrics = metrics_, sequence = member.sequence](
                                      const GradientAnswer& answer) { TakeAnswer(ledger, metrics, sequence, answer); });
    return absl::OkStatus();
  }

  absl::Status Flush(absl::Duration timeout, const StopToken& stop) override {
    const StopToken::Callback wake = WakeOn(stop);
    const Deadline deadline(timeout);
    MutexLock lock(&ledger_->mutex);
    while (ledger_->unanswered > 0 && !stop.StopRequested()) {
      if (deadline.Left() == absl::ZeroDuration()) {
        return absl::DeadlineExceededError(absl::StrCat(ledger_->unanswered, " gradients are not answered"));
      }
      ledger_->changed.WaitFor(&ledger_->mutex, deadline.Left());
    }
    return ledger_->unanswered == 0 ? absl::OkStatus()
                                    : absl::CancelledError("stopped while gradients are not answered");
  }

  GradientCounts counts() const override {
    MutexLock lock(&ledger_->mutex);
    return ledger_->counts;
  }

 private:
  StopToken::Callback WakeOn(const StopToken& stop) const {
    return StopToken::Callback(stop, [ledger = ledger_] {
      MutexLock lock(&ledger->mutex);
      ledger->changed.SignalAll();
    });
  }

  static void TakeAnswer(const std::shared_ptr<Ledger>& ledger, Metrics* metrics, uint64_t sequence,
                         const GradientAnswer& answer) {
    const GradientResult& result = answer.results.front();
    const bool applied = result.verdict == GradientVerdict::kApplied;
    if (metrics != nullptr) {
      CountVerdict(result.verdict, metrics);
    }
    MutexLock lock(&ledger->mutex);
    if (applied) {
      ++ledger->counts.applied;
    } else {
      ++ledger->counts.refused[result.verdict];
      ledger->counts.last_refusal = result.message;
    }
    --ledger->unanswered;
    ledger->answered[sequence] = applied;
    for (auto it = ledger->answered.begin(); it != ledger->answered.end() && it->first == ledger->acknowledged + 1;
         it = ledger->answered.erase(it)) {
      ++ledger->acknowledged;
      ledger->applied += it->second ? 1 : 0;
    }
    ledger->changed.SignalAll();
  }

  const GradientSinkOptions options_;
  GradientTaker* const taker_;
  Metrics* const metrics_;
  const std::shared_ptr<Ledger> ledger_;
  uint64_t next_sequence_ = 1;  // Owned by the thread that pushes.
};

}  // namespace

std::unique_ptr<GradientSink> NewGradientSink(const GradientSinkOptions& options, GradientTaker* taker,
                                              Metrics* metrics) {
  return std::make_unique<LedgerSink>(options, taker, metrics);
}

}  // namespace waggle
