#include "cli/experiments/watch.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "cli/human_text.h"
#include "cli/status/cluster_client.h"
#include "cli/status/progress_teller.h"
#include "cli/status/status_report.h"
#include "common/base/stopwatch.h"
#include "common/config/experiment/experiment.h"
#include "common/rl/algorithms/definitions.h"

namespace waggle {
namespace {

// Nothing if another version wrote the experiment and it does not parse: it is watched all the same.
std::optional<Experiment> ExperimentIn(const v1::ExperimentInfo& info) {
  auto experiment = ParseStoredExperiment(info.effective_yaml(), info.id(), {}, BuiltinAlgorithmDefinitions());
  return experiment.ok() ? std::optional<Experiment>(*std::move(experiment)) : std::nullopt;
}

ProgressContext ContextOf(const v1::ExperimentInfo& info, const std::optional<Experiment>& experiment) {
  ProgressContext context;
  context.experiment = info.id();
  context.output_folder = info.output_folder();
  if (experiment.has_value()) {
    context.target_return = experiment->stop.target_return;
  }
  if (info.started_at_us() != 0) {
    const absl::Time end = info.ended_at_us() == 0 ? absl::Now() : absl::FromUnixMicros(info.ended_at_us());
    context.elapsed = end - absl::FromUnixMicros(info.started_at_us());
  }
  return context;
}

}  // namespace

absl::StatusOr<int> WatchExperiment(const WatchFlags& flags, const StopToken& stop, ProgressPrinter* printer,
                                    std::ostream* out, const WatchOptions& options) {
  ClusterClient client(flags.param_server, flags.id);
  ProgressTeller teller(printer);
  std::optional<Experiment> experiment;
  HubPatience patience(options.patience);
  if (options.has_answered) {
    patience.Answered();
  }
  bool has_looked = false;
  bool said_away = false;
  std::optional<Stopwatch> since_json;
  do {
    const absl::StatusOr<ClusterSnapshot> snapshot = client.Fetch(options.timeout);
    if (!snapshot.ok()) {
      if (!patience.Bears(snapshot.status())) {
        return snapshot.status();
      }
      if (!said_away && !flags.json) {
        printer->Event(std::string(snapshot.status().message()));
      }
      said_away = true;
      continue;
    }
    patience.Answered();
    if (!std::exchange(has_looked, true)) {
      experiment = ExperimentIn(snapshot->info);
    }
    said_away = false;
    const RunState state = RunStateOf(snapshot->overview);
    // An ended experiment has written its files once it is closed.
    const bool closed = IsOver(state) && snapshot->info.ended_at_us() != 0;
    if (flags.json) {
      const bool due = !since_json.has_value() || since_json->Elapsed() >= options.json_period;
      if (closed || (due && !IsOver(state))) {  // The line of the end is the last one.
        *out << StatusJson(*snapshot, /*indent=*/-1) << std::flush;
        since_json.emplace();
      }
    } else {
      const ProgressContext context = ContextOf(snapshot->info, experiment);
      const RunFacts facts = teller.Tell(*snapshot, experiment, context);
      if (closed) {
        printer->SetOutcome(RunStateName(state));
        printer->Event(absl::StrCat(RunStateName(state), " after ", ShortDuration(facts.running), " and ",
                                    ShortNumber(facts.env_steps), " environment steps",
                                    facts.outcome_reason.empty() ? "" : ": ", facts.outcome_reason));
      }
    }
    if (printer->failed() || !out->good()) {
      return absl::DataLossError("the output cannot be written");
    }
    if (closed) {
      const bool has_target = experiment.has_value() && experiment->stop.target_return.has_value();
      return state == RunState::kSolved || (state == RunState::kLimit && !has_target) ? 0 : 1;
    }
  } while (!stop.WaitFor(options.period));
  return absl::CancelledError("interrupted; the experiment goes on");
}

}  // namespace waggle
