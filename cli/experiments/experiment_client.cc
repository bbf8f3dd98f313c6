#include "cli/experiments/experiment_client.h"

#include <algorithm>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/status/server_kind.h"
#include "common/base/annotate.h"
#include "common/base/deadline.h"
#include "common/base/status_macros.h"
#include "common/net/channel.h"

namespace waggle {
namespace {

constexpr char kExperimentsPurpose[] = "experiments";
constexpr int64_t kMaxListPage = 1'000;
// Ids in an error.
constexpr int kMostNamed = 10;
constexpr absl::Duration kSubmitTimeout = absl::Seconds(5);
// The hub parses and saves up to a thousand experiments.
constexpr absl::Duration kGroupTimeout = absl::Seconds(30);
// If a hub takes longer, the user is told before it is asked again.
constexpr absl::Duration kAtOnce = absl::Seconds(1);
constexpr absl::Duration kSubmitPause = absl::Milliseconds(500);

}  // namespace

ExperimentClient::ExperimentClient(const std::string& param_server)
    : param_server_(param_server),
      stub_(v1::ExperimentService::NewStub(NewChannel(param_server, kExperimentsPurpose))) {}

absl::Status ExperimentClient::Explain(const absl::Status& status) const {
  if (absl::IsUnimplemented(status)) {
    return TellOtherKind(status, param_server_, ServerKind::kParamServer);
  }
  return HubIsAway(status)
             ? Annotate(status, absl::StrCat("the parameter server at ", param_server_, " does not answer"))
             : status;
}

absl::StatusOr<v1::SubmitResponse> ExperimentClient::Submit(
    const v1::SubmitRequest& request, absl::Duration patience, const StopToken& stop,
    const std::function<void(const std::string& line)>& tell) const {
  const Deadline deadline(patience);
  for (bool first = true;; first = false) {
    absl::StatusOr<v1::SubmitResponse> response = Ask(&v1::ExperimentService::Stub::Submit, request,
                                                      std::clamp(deadline.Left(), absl::Milliseconds(100),
                                                                 !request.members().empty() ? kGroupTimeout
                                                                 : first                    ? kAtOnce
                                                                                            : kSubmitTimeout),
                                                      stop);
    if (response.ok()) {
      return response;
    }
    if (!HubIsAway(response.status()) || deadline.Left() <= kSubmitPause) {
      return response.status();
    }
    if (first && tell != nullptr) {
      tell(absl::StrCat("waits for the parameter server at ", param_server_, ", which does not answer, for up to ",
                        absl::ToInt64Seconds(patience), " s"));
    }
    if (stop.WaitFor(kSubmitPause)) {
      return absl::CancelledError("interrupted; the experiment may be in the queue: `waggle list` shows it");
    }
  }
}

absl::StatusOr<v1::ExperimentInfo> ExperimentClient::Get(const std::string& id, absl::Duration timeout,
                                                         const StopToken& stop) const {
  v1::GetExperimentRequest request;
  request.set_id(id);
  return Ask(&v1::ExperimentService::Stub::Get, request, timeout, stop);
}

absl::StatusOr<v1::ListExperimentsResponse> ExperimentClient::List(int64_t limit,
                                                                   const v1::ListExperimentsRequest& filter,
                                                                   absl::Duration timeout) const {
  v1::ListExperimentsRequest request = filter;
  v1::ListExperimentsResponse all;
  const auto left = [&] { return limit - all.experiments_size() - all.groups_size(); };
  do {
    request.set_limit(static_cast<uint32_t>(std::min(left(), kMaxListPage)));
    request.set_page_token(all.next_page_token());
    WAGGLE_ASSIGN_OR_RETURN(v1::ListExperimentsResponse page,
                            Ask(&v1::ExperimentService::Stub::List, request, timeout));
    all.MergeFrom(page);
    all.set_next_page_token(page.next_page_token());
  } while (!all.next_page_token().empty() && left() > 0);
  return all;
}

absl::StatusOr<v1::ResolveResponse> ExperimentClient::Resolve(const std::string& word, absl::Duration timeout,
                                                              const StopToken& stop) const {
  v1::ResolveRequest request;
  request.set_word(word);
  return Ask(&v1::ExperimentService::Stub::Resolve, request, timeout, stop);
}

absl::StatusOr<std::string> ExperimentClient::ResolveOne(const std::string& word, absl::Duration timeout,
                                                         const StopToken& stop) const {
  WAGGLE_ASSIGN_OR_RETURN(const v1::ResolveResponse found, Resolve(word, timeout, stop));
  if (found.ids_size() == 1) {
    return found.ids(0);
  }
  const int named = std::min(found.ids_size(), kMostNamed);
  return absl::FailedPreconditionError(absl::StrCat(
      found.group(), " is a group of ", found.ids_size(), " experiments; wanted one of ",
      absl::StrJoin(found.ids().begin(), found.ids().begin() + named, ", "), named < found.ids_size() ? ", …" : ""));
}

absl::StatusOr<v1::ExperimentInfo> ExperimentClient::TheRunningOne(absl::Duration timeout) const {
  v1::ListExperimentsRequest filter;
  filter.add_states(v1::RUN_STATE_RUNNING);
  filter.add_states(v1::RUN_STATE_FINISHING);
  WAGGLE_ASSIGN_OR_RETURN(const v1::ListExperimentsResponse all, List(kMaxListPage, filter, timeout));
  std::vector<const v1::ExperimentInfo*> running;
  for (const v1::ExperimentInfo& experiment : all.experiments()) {
    running.push_back(&experiment);
  }
  if (running.size() == 1) {
    return *running.front();
  }
  if (running.empty()) {
    return absl::NotFoundError(absl::StrCat("no experiment runs at ", param_server_));
  }
  return absl::FailedPreconditionError(absl::StrCat(
      running.size(), " experiments run at ", param_server_, ": say which one with --experiment: ",
      absl::StrJoin(running, ", ",
                    [](std::string* out, const v1::ExperimentInfo* one) { absl::StrAppend(out, one->id()); })));
}

std::string NewRequestId() {
  std::random_device random;
  std::string id = "submit-";
  for (int i = 0; i < 4; ++i) {
    absl::StrAppend(&id, absl::Hex(random(), absl::kZeroPad8));
  }
  return id;
}

bool HubIsAway(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

}  // namespace waggle
