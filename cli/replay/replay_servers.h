#pragma once

#include <grpcpp/channel.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/replay/replay_target.h"
#include "cli/status/server_kind.h"
#include "cli/status/table_names.h"
#include "common/base/annotate.h"
#include "common/base/stop_token.h"
#include "common/rpc/channel.h"
#include "common/rpc/unary_call.h"
#include "waggle/v1/replay.grpc.pb.h"
#include "waggle/v1/worker.pb.h"

namespace waggle {

// What one server said.
template <class Response>
struct ReplayAnswer {
  std::string address;
  absl::Status status;
  Response response;  // Empty where the status is not OK.
};

// Of the errors of several servers the one to be told: the first, but rather one that is not NOT_FOUND, as the server
// that could not answer may have what the others do not.
inline const absl::Status& MoreTelling(const absl::Status& first, const absl::Status& second) {
  return first.ok() || (absl::IsNotFound(first) && !second.ok() && !absl::IsNotFound(second)) ? second : first;
}

// OK where at least one server answered well; the error to be told otherwise, with the server's address.
template <class Response>
absl::Status ErrorOfAll(const std::vector<ReplayAnswer<Response>>& answers) {
  absl::Status error;
  for (const ReplayAnswer<Response>& answer : answers) {
    if (answer.status.ok()) {
      return absl::OkStatus();
    }
    error = MoreTelling(error, Annotate(answer.status, absl::StrCat("the replay server at ", answer.address)));
  }
  return error;
}

// A replay server that a run should have and that is not there.
struct MissingReplayServer {
  uint32_t index = 0;
  std::string address;                   // Where it was last; empty where it never was.
  std::optional<absl::Duration> silent;  // Since the hub heard of it last; none where it never did, or does not know.
  std::string failure;                   // Why it gave up, in its own words; empty where it has not said.
};

// "replay server 1, last at HOST:PORT, is missing: …".
std::string MissingText(const MissingReplayServer& server);

// A process of a run of which nothing has been heard for several heartbeats, and that has not said goodbye.
struct SilentWorker {
  v1::WorkerInfo worker;
  absl::Duration silent;
};

// The replay servers of a target, for people's questions. One thread at a time.
class ReplayServers {
 public:
  // Those of a run in the order of their indices, named ones as they were named. Blocks for at most about `timeout`.
  // UNAVAILABLE or DEADLINE_EXCEEDED, naming the address, if the parameter server does not answer; FAILED_PRECONDITION
  // where it cannot be said which experiment is meant, or that one is unknown or over; NOT_FOUND where none runs yet,
  // or no replay server of it is alive, with those that are missing.
  static absl::StatusOr<ReplayServers> Find(const ReplayTarget& target, absl::Duration timeout);

  // UNAVAILABLE, with what to do, where they are not all that a run's buffer is spread over: enough to ask, but nobody
  // may write to them as to one buffer. Named ones are taken as complete.
  const absl::Status& complete() const { return complete_; }
  // Those of a run that are not there, by their indices: nobody is asked in their place. None where servers are named.
  const std::vector<MissingReplayServer>& missing() const { return missing_; }
  // A run's workers that are silent. None where servers are named.
  const std::vector<SilentWorker>& silent() const { return silent_; }
  // Whose tables are asked for; empty: those of named servers that are no experiment's.
  const std::string& experiment_id() const { return experiment_id_; }
  // What the servers call the table that people call so.
  std::string TableName(const std::string& plain) const { return TablePrefix(experiment_id_) + plain; }
  // Whether they are a run's, found through its parameter server; otherwise they were named.
  bool of_run() const { return of_run_; }

  size_t size() const { return servers_.size(); }
  const std::string& address(size_t i) const { return servers_[i].address; }

  template <class Request, class Response>
  using Method = grpc::Status (v1::ReplayService::Stub::*)(grpc::ClientContext*, const Request&, Response*);

  // Asks one of them, for at most `timeout`. FAILED_PRECONDITION, with what it is, if it is no replay server. In the
  // request and the response tables have the servers' names, in errors plain ones.
  template <class Request, class Response>
  absl::Status Ask(size_t i, Method<Request, Response> method, const Request& request, absl::Duration timeout,
                   Response* response) {
    const absl::Status status = CallUnary(timeout, StopToken(), [&](grpc::ClientContext* context) {
      return (servers_[i].stub.get()->*method)(context, request, response);
    });
    const absl::Status told = TellOtherKind(status, address(i), ServerKind::kReplayServer);
    return WithPlainNames(told, experiment_id_);
  }

  // Asks each of them, in their order.
  template <class Request, class Response>
  std::vector<ReplayAnswer<Response>> AskAll(Method<Request, Response> method, const Request& request,
                                             absl::Duration timeout) {
    std::vector<ReplayAnswer<Response>> answers;
    for (size_t i = 0; i < size(); ++i) {
      ReplayAnswer<Response> answer;
      answer.address = address(i);
      answer.status = Ask(i, method, request, timeout, &answer.response);
      answers.push_back(std::move(answer));
    }
    return answers;
  }

 private:
  struct Server {
    std::string address;
    std::unique_ptr<v1::ReplayService::Stub> stub;
  };
  std::vector<Server> servers_;
  absl::Status complete_;
  std::vector<MissingReplayServer> missing_;
  std::vector<SilentWorker> silent_;
  std::string experiment_id_;
  bool of_run_ = false;
};

}  // namespace waggle
