// What a client that is broken or malicious can do to a replay server: it is told what was wrong, and others are
// served.
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "common/base/random.h"
#include "common/net/array_spec_convert.h"
#include "common/net/channel.h"
#include "common/net/client_stream.h"
#include "common/net/unary_call.h"
#include "common/replay/replay_convert.h"
#include "common/replay/table_config_convert.h"
#include "tests/common/replay/replay_server_fixture.h"
#include "tests/integration/raw_stream.h"
#include "tests/support/catch.h"
#include "tests/support/replay_fixtures.h"

namespace waggle {
namespace {

using testing::kInsert;
using testing::kSample;
using testing::RawStream;
using testing::ServerFixture;
using testing::SimpleBlock;
using testing::SimpleSampler;
using testing::SimpleTable;
using testing::SimpleWriter;
using testing::ValueOf;

v1::InsertRequest OpenRequest(const TableConfig& table) {
  v1::InsertRequest request;
  request.mutable_open()->set_writer_id("hostile");
  request.mutable_open()->add_tables(table.name);
  for (const ArraySpec& column : table.signature) {
    *request.mutable_open()->add_signature() = ToProto(column);
  }
  return request;
}

struct Block {
  v1::InsertRequest header;
  ByteSlices data;
};

Block BlockRequest(uint64_t sequence, const InsertBlock& block) {
  Block request;
  *request.header.mutable_block() = ToProto(block);
  request.header.mutable_block()->set_sequence(sequence);
  request.data = block.data;
  return request;
}

// Opens a writer's stream, sends the block, and returns how the stream ended.
absl::Status InsertOutcome(const ServerFixture& server, const TableConfig& table, const Block& block) {
  const RawStream stream(server.address(), kInsert);
  stream.peer->Send(EncodeMessage(OpenRequest(table), ByteSlices()));
  stream.peer->Send(EncodeMessage(block.header, block.data));
  return stream.seen->AwaitEnd();
}

// Whether an honest writer and sampler are served.
void CheckStillServes(const ServerFixture& server, const TableConfig& table) {
  const auto connection = server.Connect();
  const auto writer = ValueOf(connection->NewWriter(SimpleWriter("honest", table)));
  REQUIRE_OK(writer->Append(SimpleBlock(0, 10), StopToken()));
  REQUIRE_OK(writer->Flush(absl::Seconds(30)));
  const auto sampler = ValueOf(connection->NewSampler(SimpleSampler(table, 4)));
  REQUIRE_OK(sampler->Next(StopToken()));
}

TEST_CASE("A block that is wrong in any way is refused with a reason, and others are served", "[grpc]") {
  ServerFixture server;
  const TableConfig table = SimpleTable("replay");
  REQUIRE_OK(server.Connect()->CreateTable(table, StopToken()));
  struct Case {
    const char* name;
    std::function<void(Block*)> spoil;
    absl::StatusCode code;
  };
  const auto with_value = [](float value) {
    InsertBlock block = SimpleBlock(0, 3);
    const auto values = std::make_shared<std::vector<float>>(9, 1.0F);
    (*values)[4] = value;
    block.data = ByteSlices({reinterpret_cast<const char*>(values->data()), 9 * sizeof(float), values});
    return BlockRequest(1, block);
  };
  const auto kInvalid = absl::StatusCode::kInvalidArgument;
  const std::vector<Case> cases = {
      {"sequence 0", [](Block* b) { b->header.mutable_block()->set_sequence(0); },
       absl::StatusCode::kFailedPrecondition},
      {"a gap in the sequence", [](Block* b) { b->header.mutable_block()->set_sequence(5); },
       absl::StatusCode::kFailedPrecondition},
      {"no rows' bytes", [](Block* b) { b->data = ByteSlices(); }, kInvalid},
      {"rows of another size", [](Block* b) { *b = BlockRequest(1, SimpleBlock(0, 3, 5)); }, kInvalid},
      {"not a number", [&](Block* b) { *b = with_value(std::nanf("")); }, kInvalid},
      {"infinity", [&](Block* b) { *b = with_value(std::numeric_limits<float>::infinity()); }, kInvalid},
      {"a priority that is negative", [](Block* b) { b->header.mutable_block()->set_item_priority(0, -1); }, kInvalid},
      {"a priority that is not a number",
       [](Block* b) { b->header.mutable_block()->set_item_priority(0, std::nan("")); }, kInvalid},
      {"an unknown table",
       [](Block* b) {
         for (int i = 0; i < b->header.block().item_stream_size(); ++i) {
           b->header.mutable_block()->add_item_table(7);
         }
       },
       kInvalid},
      {"too few tables", [](Block* b) { b->header.mutable_block()->add_item_table(0); }, kInvalid},
      {"too few priorities", [](Block* b) { b->header.mutable_block()->mutable_item_priority()->RemoveLast(); },
       kInvalid},
      {"too few rows of chunks", [](Block* b) { b->header.mutable_block()->clear_chunk_rows(); }, kInvalid},
      {"a window past the last row", [](Block* b) { b->header.mutable_block()->set_item_first_row(0, 99); }, kInvalid},
      {"a window longer than the table's", [](Block* b) { b->header.mutable_block()->set_item_rows(0, 2); }, kInvalid},
      {"a chunk without rows", [](Block* b) { b->header.mutable_block()->set_chunk_rows(0, 0); }, kInvalid},
      {"a chunk of four billion rows", [](Block* b) { b->header.mutable_block()->set_chunk_rows(0, 0xFFFFFFFFU); },
       absl::StatusCode::kResourceExhausted},
      {"a chunk past the last row there can be",
       [](Block* b) { b->header.mutable_block()->set_chunk_first_row(0, ~uint64_t{0}); }, kInvalid},
      {"a second open", [&](Block* b) { b->header = OpenRequest(table); }, kInvalid},
      {"neither open nor block", [](Block* b) { b->header.Clear(); }, kInvalid},
  };
  for (const Case& spoiled : cases) {
    INFO(spoiled.name);
    Block block = BlockRequest(1, SimpleBlock(0, 3));
    spoiled.spoil(&block);
    const absl::Status status = InsertOutcome(server, table, block);
    CHECK(status.code() == spoiled.code);
    CHECK(!status.message().empty());
  }
  CheckStillServes(server, table);
}

TEST_CASE("Opening a stream wrongly is refused", "[grpc]") {
  ServerFixture server;
  const TableConfig table = SimpleTable("replay");
  REQUIRE_OK(server.Connect()->CreateTable(table, StopToken()));
  const auto insert = [&](const v1::InsertRequest& request, const ByteSlices& data) {
    const RawStream stream(server.address(), kInsert);
    stream.peer->Send(EncodeMessage(request, data));
    return stream.seen->AwaitEnd();
  };
  const auto sample = [&](const v1::SampleRequest& request) {
    const RawStream stream(server.address(), kSample);
    stream.peer->Send(EncodeMessage(request, ByteSlices()));
    return stream.seen->AwaitEnd();
  };
  v1::InsertRequest open = OpenRequest(table);
  REQUIRE_CODE(insert(open, SimpleBlock(0, 1).data), absl::StatusCode::kInvalidArgument);
  REQUIRE_CODE(insert(BlockRequest(1, SimpleBlock(0, 1)).header, ByteSlices()), absl::StatusCode::kInvalidArgument);
  open.mutable_open()->mutable_signature(0)->set_dtype(static_cast<v1::DataType>(99));
  REQUIRE_CODE(insert(open, ByteSlices()), absl::StatusCode::kInvalidArgument);
  open = OpenRequest(table);
  open.mutable_open()->mutable_signature(0)->set_shape(0, 3);
  REQUIRE_CODE(insert(open, ByteSlices()), absl::StatusCode::kFailedPrecondition);
  open = OpenRequest(table);
  open.mutable_open()->set_tables(0, "nothing");
  REQUIRE_CODE(insert(open, ByteSlices()), absl::StatusCode::kNotFound);
  open = OpenRequest(table);
  open.mutable_open()->clear_tables();
  REQUIRE_CODE(insert(open, ByteSlices()), absl::StatusCode::kInvalidArgument);
  open = OpenRequest(table);
  open.mutable_open()->set_writer_id("");
  REQUIRE_CODE(insert(open, ByteSlices()), absl::StatusCode::kInvalidArgument);

  v1::SampleRequest request;
  REQUIRE_CODE(sample(request), absl::StatusCode::kInvalidArgument);
  request.set_credits(3);
  REQUIRE_CODE(sample(request), absl::StatusCode::kInvalidArgument);
  request.mutable_open()->set_table("nothing");
  request.mutable_open()->set_batch_size(4);
  REQUIRE_CODE(sample(request), absl::StatusCode::kNotFound);
  request.mutable_open()->set_table(table.name);
  request.mutable_open()->set_batch_size(0);
  REQUIRE_CODE(sample(request), absl::StatusCode::kInvalidArgument);
  request.mutable_open()->set_batch_size(0xFFFFFFFFU);
  REQUIRE_CODE(sample(request), absl::StatusCode::kResourceExhausted);
  request.mutable_open()->set_batch_size(4);
  request.set_credits(1'000'000);
  REQUIRE_CODE(sample(request), absl::StatusCode::kResourceExhausted);
  CheckStillServes(server, table);
}

TEST_CASE("Random bytes on the streams are refused", "[grpc]") {
  ServerFixture server;
  const TableConfig table = SimpleTable("replay");
  REQUIRE_OK(server.Connect()->CreateTable(table, StopToken()));
  Rng rng(5);
  for (int i = 0; i < 100; ++i) {
    std::string bytes(1 + rng.UniformInt(300), '\0');
    for (char& byte : bytes) {
      byte = static_cast<char>(rng.Next());
    }
    const grpc::Slice slice(bytes.data(), bytes.size());
    const RawStream stream(server.address(), i % 2 == 0 ? kInsert : kSample);
    stream.peer->Send(grpc::ByteBuffer(&slice, 1));
    REQUIRE_CODE(stream.seen->AwaitEnd(), absl::StatusCode::kInvalidArgument);
  }
  CheckStillServes(server, table);
}

TEST_CASE("A message above the server's limit is refused by the server", "[grpc]") {
  ServerFixture server;
  const TableConfig table = SimpleTable("replay");
  REQUIRE_OK(server.Connect()->CreateTable(table, StopToken()));
  grpc::ChannelArguments arguments;
  arguments.SetMaxSendMessageSize(-1);  // This client has no limit of its own.
  const auto channel = grpc::CreateCustomChannel(server.address(), grpc::InsecureChannelCredentials(), arguments);
  const RawStream stream(channel, kInsert);
  const std::string bytes(kMaxMessageBytes + 1'000, 'x');
  const grpc::Slice slice(bytes.data(), bytes.size());
  stream.peer->Send(grpc::ByteBuffer(&slice, 1));
  const absl::Status status = stream.seen->AwaitEnd();
  // The server ends the stream while the client still sends.
  CHECK((absl::IsResourceExhausted(status) || absl::IsCancelled(status)));
  CheckStillServes(server, table);
}

TEST_CASE("Unary calls with nonsense are refused", "[grpc]") {
  ServerFixture server;
  const TableConfig table = SimpleTable("replay");
  REQUIRE_OK(server.Connect()->CreateTable(table, StopToken()));
  const auto stub = v1::ReplayService::NewStub(NewChannel(server.address(), "hostile"));
  const auto create = [&](const v1::TableConfig& config) {
    v1::CreateTableRequest request;
    *request.mutable_config() = config;
    return CallUnary(stub.get(), &v1::ReplayService::Stub::CreateTable, request, absl::Seconds(30));
  };
  const auto update = [&](const v1::UpdatePrioritiesRequest& request) {
    return CallUnary(stub.get(), &v1::ReplayService::Stub::UpdatePriorities, request, absl::Seconds(30));
  };
  v1::TableConfig config = ToProto(SimpleTable("other"));
  config.mutable_sampler()->set_kind(static_cast<v1::SelectorKind>(77));
  REQUIRE_CODE(create(config), absl::StatusCode::kInvalidArgument);
  config = ToProto(SimpleTable("other"));
  config.set_max_items(-1);
  REQUIRE_CODE(create(config), absl::StatusCode::kInvalidArgument);
  REQUIRE_CODE(create(v1::TableConfig()), absl::StatusCode::kInvalidArgument);

  v1::UpdatePrioritiesRequest request;
  request.set_table("nothing");
  REQUIRE_CODE(update(request), absl::StatusCode::kNotFound);
  request.set_table(table.name);
  request.add_keys(1);
  REQUIRE_CODE(update(request), absl::StatusCode::kInvalidArgument);
  request.add_generations(1);
  request.add_priorities(-1);
  REQUIRE_CODE(update(request), absl::StatusCode::kInvalidArgument);
  request.set_priorities(0, std::nan(""));
  REQUIRE_CODE(update(request), absl::StatusCode::kInvalidArgument);
  CheckStillServes(server, table);
}

TEST_CASE("A sampler that stops reading costs a bounded amount of work, and others are served", "[grpc]") {
  ReplayServiceOptions options;
  options.sample.max_bytes_in_flight = 1 << 20;
  ServerFixture server(options);
  const auto connection = server.Connect();
  const TableConfig table = SimpleTable("replay", 10'000);
  REQUIRE_OK(connection->CreateTable(table, StopToken()));
  const auto writer = ValueOf(connection->NewWriter(SimpleWriter("w", table)));
  REQUIRE_OK(writer->Append(SimpleBlock(0, 100, 10'000), StopToken()));
  REQUIRE_OK(writer->Flush(absl::Seconds(30)));
  {
    const RawStream stream(server.address(), kSample, /*reads_on=*/false);
    v1::SampleRequest request;
    request.mutable_open()->set_table(table.name);
    request.mutable_open()->set_batch_size(32);
    request.set_credits(1'000);  // 1.3 GB.
    stream.peer->Send(EncodeMessage(request, ByteSlices()));
    REQUIRE(stream.seen->AwaitCount(1));
    ReplaySamplerOptions sampling = SimpleSampler(table, 10);
    sampling.prefetch = 1;
    const auto sampler = ValueOf(connection->NewSampler(sampling));
    for (int i = 0; i < 100; ++i) {
      REQUIRE_OK(sampler->Next(StopToken()));
    }
    // The rest of what was sampled went to the stuck client: batches of 32 until buffers on the way were full.
    const double sampled = server.metrics().TakeSnapshot().counters.at("items_sampled");
    CHECK(sampled - 101 * 10 < 20 * 32);
  }
  REQUIRE_OK(ValueOf(connection->NewSampler(SimpleSampler(table, 10)))->Next(StopToken()));
}

TEST_CASE("Samplers that wait are cancelled with their streams", "[grpc]") {
  ServerFixture server;
  const TableConfig table = SimpleTable("empty");
  REQUIRE_OK(server.Connect()->CreateTable(table, StopToken()));
  const auto stub = v1::ReplayService::NewStub(NewChannel(server.address(), "observer"));
  const auto waiting = [&] {
    const auto described =
        CallUnary(stub.get(), &v1::ReplayService::Stub::Describe, v1::DescribeRequest(), absl::Seconds(30));
    return testing::ValueOf(described).tables(0).samples_waiting();
  };
  const auto becomes = [&](uint64_t expected) {
    const absl::Time deadline = absl::Now() + absl::Seconds(30);
    while (waiting() != expected && absl::Now() < deadline) {
    }
    return waiting() == expected;
  };
  {
    std::vector<std::unique_ptr<RawStream>> streams;
    for (int i = 0; i < 10; ++i) {
      streams.push_back(std::make_unique<RawStream>(server.address(), kSample));
      v1::SampleRequest request;
      request.mutable_open()->set_table(table.name);
      request.mutable_open()->set_batch_size(4);
      request.set_credits(3);
      streams.back()->peer->Send(EncodeMessage(request, ByteSlices()));
    }
    CHECK(becomes(30));
  }
  CHECK(becomes(0));
}

}  // namespace
}  // namespace waggle
