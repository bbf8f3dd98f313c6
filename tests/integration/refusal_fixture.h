#pragma once

#include <google/protobuf/descriptor.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "common/base/threads/executor.h"
#include "common/net/channel.h"
#include "common/net/server.h"
#include "common/net/unary_call.h"
#include "replay_server/service/replay_service.h"
#include "tests/support/catch.h"
#include "tests/support/replay_fixtures.h"

// What a replay service refuses, field by field: the code, what the message says, the reason that is counted, and that
// nothing has changed.

namespace waggle::testing {

std::string BytesOf(const ByteSlices& slices);

using RefusalCounts = std::map<std::string, uint64_t>;

// A service without a folder, over loopback. It has a table "t" of windows of up to 3 rows with a row of context,
// "small" of max_bytes 200, and "packed", whose observations are compressed; the writers "w", "s" and "p" have written
// to them.
class RefusalFixture {
 public:
  RefusalFixture();

  v1::ReplayService::Stub* stub() const { return stub_.get(); }
  const std::string& address() const { return server_->address(); }

  // All that there is to be seen of tables and writers.
  std::string State() const;
  RefusalCounts Refusals() const;

  // A call of a unary method.
  template <class Request, class Response>
  absl::StatusOr<Response> Call(StubMethod<v1::ReplayService::Stub, Request, Response> method,
                                const Request& request) const {
    return CallUnary(stub_.get(), method, request, absl::Minutes(1));
  }
  // A stream: these messages are sent, and all that is answered is read.
  absl::Status Insert(const std::vector<v1::InsertRequest>& requests) const;
  absl::Status Sample(const std::vector<v1::SampleRequest>& requests) const;
  absl::Status Export(const v1::ExportRequest& request, std::string* bytes) const;

 private:
  void Fill(const TableConfig& table, const std::string& writer, InsertBlock block);

  ReplayStore store_;
  Executor executor_{"test", 1, 100};
  ReplayService service_;
  const std::unique_ptr<RpcServer> server_;
  const std::unique_ptr<v1::ReplayService::Stub> stub_;
};

// How one field is spoiled, in something that is right otherwise.
template <class Sent>
struct RefusalCase {
  std::string field;  // From the message on: "config.sampler.kind".
  std::string how;
  std::function<void(Sent*)> spoil;
  absl::StatusCode code;
  std::string says;
  std::string reason;
};

// Fields of which any value is right, and why.
using AnyValue = std::map<std::string, std::string>;

// Every field of a message and of those in it has a case, or is in `any`.
void CheckEveryField(const google::protobuf::Descriptor& message, const std::set<std::string>& cases,
                     const AnyValue& any);

// That what is sent well but for one thing is refused as the case says, and that nothing else comes of it.
void CheckRefused(const RefusalFixture& fixture, const std::function<absl::Status()>& send, absl::StatusCode code,
                  const std::string& says, const std::string& reason);

template <class Sent>
void CheckRefusals(const RefusalFixture& fixture, const google::protobuf::Descriptor& message, const Sent& good,
                   const std::vector<RefusalCase<Sent>>& cases, const AnyValue& any,
                   const std::function<absl::Status(const Sent&)>& send) {
  std::set<std::string> fields;
  for (const RefusalCase<Sent>& refused : cases) {
    INFO(refused.field << ": " << refused.how);
    fields.insert(refused.field);
    Sent sent = good;
    refused.spoil(&sent);
    CheckRefused(
        fixture, [&] { return send(sent); }, refused.code, refused.says, refused.reason);
  }
  CheckEveryField(message, fields, any);
  REQUIRE_OK(send(good));  // Otherwise none of the cases says anything.
}

}  // namespace waggle::testing
