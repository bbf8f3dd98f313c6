#include "cli/status/progress_teller.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace waggle {

RunFacts ProgressTeller::Tell(const ClusterSnapshot& snapshot, const std::optional<Experiment>& experiment,
                              const ProgressContext& context) {
  RunFacts facts = GatherFacts(snapshot);
  if (facts.state == RunState::kQueued) {
    const std::string waits_for = absl::StrCat("queued", facts.cause.empty() ? "" : ": ", facts.cause);
    if (waits_for != waits_for_) {
      waits_for_ = waits_for;
      printer_->Event(waits_for);
    }
    return facts;
  }
  const bool from_actors = facts.gradients.has_value() && !facts.gradients->by_learners;
  if (experiment.has_value() && experiment->learner.actors_push() && !from_actors) {
    facts.gradients.emplace();  // No actor has come yet, though the primary, a learner to the hub, may have.
  }
  std::set<EvaluationName> evaluations;
  for (size_t i = 0; i < facts.evaluations.size(); ++i) {
    const v1::Evaluation& evaluation = facts.evaluations[i];
    const EvaluationName name = {evaluation.finished_at_us(), evaluation.version().epoch(),
                                 evaluation.version().version()};
    // Only the newest evaluation from before the first snapshot.
    if (evaluations_.has_value() ? evaluations_->count(name) == 0 : i + 1 == facts.evaluations.size()) {
      printer_->Event(RenderEvaluation(evaluation, context.target_return));
    }
    evaluations.insert(name);
  }
  evaluations_ = std::move(evaluations);
  if (const std::string& why = snapshot.overview.figures_unrecorded(); why != figures_unrecorded_) {
    figures_unrecorded_ = why;
    printer_->Event(why.empty() ? "figures are recorded again" : absl::StrCat("figures are not recorded: ", why));
  }
  if (snapshot.info.ended_at_us() == 0) {  // An ended experiment has no momentary figures.
    printer_->Update(facts, context);
  }
  return facts;
}

}  // namespace waggle
