#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/stopwatch.h"
#include "common/base/threads/stop_token.h"
#include "common/net/unary_call.h"
#include "waggle/v1/experiment.grpc.pb.h"

namespace waggle {

// Asks a hub about its experiments and its pool. Thread-safe.
class ExperimentClient {
 public:
  // HOST:PORT of the parameter server. Connects when first used.
  explicit ExperimentClient(const std::string& param_server);

  const std::string& param_server() const { return param_server_; }

  // Makes a call, which may take `timeout`. UNAVAILABLE or DEADLINE_EXCEEDED, naming the address, if the hub does not
  // answer; FAILED_PRECONDITION, naming the kind of server, if it is not a hub; CANCELLED after a stop; otherwise the
  // hub's status.
  template <class Request, class Response>
  absl::StatusOr<Response> Ask(StubMethod<v1::ExperimentService::Stub, Request, Response> method,
                               const Request& request, absl::Duration timeout,
                               const StopToken& stop = StopToken()) const {
    absl::StatusOr<Response> response = CallUnary(stub_.get(), method, request, timeout, stop);
    if (!response.ok()) {
      return Explain(response.status());
    }
    return response;
  }

  // Submits an experiment. A request whose answer is lost is repeated until `patience` ends; its
  // request_id makes that safe. If the hub does not answer at once, `tell` (unless null) is called once with a line
  // that names the hub and the time to wait.
  absl::StatusOr<v1::SubmitResponse> Submit(const v1::SubmitRequest& request, absl::Duration patience,
                                            const StopToken& stop = StopToken(),
                                            const std::function<void(const std::string& line)>& tell = nullptr) const;

  absl::StatusOr<v1::ExperimentInfo> Get(const std::string& id, absl::Duration timeout,
                                         const StopToken& stop = StopToken()) const;

  // The newest experiments, and groups if `filter` folds them, at most `limit`, that pass the filter. If the answer has
  // a token there are more. Makes one call for each thousand experiments; `timeout` is for one call.
  absl::StatusOr<v1::ListExperimentsResponse> List(int64_t limit, const v1::ListExperimentsRequest& filter,
                                                   absl::Duration timeout) const;

  // The experiments that a user's word stands for: an id, a group's id, or the beginning of one. NOT_FOUND if there are
  // none; FAILED_PRECONDITION, with the ids, if several begin so.
  absl::StatusOr<v1::ResolveResponse> Resolve(const std::string& word, absl::Duration timeout,
                                              const StopToken& stop = StopToken()) const;
  // The id of the only experiment that a word stands for. Errors as Resolve; FAILED_PRECONDITION, with some ids, also
  // for a group.
  absl::StatusOr<std::string> ResolveOne(const std::string& word, absl::Duration timeout,
                                         const StopToken& stop = StopToken()) const;

  // The running experiment. NOT_FOUND if none runs; FAILED_PRECONDITION, with their ids, if several do.
  absl::StatusOr<v1::ExperimentInfo> TheRunningOne(absl::Duration timeout) const;

 private:
  absl::Status Explain(const absl::Status& status) const;

  const std::string param_server_;
  const std::unique_ptr<v1::ExperimentService::Stub> stub_;
};

// A unique name for a submission.
std::string NewRequestId();

// True if the hub did not answer; false if the request was wrong.
bool HubIsAway(const absl::Status& status);

// How long a hub that has answered may be away, as while it restarts.
class HubPatience {
 public:
  explicit HubPatience(absl::Duration patience) : patience_(patience) {}

  void Answered() { since_answer_.emplace(); }
  // True if the caller should ask again after this error.
  bool Bears(const absl::Status& error) const {
    return HubIsAway(error) && since_answer_.has_value() && since_answer_->Elapsed() < patience_;
  }

 private:
  const absl::Duration patience_;
  std::optional<Stopwatch> since_answer_;
};

}  // namespace waggle
