#pragma once

#include <google/protobuf/descriptor.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/base/threads/executor.h"
#include "common/net/channel.h"
#include "common/net/server.h"
#include "common/net/unary_call.h"
#include "replay_server/service/replay_service.h"
#include "tests/support/catch.h"
#include "tests/support/replay_fixtures.h"

// The refusals of a replay service, field by field: the code, the counted reason, and no change.

namespace waggle::testing {

std::string BytesOf(const ByteSlices& slices);

using RefusalCounts = std::map<std::string, uint64_t>;

// A service without a folder, over loopback. Its tables are "t" (windows of up to 3 rows, with a row of context),
// "small" (max_bytes 200) and "packed" (compressed observations). They have items of the writers "w", "s" and "p".
class RefusalFixture {
 public:
  RefusalFixture();

  v1::ReplayService::Stub* stub() const { return stub_.get(); }
  const std::string& address() const { return server_->address(); }

  // All that a client can see of tables and writers.
  std::string State() const;
  RefusalCounts Refusals() const;

  // A call of a unary method.
  template <class Request, class Response>
  absl::StatusOr<Response> Call(StubMethod<v1::ReplayService::Stub, Request, Response> method,
                                const Request& request) const {
    return CallUnary(stub_.get(), method, request, absl::Minutes(1));
  }
  // Streams: send these messages, and read all answers.
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

// One wrong field in a message that is right otherwise.
template <class Sent>
struct RefusalCase {
  std::string field;  // From the message on: "config.sampler.kind".
  std::string how;
  std::function<void(Sent*)> spoil;
  absl::StatusCode code;
  std::string reason;
};

// Fields with no wrong value, and the reason.
using AnyValue = std::map<std::string, std::string>;

// Checks that every field of a message, and of messages in it, has a case or is in `any`.
void CheckEveryField(const google::protobuf::Descriptor& message, const std::set<std::string>& cases,
                     const AnyValue& any);

// Checks that a call is refused, counted, and changes nothing.
void CheckRefused(const RefusalFixture& fixture, const std::function<absl::Status()>& send, absl::StatusCode code,
                  const std::string& reason);

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
        fixture, [&] { return send(sent); }, refused.code, refused.reason);
  }
  CheckEveryField(message, fields, any);
  REQUIRE_OK(send(good));  // Only the spoiled field was wrong.
}

}  // namespace waggle::testing
