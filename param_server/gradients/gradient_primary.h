#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/metrics/metrics.h"
#include "param_server/gradients/gradient_core.h"
#include "param_server/gradients/settled_gradients.h"
#include "param_server/gradients/stepped_parameters.h"

namespace waggle {

struct GradientPrimaryOptions {
  bool mean = true;                                     // Steps from the mean over all members; else from their sum.
  int64_t batch = 1;                                    // Gradients, or sums of several, in a step…
  absl::Duration flush_after = absl::Milliseconds(50);  // …fewer, if the first has waited this long.
  // The greatest age of the weights that a gradient is based on, in steps; absent: no limit.
  std::optional<int64_t> max_staleness;
  bool scale_stale = false;  // An older gradient counts 1 / (1 + steps above the limit) times; else it is refused.
  int64_t max_steps = 0;     // Steps in all; 0: no limit.
  uint64_t epoch = 1;        // The epoch of published weights.
  int64_t first_step = 0;    // Steps taken before this primary began.
};

// Steps the weights from gradients, each of which counts once: gathers a batch, steps, then answers.
//
// The age of an earlier epoch's weights follows from their step. Weights of steps that a restart has undone exceed
// every limit on staleness.
//
// Takes all members of a sum or none: if a member was seen before, is stale or would be refused, the members must be
// sent singly. A gradient that is repeated while the first one waits for its step gets the same answer.
//
// Counts gradients_pushed, gradients_applied, gradients_refused, gradients_refused_REASON, gradients_repeated (not
// among the pushed), gradient_sums_split and gradients_rolled_back.
class GradientPrimary final : public GradientCore {
 public:
  // `parameters`, `settled` and `metrics` outlive it. `progress` returns the run's; its learner steps are ignored.
  GradientPrimary(const GradientPrimaryOptions& options, SteppedParameters* parameters, SettledGradients* settled,
                  Metrics* metrics, std::function<Progress()> progress);

  void Take(GradientPush push, GradientTaker::Answer answer, absl::Time now) override;
  void Tick(absl::Time now) override;
  absl::Time NextTick() const override;

  // Steps in all, including `first_step`.
  int64_t step() const { return step_; }
  // True after `max_steps`, or after End.
  bool over() const { return over_; }

  // Refuses the gathered gradients and all later ones.
  void End();

 private:
  struct Input {
    GradientPush push;
    GradientTaker::Answer answer;
    float scale = 1;
  };
  // The decision about a new member.
  struct Judgement {
    std::optional<GradientResult> refusal;
    float scale = 1;
  };

  void TakeOne(GradientPush push, GradientTaker::Answer answer, absl::Time now);
  bool CanTakeWhole(const GradientPush& sum) const;
  Judgement Judge(const GradientModel& model, const GradientMember& member) const;
  // Steps since the weights that a gradient is based on; absent if these steps were undone.
  std::optional<int64_t> StepsSince(const ModelVersion& based_on) const;
  bool IsGathered(const GradientMember& member) const;
  void Gather(Input input, absl::Time now);
  void Flush();
  absl::Status Step();
  void Settle(const GradientMember& member, const GradientResult& result);
  void AnswerRepeated();
  Progress Now() const;

  const GradientPrimaryOptions options_;
  SteppedParameters* const parameters_;
  SettledGradients* const settled_;
  Metrics* const metrics_;
  const std::function<Progress()> progress_;
  int64_t step_;
  bool over_ = false;
  std::vector<Input> gathered_;
  size_t members_ = 0;  // In gathered_.
  absl::Time flush_at_ = absl::InfiniteFuture();
  std::vector<Input> repeated_;  // Each has one member, which is gathered too.
  std::shared_ptr<char> sum_;    // Room for one gradient; null until needed.
};

}  // namespace waggle
