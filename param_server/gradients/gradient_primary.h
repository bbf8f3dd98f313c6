#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/metrics/metrics.h"
#include "param_server/gradients/gradient_core.h"
#include "param_server/gradients/settled_gradients.h"
#include "param_server/gradients/stepped_parameters.h"

namespace waggle {

struct GradientPrimaryOptions {
  bool mean = true;                                     // Steps from the mean over all members; else from their sum.
  int64_t batch = 1;                                    // Gradients or sums of several that make a step…
  absl::Duration flush_after = absl::Milliseconds(50);  // …fewer, where the first has waited for so long.
  // A gradient may be based on weights of so many steps ago; absent: of any.
  std::optional<int64_t> max_staleness;
  bool scale_stale = false;  // One that is older counts 1 / (1 + steps above that) times; else it is refused.
  int64_t max_steps = 0;     // No more steps than this in all; 0: no limit.
  uint64_t epoch = 1;        // Of the weights that are published from here.
  int64_t first_step = 0;    // That was taken before this primary began.
};

// Steps the weights from gradients, each of which counts once: gathers a batch, steps, and then answers.
//
// Weights of an earlier epoch are as old as their steps say, where this primary began no earlier than they; those of
// steps that a restart has undone are beyond every bound on staleness.
//
// Of a sum it takes all members or none: one with a member that was seen, is stale or would be refused is to be sent
// singly. A gradient that comes again while the first one waits for its step is answered with it.
//
// Counts gradients_pushed, gradients_applied, gradients_refused, gradients_refused_REASON, gradients_repeated (not
// among the pushed), gradient_sums_split and gradients_rolled_back.
class GradientPrimary final : public GradientCore {
 public:
  // `parameters`, `settled` and `metrics` outlive it. `progress`: the run's, but for the learner's steps.
  GradientPrimary(const GradientPrimaryOptions& options, SteppedParameters* parameters, SettledGradients* settled,
                  Metrics* metrics, std::function<Progress()> progress);

  void Take(GradientPush push, GradientTaker::Answer answer, absl::Time now) override;
  void Tick(absl::Time now) override;
  absl::Time NextTick() const override;

  // Steps in all, those before `first_step` included.
  int64_t step() const { return step_; }
  // Whether `max_steps` are done, or End was called.
  bool over() const { return over_; }

  // Refuses what is gathered and all that comes.
  void End();

 private:
  struct Input {
    GradientPush push;
    GradientTaker::Answer answer;
    float scale = 1;
  };
  // What is to become of a member that is new: a refusal, or how much it counts.
  struct Judgement {
    std::optional<GradientResult> refusal;
    float scale = 1;
  };

  void TakeOne(GradientPush push, GradientTaker::Answer answer, absl::Time now);
  bool CanTakeWhole(const GradientPush& sum) const;
  Judgement Judge(const GradientModel& model, const GradientMember& member) const;
  // Steps since the weights that a gradient is based on; nothing where these are undone.
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
  std::vector<Input> repeated_;  // Of one member each, which is among those gathered.
  std::shared_ptr<char> sum_;    // Room for one gradient; null before it is needed.
};

}  // namespace waggle
