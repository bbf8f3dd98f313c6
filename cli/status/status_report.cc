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
#include "cli/status/environments_report.h"
#include "cli/status/loop_text.h"
#include "cli/status/progress_view.h"
#include "cli/status/run_facts.h"
#include "cli/status/tables_report.h"
#include "common/hub/hub_convert.h"
#include "common/hub/summary/bottleneck.h"
#include "common/hub/summary/gradients_report.h"
#include "common/hub/summary/proto_json.h"
#include "common/hub/summary/result_report.h"
#include "common/hub/summary/run_summary.h"

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
    // Sums mean nothing by themselves. Refusals and policy lags have their own lines.
    if (!absl::EndsWith(name, "_sum") && !absl::StartsWith(name, "refused_") &&
        !absl::StartsWith(name, "policy_lag/")) {
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

// "pole-x7k2q: running, submitted 20 min ago, begun 5 min ago; why".
std::string HeadingText(const v1::ExperimentInfo& info, const std::string& cause, absl::Time now) {
  std::string text =
      absl::StrCat(Printable(info.id()), ": ", RunStateName(FromProto(info.state()).value_or(RunState::kNoExperiment)));
  const auto add = [&text, now](const char* what, int64_t at_us) {
    if (at_us != 0) {
      absl::StrAppend(&text, ", ", what, " ", ShortAge(now - FromMicros(at_us)), " ago");
    }
  };
  add("submitted", info.submitted_at_us());
  add("begun", info.started_at_us());
  add("ended", info.ended_at_us());
  return absl::StrCat(text, cause.empty() ? "" : "; ", Printable(cause), "\n  ", Printable(info.algorithm()), " on ",
                      Printable(info.environment()), ", seed ", info.seed(), ", priority ", info.priority(),
                      ", results in ", Printable(info.output_folder()), "\n");
}

}  // namespace

std::string StatusText(const ClusterSnapshot& snapshot, absl::Time now) {
  const v1::OverviewResponse& overview = snapshot.overview;
  const RunFacts facts = GatherFacts(snapshot);
  std::string text = HeadingText(snapshot.info, facts.cause, now);
  if (facts.state == RunState::kQueued && snapshot.info.attempts() == 0) {
    return text;
  }
  absl::StrAppend(&text, "  environment steps ", overview.env_steps(), ", learner steps ", overview.learner_steps());
  if (overview.learner_steps_again() > 0) {
    absl::StrAppend(&text, " (", overview.learner_steps_again(), " of them are being learned again)");
  }
  if (overview.has_model_version()) {
    absl::StrAppend(&text, ", weights of step ", overview.model_version().version(), " (epoch ",
                    overview.model_version().epoch(), ", ", ShortBytes(static_cast<double>(overview.model_bytes())),
                    ")");
  }
  if (facts.training_return.has_value()) {
    absl::StrAppend(&text, absl::StrFormat(", training return %.1f", *facts.training_return));
  }
  absl::StrAppend(&text, "\n");
  if (const LoopFigures loop = LoopOf(overview); loop.running) {
    absl::StrAppend(&text, "  loop: ", LoopText(loop), "\n  slow: ", BottleneckText(FindBottleneck(loop)), "\n");
  }
  absl::StrAppend(&text, EnvironmentsText(overview, facts.env_steps_per_s));
  if (facts.gradients.has_value()) {
    absl::StrAppend(&text, absl::StrFormat("  gradients: %.0f pushed, ", facts.gradients->pushed),
                    GradientsText(*facts.gradients), "\n");
  }
  if (facts.items_learned > 0) {
    absl::StrAppend(&text, "  policy lag: ", RenderLag(facts), "\n");
  }
  if (!facts.evaluations.empty()) {
    absl::StrAppend(&text, "  ", RenderEvaluation(facts.evaluations.back(), std::nullopt), "\n");
  }
  if (!overview.weights_unsaved().empty()) {
    absl::StrAppend(&text, "  weights are not all on the disk: ", Printable(overview.weights_unsaved()), "\n");
  }
  if (!overview.progress_unsaved().empty()) {
    absl::StrAppend(&text, "  progress is not on the disk: ", Printable(overview.progress_unsaved()), "\n");
  }
  if (!overview.figures_unrecorded().empty()) {
    absl::StrAppend(&text, "  figures are not recorded: ", Printable(overview.figures_unrecorded()), "\n");
  }
  if (facts.result.has_value()) {
    absl::StrAppend(&text, "  ", ResultText(*facts.result), "\n");
  }
  // For an ended experiment the rest is as it was at the end.
  const bool has_ended = snapshot.info.ended_at_us() != 0;
  const absl::Time seen = has_ended ? FromMicros(snapshot.info.ended_at_us()) : now;
  std::vector<std::vector<std::string>> rows = {
      {"process", "address", "host", "pid", "since", "heartbeat", "state", "rates"}};
  for (const v1::WorkerInfo& worker : overview.workers()) {
    const absl::Duration silent = absl::Milliseconds(worker.silent_ms());
    rows.push_back({WorkerName(worker), worker.address().empty() ? "-" : worker.address(), worker.host(),
                    absl::StrCat(worker.process_id()), ShortDuration(seen - FromMicros(worker.joined_at_us())),
                    has_ended ? "-" : absl::StrCat(ShortDuration(silent), " ago"),
                    worker.alive() ? worker.activity() : "gone", Rates(worker)});
  }
  absl::StrAppend(&text, "\n", AlignedColumns(rows, "  "), FailuresText(overview));
  if (has_ended || (facts.gradients.has_value() && snapshot.replay_servers.empty())) {
    return text;  // There are no tables any more, or there never were.
  }
  return absl::StrCat(text, "\n", TablesText(snapshot.replay_servers), RefusalsText(snapshot.replay_servers));
}

namespace {

Json EvaluationJson(const v1::Evaluation& evaluation) {
  Json json = ProtoJson(evaluation, {"finished_at_us"});
  json.update(ProtoJson(evaluation.version()));
  json["finished_at_unix_seconds"] = static_cast<double>(evaluation.finished_at_us()) / 1e6;
  return json;
}

Json FiguresJson(const google::protobuf::Map<std::string, double>& figures) {
  Json json = Json::object();
  for (const auto& [name, value] : std::map<std::string, double>(figures.begin(), figures.end())) {
    json[name] = value;
  }
  return json;
}

Json SecondsOf(int64_t at_us) {
  return at_us == 0 ? Json(nullptr) : Json(static_cast<double>(at_us) / 1e6);
}

// The current fields of summary.json.
RunSummary SummaryOf(const ClusterSnapshot& snapshot) {
  const v1::ExperimentInfo& info = snapshot.info;
  RunSummary summary;
  summary.id = info.id();
  summary.experiment = info.name();
  summary.algorithm = info.algorithm();
  summary.environment = info.environment();
  summary.seed = info.seed();
  summary.outcome = RunStateName(RunStateOf(snapshot.overview));
  summary.reason = info.reason();
  if (info.started_at_us() == 0) {
    return summary;
  }
  FillFromOverview(snapshot.overview, FromMicros(info.started_at_us()), &summary);
  return summary;
}

Json WorkerJson(const v1::WorkerInfo& worker, bool has_ended) {
  Json json =
      ProtoJson(worker, {"index", "process_id", "joined_at_us", "silent_ms", "counters", "gauges", "rates", "gone"});
  json.update(
      {{"name", WorkerName(worker)},
       {"role", RoleName(RoleOf(worker))},
       {"pid", worker.process_id()},
       {"since_unix_seconds", static_cast<double>(worker.joined_at_us()) / 1e6},
       {"seconds_since_heartbeat", has_ended ? Json(nullptr) : Json(static_cast<double>(worker.silent_ms()) / 1e3)},
       {"counters", FiguresJson(worker.counters())},
       {"gauges", FiguresJson(worker.gauges())},
       {"rates", FiguresJson(worker.rates())}});
  return json;
}

}  // namespace

std::string StatusJson(const ClusterSnapshot& snapshot, int indent) {
  const v1::OverviewResponse& overview = snapshot.overview;
  const RunFacts facts = GatherFacts(snapshot);
  Json json = SummaryOf(snapshot).AsJson();
  json["priority"] = snapshot.info.priority();
  json["attempts"] = snapshot.info.attempts();
  json["submitted_at"] = SecondsOf(snapshot.info.submitted_at_us());
  json["started_at"] = SecondsOf(snapshot.info.started_at_us());
  json["ended_at"] = SecondsOf(snapshot.info.ended_at_us());
  json["output_folder"] = snapshot.info.output_folder();
  json["software_version"] = overview.software_version();
  json["figures"] = FiguresJson(overview.figures());
  const LoopFigures loop = LoopOf(overview);
  json["loop"] = LoopJson(loop);
  json["bottleneck"] = BottleneckJson(FindBottleneck(loop));
  json["weights_unsaved"] = overview.weights_unsaved();
  json["progress_unsaved"] = overview.progress_unsaved();
  json["figures_unrecorded"] = overview.figures_unrecorded();
  json["training_return"] = facts.training_return.has_value() ? Json(*facts.training_return) : Json(nullptr);
  json["learner_steps_again"] = overview.learner_steps_again();
  json["model"] = nullptr;
  if (overview.has_model_version()) {
    json["model"] = {{"name", overview.model()},
                     {"epoch", overview.model_version().epoch()},
                     {"version", overview.model_version().version()},
                     {"bytes", overview.model_bytes()}};
  }
  json["evaluation"] = facts.evaluations.empty() ? Json(nullptr) : EvaluationJson(facts.evaluations.back());
  json["processes"] = Json::array();
  for (const v1::WorkerInfo& worker : overview.workers()) {
    json["processes"].push_back(WorkerJson(worker, snapshot.info.ended_at_us() != 0));
  }
  AddTables(snapshot.replay_servers, &json);
  // Invalid UTF-8 is replaced: this must not throw.
  return json.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace waggle
