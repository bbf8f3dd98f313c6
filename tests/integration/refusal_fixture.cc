#include "tests/integration/refusal_fixture.h"

#include <utility>

#include "absl/strings/str_join.h"
#include "common/base/reason.h"
#include "common/replay/table_config_convert.h"

namespace waggle::testing {
namespace {

ReplayStoreOptions StoreOptions() {
  ReplayStoreOptions options;
  options.max_bytes = int64_t{64} << 20;
  options.max_tables = 4;
  options.writer.max_block_bytes = 1 << 20;
  options.writer.max_streams = 8;
  options.writer.max_held_bytes = 1 << 20;
  options.writer.max_block_references = 1000;
  return options;
}

void AddFields(const google::protobuf::Descriptor& message, const std::string& prefix, std::set<std::string>* fields) {
  for (int i = 0; i < message.field_count(); ++i) {
    const google::protobuf::FieldDescriptor& field = *message.field(i);
    if (field.message_type() != nullptr) {
      AddFields(*field.message_type(), prefix + field.name() + ".", fields);
    } else {
      fields->insert(prefix + field.name());
    }
  }
}

std::string Text(const RefusalCounts& counts) {
  return absl::StrJoin(counts, ", ", absl::PairFormatter(" "));
}

// Sends the requests, reads all answers, and returns the stream's status.
template <class Request, class Response>
absl::Status Exchange(grpc::ClientReaderWriter<Request, Response>* stream, const std::vector<Request>& requests) {
  for (const Request& request : requests) {
    if (!stream->Write(request)) {
      break;
    }
  }
  stream->WritesDone();
  Response response;
  while (stream->Read(&response)) {
  }
  return FromGrpcStatus(stream->Finish());
}

ReplayServiceOptions ServiceOptions() {
  ReplayServiceOptions options;
  options.sample.max_batch_bytes = 1 << 20;
  return options;
}

}  // namespace

std::string BytesOf(const ByteSlices& slices) {
  std::string bytes(slices.size(), '\0');
  slices.CopyTo(bytes.data());
  return bytes;
}

RefusalFixture::RefusalFixture()
    : store_(StoreOptions()),
      service_(&store_, nullptr, &executor_, &executor_, ServiceOptions()),
      server_(ValueOf(RpcServer::Start("127.0.0.1:0", {&service_}))),
      stub_(v1::ReplayService::NewStub(NewChannel(server_->address(), "test"))) {
  TableConfig table = SimpleTable("t");
  table.max_window = 3;
  table.view[0].stack = 2;
  table.sampler.kind = SelectorKind::kPrioritized;
  table.sampler.priority_exponent = 1;
  Fill(table, "w", SimpleBlock(0, 5));
  TableConfig small = SimpleTable("small");
  small.max_window = 100;
  small.max_bytes = 200;
  Fill(small, "s", SimpleBlock(0, 1));
  TableConfig packed = SimpleTable("packed");
  packed.compression = {{"observation", Codec::kLz4}};
  InsertBlock block = SimpleBlock(0, 2);
  block.compressed_bytes = {16};
  const std::string bytes = BytesOf(block.data);
  // Columns that are not compressed come first.
  const auto ordered = std::make_shared<std::string>(bytes.substr(16) + bytes.substr(0, 16));
  block.data = ByteSlices({ordered->data(), ordered->size(), ordered});
  Fill(packed, "p", std::move(block));
}

void RefusalFixture::Fill(const TableConfig& table, const std::string& writer, InsertBlock block) {
  REQUIRE_OK(store_.CreateTable(table));
  const auto session = ValueOf(store_.OpenWriter(writer, {table.name}, table.signature));
  REQUIRE_OK(session->Claim(0));
  absl::Status inserted = absl::UnknownError("not yet");
  session->Insert(1, std::move(block),
                  [&inserted](const absl::StatusOr<WriterSession::Result>& result) { inserted = result.status(); });
  REQUIRE_OK(inserted);
}

std::string RefusalFixture::State() const {
  auto described = ValueOf(Call(&v1::ReplayService::Stub::Describe, v1::DescribeRequest()));
  described.clear_refusals();
  described.clear_seconds_running();
  std::string state = described.DebugString();
  for (const v1::TableInfo& table : described.tables()) {
    v1::InspectRequest request;
    request.set_table(table.config().name());
    request.set_page_size(1000);
    request.set_statistics(true);
    auto items = ValueOf(Call(&v1::ReplayService::Stub::Inspect, request));
    for (v1::InspectedItem& item : *items.mutable_items()) {
      item.clear_age_seconds();
    }
    state += items.DebugString();
    v1::ExportRequest exported;
    exported.set_table(table.config().name());
    REQUIRE_OK(Export(exported, &state));
  }
  return state;
}

RefusalCounts RefusalFixture::Refusals() const {
  const auto described = ValueOf(Call(&v1::ReplayService::Stub::Describe, v1::DescribeRequest()));
  return {described.refusals().begin(), described.refusals().end()};
}

absl::Status RefusalFixture::Insert(const std::vector<v1::InsertRequest>& requests) const {
  grpc::ClientContext context;
  SetDeadline(absl::Minutes(1), &context);
  const auto stream = stub_->Insert(&context);
  return Exchange(stream.get(), requests);
}

absl::Status RefusalFixture::Sample(const std::vector<v1::SampleRequest>& requests) const {
  grpc::ClientContext context;
  SetDeadline(absl::Minutes(1), &context);
  const auto stream = stub_->Sample(&context);
  return Exchange(stream.get(), requests);
}

absl::Status RefusalFixture::Export(const v1::ExportRequest& request, std::string* bytes) const {
  grpc::ClientContext context;
  SetDeadline(absl::Minutes(1), &context);
  const auto reader = stub_->Export(&context, request);
  v1::ExportResponse response;
  while (reader->Read(&response)) {
    *bytes += response.DebugString();
  }
  return FromGrpcStatus(reader->Finish());
}

void CheckEveryField(const google::protobuf::Descriptor& message, const std::set<std::string>& cases,
                     const AnyValue& any) {
  std::set<std::string> fields;
  AddFields(message, "", &fields);
  std::set<std::string> named = cases;
  for (const auto& [field, why] : any) {
    INFO(message.name() << "." << field << " has both a case and a reason why there is none");
    CHECK((cases.count(field) == 0 && !why.empty()));
    named.insert(field);
  }
  for (const std::string& field : fields) {
    INFO(message.name() << "." << field << " has no case, and no reason why there is none");
    CHECK(named.count(field) == 1);
  }
  for (const std::string& field : named) {
    INFO(message.name() << " has no field " << field);
    CHECK(fields.count(field) == 1);
  }
}

void CheckRefused(const RefusalFixture& fixture, const std::function<absl::Status()>& send, absl::StatusCode code,
                  const std::string& reason) {
  const std::string state = fixture.State();
  RefusalCounts expected = fixture.Refusals();
  const absl::Status status = send();
  CAPTURE(status.ToString());
  CHECK(status.code() == code);
  CHECK(ReasonOf(status) == reason);
  ++expected[reason];
  CHECK(Text(fixture.Refusals()) == Text(expected));
  const bool changed = fixture.State() != state;  // Both are too long to print.
  CHECK_FALSE(changed);
}

}  // namespace waggle::testing
