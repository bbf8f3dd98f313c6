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
#include "common/base/annotate.h"
#include "common/base/threads/stop_token.h"
#include "common/net/channel.h"
#include "common/net/unary_call.h"
#include "common/replay/table_names.h"
#include "waggle/v1/replay.grpc.pb.h"
#include "waggle/v1/worker.pb.h"

namespace waggle {

// One server's answer.
template <class Response>
struct ReplayAnswer {
  std::string address;
  absl::Status status;
  Response response;  // Empty if the status is not OK.
};

// The more useful of two servers' errors: the first, but not a NOT_FOUND if there is another, as the server that could
// not answer may have the table.
inline const absl::Status& MoreTelling(const absl::Status& first, const absl::Status& second) {
  return first.ok() || (absl::IsNotFound(first) && !second.ok() && !absl::IsNotFound(second)) ? second : first;
}

// OK if at least one server answered; otherwise the most useful error, with the server's address.
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

// A replay server that a run should have and that is missing.
struct MissingReplayServer {
  uint32_t index = 0;
  std::string address;  // Its last address; empty if it never joined.
  // Since the hub last heard of it; nothing if it never joined, or the hub has forgotten it.
  std::optional<absl::Duration> silent;
  std::string failure;  // Why it gave up, in its own words; empty if it has not said.
};

// "replay server 1, last at HOST:PORT, is missing: …".
std::string MissingText(const MissingReplayServer& server);

// A process of a run that has sent no heartbeat for several periods and has not left.
struct SilentWorker {
  v1::WorkerInfo worker;
  absl::Duration silent;
};

// The replay servers of a target, for the verbs that ask them. One thread at a time.
class ReplayServers {
 public:
  // Finds a run's servers, in the order of their indices, or takes named ones in their order. Blocks for at most about
  // `timeout`. UNAVAILABLE or DEADLINE_EXCEEDED, naming the address, if the parameter server does not answer;
  // FAILED_PRECONDITION if the experiment is ambiguous, unknown or over; NOT_FOUND if none runs yet, or if none of its
  // replay servers is alive, naming the missing ones.
  static absl::StatusOr<ReplayServers> Find(const ReplayTarget& target, absl::Duration timeout);

  // UNAVAILABLE, with a remedy, if some servers of the run's buffer are missing: they may be asked, but must not be
  // written to as one buffer. Named servers count as complete.
  const absl::Status& complete() const { return complete_; }
  // The missing servers of a run, by index. Empty if servers are named.
  const std::vector<MissingReplayServer>& missing() const { return missing_; }
  // The silent workers of a run. Empty if servers are named.
  const std::vector<SilentWorker>& silent() const { return silent_; }
  // The experiment whose tables are asked for. Empty: the tables of named servers that belong to no experiment.
  const std::string& experiment_id() const { return experiment_id_; }
  // The servers' name for the table with this plain name.
  std::string TableName(const std::string& plain) const { return TablePrefix(experiment_id_) + plain; }
  // True if the servers are a run's, found through its parameter server; false if they were named.
  bool of_run() const { return of_run_; }

  size_t size() const { return servers_.size(); }
  const std::string& address(size_t i) const { return servers_[i].address; }

  template <class Request, class Response>
  using Method = StubMethod<v1::ReplayService::Stub, Request, Response>;

  // Asks one server, for at most `timeout`. FAILED_PRECONDITION, naming the kind of server, if it is no replay server.
  // Tables have the servers' names in requests and responses, and plain names in errors.
  template <class Request, class Response>
  absl::Status Ask(size_t i, Method<Request, Response> method, const Request& request, absl::Duration timeout,
                   Response* response) {
    absl::StatusOr<Response> answer = CallUnary(servers_[i].stub.get(), method, request, timeout);
    if (answer.ok()) {
      *response = *std::move(answer);
    }
    return WithPlainNames(TellOtherKind(answer.status(), address(i), ServerKind::kReplayServer), experiment_id_);
  }

  // Asks all servers, in their order.
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
