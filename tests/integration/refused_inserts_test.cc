// Writers and blocks that a replay server does not take.
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "common/net/array_spec_convert.h"
#include "common/replay/replay_convert.h"
#include "tests/integration/refusal_fixture.h"

namespace waggle {
namespace {

using testing::AnyValue;
using testing::CheckRefusals;
using testing::RefusalCase;
using testing::RefusalFixture;
using testing::SimpleBlock;
using testing::SimpleTable;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kPrecondition = absl::StatusCode::kFailedPrecondition;
constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;
constexpr auto kNotFound = absl::StatusCode::kNotFound;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// What a writer sends: its first message, and a block.
struct Sent {
  v1::InsertRequest first;
  v1::InsertRequest second;

  v1::InsertOpen* open() { return first.mutable_open(); }
  v1::InsertBlock* block() { return second.mutable_block(); }
  void SetBlock(const InsertBlock& block) {
    *second.mutable_block() = ToProto(block);
    second.mutable_block()->set_sequence(2);
    second.set_data(testing::BytesOf(block.data));
  }
  void SetWriter(const std::string& id, const std::string& table) {
    open()->set_writer_id(id);
    open()->set_tables(0, table);
  }
  void SetElement(size_t index, float value) {
    std::memcpy(&(*second.mutable_data())[index * sizeof(float)], &value, sizeof(float));
  }
};

// Rows 5 to 8 of the writer "w", each an item; with a number for each thing that may be left out.
Sent GoodSent() {
  Sent sent;
  v1::InsertOpen* open = sent.first.mutable_open();
  open->set_writer_id("w");
  open->add_tables("t");
  for (const ArraySpec& column : SimpleTable("t").signature) {
    *open->add_signature() = ToProto(column);
  }
  sent.SetBlock(SimpleBlock(5, 4));
  for (int i = 0; i < 4; ++i) {
    sent.block()->add_item_table(0);
    sent.block()->add_item_context_rows(1);
  }
  sent.block()->add_chunk_begins(false);
  return sent;
}

std::vector<RefusalCase<Sent>> OpenCases() {
  return {
      {"open.writer_id", "empty", [](Sent* s) { s->open()->set_writer_id(""); }, kInvalid,
       "writer_id: a name has 1 to 128 characters; got 0", "bad_name"},
      {"open.writer_id", "with a line break", [](Sent* s) { s->open()->set_writer_id("a\nb"); }, kInvalid,
       "writer_id: a name holds only", "bad_name"},
      {"open.tables", "none", [](Sent* s) { s->open()->clear_tables(); }, kInvalid, "writer \"w\" names no table",
       "bad_request"},
      {"open.tables", "twice the same", [](Sent* s) { s->open()->add_tables("t"); }, kInvalid,
       "names a table twice: t, t", "bad_request"},
      {"open.tables", "unknown", [](Sent* s) { s->open()->set_tables(0, "tt"); }, kNotFound,
       "no table named \"tt\"; did you mean \"t\"?", "unknown_table"},
      {"open.tables", "too many",
       [](Sent* s) {
         for (int i = 0; i < 10; ++i) {
           s->open()->add_tables("t" + std::to_string(i));
         }
       },
       kInvalid, "names 11 tables; there are at most 4", "bad_request"},
      {"open.tables", "others than before", [](Sent* s) { s->open()->set_tables(0, "small"); }, kPrecondition,
       "writer \"w\" named other tables before than small", "other_writer"},
      {"open.tables", "compressed in different ways",
       [](Sent* s) {
         s->open()->set_writer_id("another");
         s->open()->add_tables("packed");
       },
       kPrecondition, "tables \"t\" and \"packed\" compress columns differently", "wrong_columns"},
      {"open.signature.name", "another one", [](Sent* s) { s->open()->mutable_signature(0)->set_name("image"); },
       kPrecondition,
       "has the columns [image: float32[2], reward: float32[]]; table \"t\" has [observation:", "wrong_columns"},
      {"open.signature.dtype", "none",
       [](Sent* s) { s->open()->mutable_signature(0)->set_dtype(static_cast<v1::DataType>(99)); }, kInvalid,
       "observation: 99 is not an element type", "wrong_columns"},
      {"open.signature.shape", "another one", [](Sent* s) { s->open()->mutable_signature(0)->set_shape(0, 3); },
       kPrecondition, "has the columns [observation: float32[3]", "wrong_columns"},
      {"open.signature.shape", "negative", [](Sent* s) { s->open()->mutable_signature(0)->set_shape(0, -3); }, kInvalid,
       "observation: float32[-3] has a negative dimension", "wrong_columns"},
      {"open.incarnation", "another writer's", [](Sent* s) { s->open()->set_incarnation(5); }, kPrecondition,
       "writer \"w\": another writer has this id, with 1 blocks applied", "other_writer"},
      {"data", "with the first message", [](Sent* s) { s->first.set_data("x"); }, kInvalid,
       "the first message must be `open`, without data", "unexpected_message"},
      {"open.writer_id", "in no message", [](Sent* s) { s->first.Clear(); }, kInvalid,
       "the first message must be `open`", "unexpected_message"},
      {"open.writer_id", "in a second message", [](Sent* s) { s->second = s->first; }, kInvalid,
       "expected a block; got a message without one", "unexpected_message"},
  };
}

std::vector<RefusalCase<Sent>> ChunkCases() {
  return {
      {"block.sequence", "0", [](Sent* s) { s->block()->set_sequence(0); }, kPrecondition,
       "block 0: blocks have to come without a gap; the next one is 2", "bad_sequence"},
      {"block.sequence", "after a gap", [](Sent* s) { s->block()->set_sequence(~uint64_t{0}); }, kPrecondition,
       "block 18446744073709551615: blocks have to come without a gap", "bad_sequence"},
      {"block.chunk_stream", "one more than rows", [](Sent* s) { s->block()->add_chunk_stream(0); }, kInvalid,
       "chunk_first_row has 1 entries; chunk_stream has 2", "bad_request"},
      {"block.chunk_stream", "more streams than a writer may have",
       [](Sent* s) {
         for (uint32_t stream = 1; stream < 20; ++stream) {
           s->block()->add_chunk_stream(stream);
           s->block()->add_chunk_first_row(0);
           s->block()->add_chunk_rows(1);
           s->block()->add_chunk_begins(false);
         }
       },
       kExhausted, "a writer may have 8 streams; this one would have 20", "writer_too_large"},
      {"block.chunk_first_row", "after a gap", [](Sent* s) { s->block()->set_chunk_first_row(0, 6); }, kInvalid,
       "chunk 0 of stream 0 begins with row 6; the stream's next row is 5", "bad_chunk"},
      {"block.chunk_first_row", "past the last that there can be",
       [](Sent* s) { s->block()->set_chunk_first_row(0, ~uint64_t{0}); }, kInvalid,
       "4 rows from row 18446744073709551615 on are none that a stream can have", "bad_chunk"},
      {"block.chunk_rows", "none", [](Sent* s) { s->block()->set_chunk_rows(0, 0); }, kInvalid,
       "chunk 0 of stream 0: 0 rows from row 5", "bad_chunk"},
      {"block.chunk_rows", "fewer than the bytes", [](Sent* s) { s->block()->set_chunk_rows(0, 3); }, kInvalid,
       "got 48 bytes of rows; 3 rows of 12 bytes are 36", "bad_chunk"},
      {"block.chunk_rows", "more than a block may have", [](Sent* s) { s->block()->set_chunk_rows(0, 0xFFFFFFFFU); },
       kExhausted, "chunk_rows: 4294967295 rows of 12 bytes are more than the 1048576 bytes", "block_too_large"},
      {"block.chunk_begins", "too many", [](Sent* s) { s->block()->add_chunk_begins(true); }, kInvalid,
       "chunk_begins has 2 entries; chunk_stream has 1", "bad_request"},
      {"block.compressed_bytes", "of columns that are not compressed",
       [](Sent* s) { s->block()->add_compressed_bytes(7); }, kInvalid,
       "compressed_bytes has 1 entries; 0 columns are compressed", "bad_chunk"},
      {"block.compressed_bytes", "not there where they have to be",
       [](Sent* s) {
         s->SetWriter("p", "packed");
         s->SetBlock(SimpleBlock(2, 4));
       },
       kInvalid, "compressed_bytes has 0 entries; 1 columns are compressed", "bad_chunk"},
      {"block.compressed_bytes", "more than the rows",
       [](Sent* s) {
         s->SetWriter("p", "packed");
         s->SetBlock(SimpleBlock(2, 4));
         s->block()->add_compressed_bytes(33);
       },
       kInvalid, "has 33 compressed bytes; the rows themselves have 32", "bad_chunk"},
      {"data", "that cannot be decompressed",
       [](Sent* s) {
         s->SetWriter("p", "packed");
         s->SetBlock(SimpleBlock(2, 4));
         s->block()->add_compressed_bytes(5);
         s->second.set_data(std::string(16 + 5, '\xFF'));
       },
       kInvalid, "the rows of stream 0 from row 2 on: ", "bad_chunk"},
      {"data", "none", [](Sent* s) { s->second.clear_data(); }, kInvalid, "got 0 bytes of rows; 4 rows of 12 bytes",
       "bad_chunk"},
      {"data", "not a number", [](Sent* s) { s->SetElement(3, std::nanf("")); }, kInvalid,
       "column \"observation\" of stream 0, row 6, element 1 is not finite", "not_finite"},
      {"data", "infinite", [](Sent* s) { s->SetElement(11, -std::numeric_limits<float>::infinity()); }, kInvalid,
       "column \"reward\" of stream 0, row 8, element 0 is not finite", "not_finite"},
      {"block.checksum", "of other rows", [](Sent* s) { s->block()->set_checksum(17); }, absl::StatusCode::kDataLoss,
       "its rows were damaged on their way", "damaged_rows"},
  };
}

std::vector<RefusalCase<Sent>> ItemCases() {
  std::vector<RefusalCase<Sent>> cases = {
      {"block.item_table", "unknown", [](Sent* s) { s->block()->set_item_table(2, 7); }, kInvalid,
       "block 2: item 2: is for table number 7; the writer named 1 tables", "bad_window"},
      {"block.item_table", "too few", [](Sent* s) { s->block()->mutable_item_table()->RemoveLast(); }, kInvalid,
       "item_table has 3 entries; item_stream has 4", "bad_request"},
      {"block.item_stream", "too many", [](Sent* s) { s->block()->add_item_stream(0); }, kInvalid,
       "item_first_row has 4 entries; item_stream has 5", "bad_request"},
      {"block.item_first_row", "past the stream", [](Sent* s) { s->block()->set_item_first_row(1, 9); }, kInvalid,
       "item 1: its 1 rows from row 9 on reach past the last row of stream 0, which has 9 rows so far", "bad_window"},
      {"block.item_first_row", "far past the stream", [](Sent* s) { s->block()->set_item_first_row(1, ~uint64_t{0}); },
       kInvalid, "rows from row 18446744073709551615 on reach past", "bad_window"},
      {"block.item_rows", "none", [](Sent* s) { s->block()->set_item_rows(0, 0); }, kInvalid,
       "item 0: has 0 rows; table \"t\" allows 1 to 3", "bad_window"},
      {"block.item_rows", "more than a window may have", [](Sent* s) { s->block()->set_item_rows(0, 4); }, kInvalid,
       "item 0: has 4 rows; table \"t\" allows 1 to 3", "bad_window"},
      {"block.item_rows", "past the stream", [](Sent* s) { s->block()->set_item_rows(3, 2); }, kInvalid,
       "item 3: its 2 rows from row 8 on reach past the last row", "bad_window"},
      {"block.item_rows", "more bytes than the table may have",
       [](Sent* s) {
         s->SetWriter("s", "small");
         InsertBlock block = SimpleBlock(1, 20);
         block.items = {{0, 0, 1, 20, 1.0}};
         s->SetBlock(block);
       },
       kExhausted, "block 2: item 0: its 20 rows have 240 bytes; table \"small\" may have 200 (max_bytes)",
       "item_too_large"},
      {"block.item_rows", "in more chunks than a block may refer to",
       [](Sent* s) {
         s->SetWriter("s", "small");
         InsertBlock block;
         const auto rows = std::make_shared<std::vector<float>>(3 * 50, 1.0F);
         for (uint64_t row = 0; row < 50; ++row) {
           block.chunks.push_back({0, 1 + row, 1});
         }
         block.data = ByteSlices({reinterpret_cast<const char*>(rows->data()), rows->size() * sizeof(float), rows});
         block.items.assign(100, {0, 0, 1, 16, 1.0});
         s->SetBlock(block);
       },
       kExhausted, "the block's 100 windows lie in more than 1000 chunks together", "block_too_large"},
      {"block.item_priority", "too few", [](Sent* s) { s->block()->mutable_item_priority()->RemoveLast(); }, kInvalid,
       "item_priority has 3 entries; item_stream has 4", "bad_request"},
      {"block.item_context_rows", "more than stacks reach back to",
       [](Sent* s) { s->block()->set_item_context_rows(0, 2); }, kInvalid,
       "item 0: has 2 rows of context before row 5; table \"t\" allows up to 1", "bad_window"},
      {"block.item_context_rows", "too many entries", [](Sent* s) { s->block()->add_item_context_rows(0); }, kInvalid,
       "item_context_rows has 5 entries; item_stream has 4", "bad_request"},
  };
  for (const double priority : {kNaN, kInfinity, -kInfinity, -1.0}) {
    cases.push_back({"block.item_priority", std::to_string(priority),
                     [priority](Sent* s) { s->block()->set_item_priority(2, priority); }, kInvalid,
                     "block 2: item 2: for table \"t\": priority ", "bad_priority"});
  }
  cases.push_back({"block.item_priority", "too large to be summed",
                   [](Sent* s) { s->block()->set_item_priority(2, 1e308); }, kInvalid, "priority 1e+308 is too large",
                   "bad_priority"});
  return cases;
}

const AnyValue kAny = {
    {"block.policy_version", "every version is one"},
};

TEST_CASE("A writer's messages are refused for each field that can be wrong, and nothing is applied", "[grpc]") {
  const RefusalFixture fixture;
  std::vector<RefusalCase<Sent>> cases = OpenCases();
  for (const auto& group : {ChunkCases(), ItemCases()}) {
    cases.insert(cases.end(), group.begin(), group.end());
  }
  CheckRefusals<Sent>(fixture, *v1::InsertRequest::descriptor(), GoodSent(), cases, kAny, [&](const Sent& sent) {
    return fixture.Insert({sent.first, sent.second});
  });
}

TEST_CASE("A window over rows that nobody has is no error, for a server may have lost them: it is counted", "[grpc]") {
  const RefusalFixture fixture;
  Sent sent = GoodSent();
  sent.block()->set_item_stream(1, 77);
  REQUIRE_OK(fixture.Insert({sent.first, sent.second}));
  const auto described = testing::ValueOf(fixture.Call(&v1::ReplayService::Stub::Describe, v1::DescribeRequest()));
  REQUIRE(described.tables(2).config().name() == "t");
  CHECK(described.tables(2).items() == 5 + 3);
  CHECK(described.refusals().empty());
}

}  // namespace
}  // namespace waggle
