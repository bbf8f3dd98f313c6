#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/time/time.h"
#include "common/metrics/metrics.h"
#include "param_server/gradients/gradient_core.h"

namespace waggle {

struct GradientReducerOptions {
  int64_t batch = 1;                                    // Gradients that make a sum…
  absl::Duration flush_after = absl::Milliseconds(50);  // …fewer, where the first has waited for so long.
};

// Adds gradients up and hands the sum on. It keeps what it has added until the sum is answered: where that is to be
// sent singly, it sends each by itself. Gradients of another model than those that are being gathered go on by
// themselves.
//
// Counts gradients_pushed, gradients_applied, gradients_refused, gradients_refused_REASON and gradient_sums_split.
class GradientReducer final : public GradientCore {
 public:
  // `next` takes the sums; it and `metrics` outlive the reducer. `post` has a function called by the thread that calls
  // the reducer: for the answers of `next`, which come from any. Once the reducer has gone it calls none.
  GradientReducer(const GradientReducerOptions& options, GradientTaker* next, Metrics* metrics,
                  std::function<void(std::function<void()>)> post);

  void Take(GradientPush push, GradientTaker::Answer answer, absl::Time now) override;
  void Tick(absl::Time now) override;
  absl::Time NextTick() const override;

 private:
  struct Input {
    GradientPush push;
    GradientTaker::Answer answer;
  };

  void Flush();
  void Send(Input input);
  // Splits the answer to a sum among its inputs, or sends these singly.
  void OnAnswer(std::vector<Input> inputs, const GradientAnswer& answer);
  GradientTaker::Answer Counted(GradientTaker::Answer answer) const;

  const GradientReducerOptions options_;
  GradientTaker* const next_;
  Metrics* const metrics_;
  const std::function<void(std::function<void()>)> post_;
  std::vector<Input> gathered_;
  size_t members_ = 0;  // In gathered_.
  absl::Time flush_at_ = absl::InfiniteFuture();
};

}  // namespace waggle
