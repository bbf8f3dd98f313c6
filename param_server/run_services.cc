// No test of its own: those of the services see it.
#include "param_server/run_services.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace waggle {

absl::Status ClosedError() {
  return absl::NotFoundError("the experiment does not run here any more");
}

absl::StatusOr<std::shared_ptr<RunServices>> FindOrRefuse(const FindRun& find, const std::string& experiment_id) {
  std::shared_ptr<RunServices> run = find(experiment_id);
  if (run == nullptr) {
    return absl::NotFoundError(absl::StrCat("no experiment \"", absl::CHexEscape(experiment_id), "\" runs here"));
  }
  return run;
}

}  // namespace waggle
