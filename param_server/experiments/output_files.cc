#include "param_server/experiments/output_files.h"

#include "absl/strings/str_cat.h"
#include "common/base/file.h"
#include "common/hub/summary/run_summary.h"

namespace waggle {
namespace {

constexpr char kSummary[] = "/summary.json";

}  // namespace

absl::Status WriteBeginning(const std::string& output_folder, const std::string& yaml) {
  const absl::Status status = WriteFileAtomically(absl::StrCat(output_folder, "/experiment.yaml"), yaml);
  return status.ok() ? status : absl::UnavailableError(status.message());
}

std::string SummaryJson(const ExperimentRecord& record, const v1::OverviewResponse& overview) {
  RunSummary summary;
  summary.id = record.id;
  summary.experiment = record.name;
  summary.algorithm = record.algorithm;
  summary.environment = record.environment;
  summary.seed = record.seed;
  summary.waggle_version = record.software_version;
  summary.outcome = RunStateName(record.state);
  summary.reason = record.reason;
  FillFromOverview(overview, record.started.value_or(absl::Now()), &summary);
  return summary.ToJson();
}

absl::Status RemoveSummary(const std::string& output_folder) {
  return RemoveAll(absl::StrCat(output_folder, kSummary));
}

absl::Status WriteSummary(const std::string& output_folder, const std::string& json) {
  return WriteFileAtomically(absl::StrCat(output_folder, kSummary), json);
}

}  // namespace waggle
