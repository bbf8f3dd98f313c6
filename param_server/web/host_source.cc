#include "param_server/web/host_source.h"

#include <memory>

#include "param_server/services/overview_convert.h"

namespace waggle {

absl::StatusOr<v1::OverviewResponse> HostSource::Overview(const std::string& id) {
  const absl::StatusOr<std::shared_ptr<RunServices>> run = host_->Find(id);
  if (!run.ok()) {
    return absl::IsNotFound(run.status()) ? host_->PastOverview(id) : run.status();
  }
  v1::OverviewResponse overview;
  ToProto((*run)->hub->Overview(), &overview);
  overview.set_experiment_id(id);
  return overview;
}

absl::StatusOr<ExperimentTexts> HostSource::Texts(const std::string& id) {
  // PresentTexts adds the numbers that were set since.
  return host_->Texts(id);
}

}  // namespace waggle
