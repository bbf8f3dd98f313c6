#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/time/time.h"
#include "common/base/metrics/metrics.h"
#include "param_server/gradients/gradient_core.h"

namespace waggle {

struct GradientReducerOptions {
  int64_t batch = 1;                                    // Gradients in a sum…
  absl::Duration flush_after = absl::Milliseconds(50);  // …fewer, if the first has waited this long.
};

// Adds gradients and passes on the sum. Keeps the summands until the sum is answered, and sends them singly if the
// answer asks for it. A gradient of another model than the gathered ones is passed on alone.
//
// Counts gradients_pushed, gradients_applied, gradients_refused, gradients_refused_REASON and gradient_sums_split.
class GradientReducer final : public GradientCore {
 public:
  // `next` takes the sums; it and `metrics` outlive the reducer. `post` runs a function in the thread that calls the
  // reducer, as the answers of `next` may come in any thread. It must run none after the reducer's destruction.
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
