#include "cli/status/status_report.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/human_text.h"
#include "cli/status/gradients_report.h"
#include "cli/status/progress_view.h"
#include "cli/status/result_report.h"
#include "cli/status/run_facts.h"
#include "cli/status/tables_report.h"

namespace waggle {
namespace {

using Json = nlohmann::ordered_json;

absl::Time FromMicros(int64_t us) {
  return absl::FromUnixMicros(us);
}

std::string Rates(const v1::WorkerInfo& worker) {
  const std::map<std::string, double> sorted(worker.rates().begin(), worker.rates().end());
  std::vector<std::string> parts;
  for (const auto& [name, rate] : sorted) {
    // What a mean is made of says nothing by itself; what was refused stands below, in full.
    if (!absl::EndsWith(name, "_sum") && !absl::StartsWith(name, "refused_")) {
      parts.push_back(absl::StrCat(name, " ", ShortNumber(rate), "/s"));
    }
  }
  return absl::StrJoin(parts, ", ");
}

std::string FailuresText(const v1::OverviewResponse& overview) {
  std::string text;
  for (const v1::WorkerInfo& worker : overview.workers()) {
    if (!worker.failure().empty()) {
      absl::StrAppend(&text, "  ", WorkerName(worker), ", process ", worker.process_id(),
                      ", gave up: ", Printable(worker.failure()), "\n");
    }
  }
  return text;
}

}  // namespace

std::string StatusText(const ClusterSnapshot& snapshot, absl::Time now) {
  const v1::OverviewResponse& overview = snapshot.overview;
  const RunFacts facts = GatherFacts(snapshot);
  std::string text = overview.experiment_name().empty() ? "no experiment" : Printable(overview.experiment_name());
  if (facts.state != RunState::kNoExperiment) {
    absl::StrAppend(&text, ": ", RunStateName(facts.state), ", begun ",
                    ShortDuration(now - FromMicros(overview.started_at_us())), " ago");
  }
  absl::StrAppend(&text, overview.outcome_reason().empty() ? "" : "; ", Printable(overview.outcome_reason()), "\n");
  absl::StrAppend(&text, "  environment steps ", overview.env_steps(), ", learner steps ", overview.learner_steps());
  if (overview.has_model_version()) {
    absl::StrAppend(&text, ", weights of step ", overview.model_version().version(), " (epoch ",
                    overview.model_version().epoch(), ", ", ShortBytes(static_cast<double>(overview.model_bytes())),
                    ")");
  }
  if (facts.training_return.has_value()) {
    absl::StrAppend(&text, absl::StrFormat(", training return %.1f", *facts.training_return));
  }
  absl::StrAppend(&text, "\n");
  if (facts.gradients.has_value()) {
    absl::StrAppend(&text, absl::StrFormat("  gradients: %.0f pushed, ", facts.gradients->pushed),
                    GradientsText(*facts.gradients), "\n");
  }
  if (!facts.evaluations.empty()) {
    absl::StrAppend(&text, "  ", RenderEvaluation(facts.evaluations.back(), std::nullopt), "\n");
  }
  if (!overview.weights_unsaved().empty()) {
    absl::StrAppend(&text, "  weights are not all on the disk: ", Printable(overview.weights_unsaved()), "\n");
  }
  if (!overview.figures_unrecorded().empty()) {
    absl::StrAppend(&text, "  figures are not recorded: ", Printable(overview.figures_unrecorded()), "\n");
  }
  if (facts.result.has_value()) {
    absl::StrAppend(&text, "  ", ResultText(*facts.result), "\n");
  }
  std::vector<std::vector<std::string>> rows = {
      {"process", "address", "host", "pid", "since", "heartbeat", "state", "rates"}};
  for (const v1::WorkerInfo& worker : overview.workers()) {
    const absl::Duration silent = absl::Milliseconds(worker.silent_ms());
    rows.push_back({WorkerName(worker), worker.address().empty() ? "-" : worker.address(), worker.host(),
                    absl::StrCat(worker.process_id()), ShortDuration(now - FromMicros(worker.joined_at_us())),
                    absl::StrCat(ShortDuration(silent), " ago"), worker.alive() ? worker.activity() : "gone",
                    Rates(worker)});
  }
  absl::StrAppend(&text, "\n", AlignedColumns(rows, "  "), FailuresText(overview));
  if (facts.gradients.has_value() && snapshot.replay_servers.empty()) {
    return text;  // A run without tables.
  }
  return absl::StrCat(text, "\n", TablesText(snapshot.replay_servers), RefusalsText(snapshot.replay_servers));
}

namespace {

Json EvaluationJson(const v1::Evaluation& evaluation) {
  return {{"epoch", evaluation.version().epoch()},
          {"version", evaluation.version().version()},
          {"episodes", evaluation.episodes()},
          {"mean_return", evaluation.mean_return()},
          {"min_return", evaluation.min_return()},
          {"max_return", evaluation.max_return()},
          {"standard_deviation", evaluation.standard_deviation()},
          {"mean_length", evaluation.mean_length()},
          {"env_steps", evaluation.env_steps()},
          {"finished_at_unix_seconds", static_cast<double>(evaluation.finished_at_us()) / 1e6}};
}

Json FiguresJson(const google::protobuf::Map<std::string, double>& figures) {
  Json json = Json::object();
  for (const auto& [name, value] : std::map<std::string, double>(figures.begin(), figures.end())) {
    json[name] = value;
  }
  return json;
}

Json WorkerJson(const v1::WorkerInfo& worker) {
  return {{"name", WorkerName(worker)},
          {"role", RoleName(RoleOf(worker))},
          {"worker_id", worker.worker_id()},
          {"address", worker.address()},
          {"host", worker.host()},
          {"pid", worker.process_id()},
          {"since_unix_seconds", static_cast<double>(worker.joined_at_us()) / 1e6},
          {"seconds_since_heartbeat", static_cast<double>(worker.silent_ms()) / 1e3},
          {"alive", worker.alive()},
          {"failure", worker.failure()},
          {"activity", worker.activity()},
          {"counters", FiguresJson(worker.counters())},
          {"gauges", FiguresJson(worker.gauges())},
          {"rates", FiguresJson(worker.rates())}};
}

}  // namespace

std::string StatusJson(const ClusterSnapshot& snapshot, absl::Time now) {
  const v1::OverviewResponse& overview = snapshot.overview;
  const RunFacts facts = GatherFacts(snapshot);
  Json json;
  json["experiment"] = overview.experiment_name();
  json["state"] = RunStateName(facts.state);
  json["reason"] = overview.outcome_reason();
  json["software_version"] = overview.software_version();
  json["seconds_running"] = overview.started_at_us() == 0
                                ? Json(nullptr)
                                : Json(absl::ToDoubleSeconds(now - FromMicros(overview.started_at_us())));
  json["env_steps"] = overview.env_steps();
  json["learner_step"] = overview.learner_steps();
  json["figures"] = FiguresJson(overview.figures());
  json["weights_unsaved"] = overview.weights_unsaved();
  json["figures_unrecorded"] = overview.figures_unrecorded();
  json["training_return"] = facts.training_return.has_value() ? Json(*facts.training_return) : Json(nullptr);
  json["model"] = nullptr;
  if (overview.has_model_version()) {
    json["model"] = {{"name", overview.model()},
                     {"epoch", overview.model_version().epoch()},
                     {"version", overview.model_version().version()},
                     {"bytes", overview.model_bytes()}};
  }
  json["evaluation"] = facts.evaluations.empty() ? Json(nullptr) : EvaluationJson(facts.evaluations.back());
  json["result"] = ResultJson(facts.result);
  json["gradients"] = GradientsJson(facts.gradients);
  json["processes"] = Json::array();
  for (const v1::WorkerInfo& worker : overview.workers()) {
    json["processes"].push_back(WorkerJson(worker));
  }
  AddTables(snapshot.replay_servers, &json);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace waggle
