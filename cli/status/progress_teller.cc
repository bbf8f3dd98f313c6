#include "cli/status/progress_teller.h"

#include "absl/strings/str_cat.h"

namespace waggle {

RunFacts ProgressTeller::Tell(const ClusterSnapshot& snapshot, const std::optional<Experiment>& experiment,
                              const ProgressContext& context) {
  RunFacts facts = GatherFacts(snapshot);
  if (facts.state == RunState::kQueued) {
    const std::string waits_for =
        absl::StrCat("queued", facts.outcome_reason.empty() ? "" : ": ", facts.outcome_reason);
    if (waits_for != waits_for_) {
      waits_for_ = waits_for;
      printer_->Event(waits_for);
    }
    return facts;
  }
  if (experiment.has_value() && experiment->learner.pushes() && !facts.gradients.has_value()) {
    facts.gradients.emplace();  // No actor has come yet.
  }
  for (const v1::Evaluation& evaluation : facts.evaluations) {
    if (evaluation.finished_at_us() > last_evaluation_us_) {
      last_evaluation_us_ = evaluation.finished_at_us();
      printer_->Event(RenderEvaluation(evaluation, context.target_return));
    }
  }
  if (const std::string& why = snapshot.overview.figures_unrecorded(); why != figures_unrecorded_) {
    figures_unrecorded_ = why;
    printer_->Event(why.empty() ? "figures are recorded again" : absl::StrCat("figures are not recorded: ", why));
  }
  printer_->Update(facts, context);
  return facts;
}

}  // namespace waggle
