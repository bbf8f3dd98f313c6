#include "cli/run/resume_at_hub.h"

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/status_macros.h"
#include "common/hub/hub_convert.h"

namespace waggle {
namespace {

using Service = v1::ExperimentService::Stub;

constexpr absl::Duration kAnswerTimeout = absl::Seconds(5);
// The hub may have to close the run first.
constexpr absl::Duration kChangeTimeout = absl::Seconds(30);

}  // namespace

absl::StatusOr<std::string> ResumeAtHub(const ExperimentClient& client,
                                        const std::vector<std::pair<std::string, std::string>>& limits) {
  v1::ListExperimentsRequest list;
  list.set_limit(2);
  WAGGLE_ASSIGN_OR_RETURN(const v1::ListExperimentsResponse all, client.Ask(&Service::List, list, kAnswerTimeout));
  if (all.experiments_size() != 1) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the run's hub has ", all.experiments_size() == 0 ? "no experiment" : "several experiments", "; wanted one"));
  }
  const v1::ExperimentInfo& info = all.experiments(0);
  WAGGLE_ASSIGN_OR_RETURN(const RunState state, FromProto(info.state()));
  if (!IsOver(state) && limits.empty()) {
    return info.id();
  }
  if (!IsOver(state)) {  // Limits change between two attempts.
    v1::StopExperimentRequest stop;
    stop.set_id(info.id());
    WAGGLE_RETURN_IF_ERROR(client.Ask(&Service::Stop, stop, kChangeTimeout).status());
  }
  v1::ResumeExperimentRequest resume;
  resume.set_id(info.id());
  for (const auto& [key, value] : limits) {
    v1::SetNumbersRequest::Number* const limit = resume.add_limits();
    limit->set_key(key);
    limit->set_value(value);
  }
  WAGGLE_RETURN_IF_ERROR(client.Ask(&Service::Resume, resume, kChangeTimeout).status());
  return info.id();
}

}  // namespace waggle
