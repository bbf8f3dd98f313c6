// Refused unary calls about a table's items, and bytes that are no request.
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/net/raw_codec.h"
#include "tests/integration/raw_stream.h"
#include "tests/integration/refusal_fixture.h"

namespace waggle {
namespace {

using testing::AnyValue;
using testing::CheckRefusals;
using testing::RawStream;
using testing::RefusalCase;
using testing::RefusalFixture;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kNotFound = absl::StatusCode::kNotFound;

// The case of every request with a `table`.
template <class Request>
RefusalCase<Request> UnknownTable() {
  return {"table", "unknown", [](Request* r) { r->set_table("tt"); }, kNotFound, "unknown_table"};
}

// The first three items of the table "t": their keys are 0, 1, 2.
template <class Request>
Request OfItems(const RefusalFixture& fixture) {
  v1::InspectRequest inspect;
  inspect.set_table("t");
  inspect.set_page_size(3);
  const auto page = testing::ValueOf(fixture.Call(&v1::ReplayService::Stub::Inspect, inspect));
  Request request;
  request.set_table("t");
  for (const v1::InspectedItem& item : page.items()) {
    request.add_keys(item.key());
    request.add_generations(item.generation());
  }
  return request;
}

TEST_CASE("an update of priorities with one wrong entry is refused as a whole", "[grpc]") {
  const RefusalFixture fixture;
  using Request = v1::UpdatePrioritiesRequest;
  Request good = OfItems<Request>(fixture);
  for (const double priority : {2.0, 3.0, 4.0}) {
    good.add_priorities(priority);
  }
  std::vector<RefusalCase<Request>> cases = {
      UnknownTable<Request>(),
      {"keys", "too many", [](Request* r) { r->add_keys(1); }, kInvalid, "bad_request"},
      {"generations", "too many", [](Request* r) { r->add_generations(1); }, kInvalid, "bad_request"},
      {"priorities", "none", [](Request* r) { r->clear_priorities(); }, kInvalid, "bad_request"},
      {"priorities", "too large to be summed", [](Request* r) { r->set_priorities(1, 1e308); }, kInvalid,
       "bad_priority"},
  };
  for (const double priority : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                                -std::numeric_limits<double>::infinity(), -1.0}) {
    cases.push_back({"priorities", std::to_string(priority), [priority](Request* r) { r->set_priorities(2, priority); },
                     kInvalid, "bad_priority"});
  }
  CheckRefusals<Request>(fixture, *Request::descriptor(), good, cases, AnyValue(), [&](const Request& request) {
    return fixture.Call(&v1::ReplayService::Stub::UpdatePriorities, request).status();
  });
}

TEST_CASE("a wrong deletion is refused as a whole", "[grpc]") {
  const RefusalFixture fixture;
  using Request = v1::DeleteRequest;
  CheckRefusals<Request>(fixture, *Request::descriptor(), OfItems<Request>(fixture),
                         {UnknownTable<Request>(),
                          {"keys", "too many", [](Request* r) { r->add_keys(1); }, kInvalid, "bad_request"},
                          {"generations", "none", [](Request* r) { r->clear_generations(); }, kInvalid, "bad_request"}},
                         AnyValue(), [&](const Request& request) {
                           return fixture.Call(&v1::ReplayService::Stub::Delete, request).status();
                         });
}

TEST_CASE("requests for an unknown table are refused", "[grpc]") {
  const RefusalFixture fixture;
  const auto check = [&fixture](auto good, const auto& send) {
    using Request = decltype(good);
    good.set_table("t");
    CheckRefusals<Request>(fixture, *Request::descriptor(), good, {UnknownTable<Request>()}, AnyValue(), send);
  };
  check(v1::ExportRequest(), [&](const v1::ExportRequest& request) {
    std::string bytes;
    return fixture.Export(request, &bytes);
  });
  check(v1::ExplainRequest(), [&](const v1::ExplainRequest& request) {
    return fixture.Call(&v1::ReplayService::Stub::Explain, request).status();
  });
  check(v1::ClearRequest(), [&](const v1::ClearRequest& request) {
    return fixture.Call(&v1::ReplayService::Stub::Clear, request).status();
  });
}

TEST_CASE("questions about items are refused for each wrong field", "[grpc]") {
  const RefusalFixture fixture;
  using Request = v1::InspectRequest;
  Request good;
  good.set_table("t");
  good.set_page_size(2);
  const std::vector<RefusalCase<Request>> cases = {
      UnknownTable<Request>(),
      {"order", "none", [](Request* r) { r->set_order(static_cast<Request::Order>(99)); }, kInvalid, "bad_request"},
      {"page_size", "too many", [](Request* r) { r->set_page_size(0xFFFFFFFFU); }, kInvalid, "bad_request"},
      {"page_token", "malformed", [](Request* r) { r->set_page_token("?"); }, kInvalid, "bad_request"},
      {"page_token", "of no number", [](Request* r) { r->set_page_token("k-1-1-7ff8000000000000"); }, kInvalid,
       "bad_request"},
      {"keys", "too many", [](Request* r) { r->mutable_keys()->Resize(1001, 1); }, kInvalid, "bad_request"},
      {"keys", "of no item, whose columns are asked for",
       [](Request* r) {
         r->add_keys(99);
         r->set_columns(true);
       },
       kNotFound, "unknown_item"},
      {"columns", "of no item", [](Request* r) { r->set_columns(true); }, kInvalid, "bad_request"},
  };
  const AnyValue any = {{"statistics", "both are choices"},
                        {"max_column_bytes", "no more is sent than there is, and than a message may have"}};
  CheckRefusals<Request>(fixture, *Request::descriptor(), good, cases, any, [&](const Request& request) {
    return fixture.Call(&v1::ReplayService::Stub::Inspect, request).status();
  });
}

TEST_CASE("a checkpoint is refused without a folder, and a cut also for its experiment and its tables", "[grpc]") {
  const RefusalFixture fixture;
  testing::CheckEveryField(*v1::CheckpointRequest::descriptor(), {"experiment_id"},
                           {{"cut", "zero asks for no cut, others are names"},
                            {"kept_cuts", "numbers without a cut are no error"},
                            {"begin_anew", "both are choices"}});
  testing::CheckEveryField(*v1::DescribeRequest::descriptor(), {}, AnyValue());
  const auto refused = [&](const v1::CheckpointRequest& request, absl::StatusCode code, const std::string& reason) {
    testing::CheckRefused(
        fixture, [&] { return fixture.Call(&v1::ReplayService::Stub::Checkpoint, request).status(); }, code, reason);
  };
  v1::CheckpointRequest request;
  refused(request, absl::StatusCode::kFailedPrecondition, "no_data_folder");
  request.set_cut(1);  // The tables of the experiment "" have no durability.
  refused(request, absl::StatusCode::kFailedPrecondition, "bad_configuration");
  request.set_experiment_id("x");
  refused(request, absl::StatusCode::kFailedPrecondition, "no_data_folder");
  for (const char* const name : {"../x", ".x", "a/b", "a\nb"}) {
    CAPTURE(name);
    request.set_experiment_id(name);
    refused(request, kInvalid, "bad_name");
  }
}

// Sends these bytes as the first message of a call of any kind.
absl::Status SendBytes(const RefusalFixture& fixture, const std::string& method, const std::string& bytes) {
  const grpc::Slice slice(bytes.data(), bytes.size());
  const RawStream stream(fixture.address(), "/waggle.v1.ReplayService/" + method);
  stream.peer->Send(grpc::ByteBuffer(&slice, 1));
  return stream.seen->AwaitEnd();
}

// A message whose first text, also in a message of it, is a byte that is not UTF-8. Empty if it has no text.
std::string NoUtf8In(const google::protobuf::Descriptor& message) {
  const auto field = [](int number, const std::string& content) {
    REQUIRE(number < 16);
    REQUIRE(content.size() < 128);
    return absl::StrCat(std::string(1, static_cast<char>(number << 3 | 2)),
                        std::string(1, static_cast<char>(content.size())), content);
  };
  for (int i = 0; i < message.field_count(); ++i) {
    if (message.field(i)->type() == google::protobuf::FieldDescriptor::TYPE_STRING) {
      return field(message.field(i)->number(), "\xFF");
    }
  }
  for (int i = 0; i < message.field_count(); ++i) {
    if (message.field(i)->type() == google::protobuf::FieldDescriptor::TYPE_MESSAGE) {
      if (const std::string inner = NoUtf8In(*message.field(i)->message_type()); !inner.empty()) {
        return field(message.field(i)->number(), inner);
      }
    }
  }
  return "";
}

TEST_CASE("every method refuses malformed and too large messages", "[grpc]") {
  const RefusalFixture fixture;
  const google::protobuf::ServiceDescriptor& service =
      *v1::CreateTableRequest::descriptor()->file()->FindServiceByName("ReplayService");
  // The methods that have cases in these files.
  std::set<std::string> methods = {"CreateTable",      "Reconfigure", "Insert",  "Sample",
                                   "UpdatePriorities", "Delete",      "Clear",   "Export",
                                   "Describe",         "Explain",     "Inspect", "Checkpoint"};
  for (int i = 0; i < service.method_count(); ++i) {
    const std::string& method = service.method(i)->name();
    CAPTURE(method);
    CHECK(methods.erase(method) == 1);
    testing::CheckRefused(
        fixture, [&] { return SendBytes(fixture, method, "\x0A\x7F"); }, kInvalid, "malformed_message");
    // Well formed, but not UTF-8.
    if (const std::string text = NoUtf8In(*service.method(i)->input_type()); !text.empty()) {
      testing::CheckRefused(
          fixture, [&] { return SendBytes(fixture, method, text); }, kInvalid, "malformed_message");
    }
    // More than any request may have beside its data.
    v1::ExportRequest large;
    large.set_table(std::string(9'000'000, 'x'));
    testing::CheckRefused(
        fixture, [&] { return SendBytes(fixture, method, large.SerializeAsString()); },
        absl::StatusCode::kResourceExhausted, "message_too_large");
  }
  CHECK(methods.empty());
}

TEST_CASE("a sampler that sends data is refused", "[grpc]") {
  const RefusalFixture fixture;
  v1::InsertRequest data;
  data.set_data("x");
  testing::CheckRefused(
      fixture, [&] { return SendBytes(fixture, "Sample", data.SerializeAsString()); }, kInvalid, "unexpected_message");
}

TEST_CASE("a message above the server's limit is refused by the server", "[grpc]") {
  const RefusalFixture fixture;
  grpc::ChannelArguments arguments;
  arguments.SetMaxSendMessageSize(-1);  // This client has no limit.
  const RawStream stream(grpc::CreateCustomChannel(fixture.address(), grpc::InsecureChannelCredentials(), arguments),
                         testing::kInsert);
  const std::string bytes(kMaxMessageBytes + 1'000, 'x');
  const grpc::Slice slice(bytes.data(), bytes.size());
  stream.peer->Send(grpc::ByteBuffer(&slice, 1));
  const absl::Status status = stream.seen->AwaitEnd();
  // The server ends the stream while the client still sends.
  CHECK((absl::IsResourceExhausted(status) || absl::IsCancelled(status)));
  CHECK_FALSE(fixture.State().empty());  // It still serves.
}

TEST_CASE("served and cancelled calls do not count as refused", "[grpc]") {
  const RefusalFixture fixture;
  v1::SampleRequest open;
  open.mutable_open()->set_table("t");
  open.mutable_open()->set_batch_size(2);
  open.set_credits(1);
  REQUIRE_OK(fixture.Sample({open}));
  {
    const RawStream stream(fixture.address(), testing::kSample);
    stream.peer->Send(EncodeMessage(open, ByteSlices()));
    REQUIRE(stream.seen->AwaitCount(2));
    stream.peer->Close(absl::CancelledError("enough"));
    (void)stream.seen->AwaitEnd();
  }
  CHECK(fixture.Refusals().empty());
}

}  // namespace
}  // namespace waggle
