// Writers and blocks that a replay server refuses.
#include <cmath>
#include <cstring>
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
// A writer's first message, and a block.
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

// Rows 5 to 8 of the writer "w", each an item, with all optional fields.
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
      {"open.writer_id", "empty", [](Sent* s) { s->open()->set_writer_id(""); }, kInvalid, "bad_name"},
      {"open.writer_id", "with a line break", [](Sent* s) { s->open()->set_writer_id("a\nb"); }, kInvalid, "bad_name"},
      {"open.tables", "none", [](Sent* s) { s->open()->clear_tables(); }, kInvalid, "bad_request"},
      {"open.tables", "twice the same", [](Sent* s) { s->open()->add_tables("t"); }, kInvalid, "bad_request"},
      {"open.tables", "unknown", [](Sent* s) { s->open()->set_tables(0, "tt"); }, kNotFound, "unknown_table"},
      {"open.tables", "too many",
       [](Sent* s) {
         for (int i = 0; i < 10; ++i) {
           s->open()->add_tables("t" + std::to_string(i));
         }
       },
       kInvalid, "bad_request"},
      {"open.tables", "others than before", [](Sent* s) { s->open()->set_tables(0, "small"); }, kPrecondition,
       "other_writer"},
      {"open.tables", "compressed in different ways",
       [](Sent* s) {
         s->open()->set_writer_id("another");
         s->open()->add_tables("packed");
       },
       kPrecondition, "wrong_columns"},
      {"open.signature.name", "another one", [](Sent* s) { s->open()->mutable_signature(0)->set_name("image"); },
       kPrecondition, "wrong_columns"},
      {"open.signature.dtype", "none",
       [](Sent* s) { s->open()->mutable_signature(0)->set_dtype(static_cast<v1::DataType>(99)); }, kInvalid,
       "wrong_columns"},
      {"open.signature.shape", "another one", [](Sent* s) { s->open()->mutable_signature(0)->set_shape(0, 3); },
       kPrecondition, "wrong_columns"},
      {"open.signature.shape", "negative", [](Sent* s) { s->open()->mutable_signature(0)->set_shape(0, -3); }, kInvalid,
       "wrong_columns"},
      {"open.incarnation", "another writer's", [](Sent* s) { s->open()->set_incarnation(5); }, kPrecondition,
       "other_writer"},
      {"data", "with the first message", [](Sent* s) { s->first.set_data("x"); }, kInvalid, "unexpected_message"},
      {"open.writer_id", "in no message", [](Sent* s) { s->first.Clear(); }, kInvalid, "unexpected_message"},
      {"open.writer_id", "in a second message", [](Sent* s) { s->second = s->first; }, kInvalid, "unexpected_message"},
  };
}

std::vector<RefusalCase<Sent>> ChunkCases() {
  return {
      {"block.sequence", "0", [](Sent* s) { s->block()->set_sequence(0); }, kPrecondition, "bad_sequence"},
      {"block.sequence", "after a gap", [](Sent* s) { s->block()->set_sequence(~uint64_t{0}); }, kPrecondition,
       "bad_sequence"},
      {"block.chunk_stream", "one more than rows", [](Sent* s) { s->block()->add_chunk_stream(0); }, kInvalid,
       "bad_request"},
      {"block.chunk_stream", "more streams than a writer may have",
       [](Sent* s) {
         for (uint32_t stream = 1; stream < 20; ++stream) {
           s->block()->add_chunk_stream(stream);
           s->block()->add_chunk_first_row(0);
           s->block()->add_chunk_rows(1);
           s->block()->add_chunk_begins(false);
         }
       },
       kExhausted, "writer_too_large"},
      {"block.chunk_first_row", "after a gap", [](Sent* s) { s->block()->set_chunk_first_row(0, 6); }, kInvalid,
       "bad_chunk"},
      {"block.chunk_first_row", "past the last that there can be",
       [](Sent* s) { s->block()->set_chunk_first_row(0, ~uint64_t{0}); }, kInvalid, "bad_chunk"},
      {"block.chunk_rows", "none", [](Sent* s) { s->block()->set_chunk_rows(0, 0); }, kInvalid, "bad_chunk"},
      {"block.chunk_rows", "fewer than the bytes", [](Sent* s) { s->block()->set_chunk_rows(0, 3); }, kInvalid,
       "bad_chunk"},
      {"block.chunk_rows", "more than a block may have", [](Sent* s) { s->block()->set_chunk_rows(0, 0xFFFFFFFFU); },
       kExhausted, "block_too_large"},
      {"block.chunk_begins", "too many", [](Sent* s) { s->block()->add_chunk_begins(true); }, kInvalid, "bad_request"},
      {"block.compressed_bytes", "of columns that are not compressed",
       [](Sent* s) { s->block()->add_compressed_bytes(7); }, kInvalid, "bad_chunk"},
      {"block.compressed_bytes", "missing",
       [](Sent* s) {
         s->SetWriter("p", "packed");
         s->SetBlock(SimpleBlock(2, 4));
       },
       kInvalid, "bad_chunk"},
      {"block.compressed_bytes", "more than the rows",
       [](Sent* s) {
         s->SetWriter("p", "packed");
         s->SetBlock(SimpleBlock(2, 4));
         s->block()->add_compressed_bytes(33);
       },
       kInvalid, "bad_chunk"},
      {"data", "that cannot be decompressed",
       [](Sent* s) {
         s->SetWriter("p", "packed");
         s->SetBlock(SimpleBlock(2, 4));
         s->block()->add_compressed_bytes(5);
         s->second.set_data(std::string(16 + 5, '\xFF'));
       },
       kInvalid, "bad_chunk"},
      {"data", "none", [](Sent* s) { s->second.clear_data(); }, kInvalid, "bad_chunk"},
      {"data", "not a number", [](Sent* s) { s->SetElement(3, std::nanf("")); }, kInvalid, "not_finite"},
      {"data", "infinite", [](Sent* s) { s->SetElement(11, -HUGE_VALF); }, kInvalid, "not_finite"},
      {"block.checksum", "of other rows", [](Sent* s) { s->block()->set_checksum(17); }, absl::StatusCode::kDataLoss,
       "damaged_rows"},
  };
}

std::vector<RefusalCase<Sent>> ItemCases() {
  std::vector<RefusalCase<Sent>> cases = {
      {"block.item_table", "unknown", [](Sent* s) { s->block()->set_item_table(2, 7); }, kInvalid, "bad_window"},
      {"block.item_table", "too few", [](Sent* s) { s->block()->mutable_item_table()->RemoveLast(); }, kInvalid,
       "bad_request"},
      {"block.item_stream", "too many", [](Sent* s) { s->block()->add_item_stream(0); }, kInvalid, "bad_request"},
      {"block.item_first_row", "past the stream", [](Sent* s) { s->block()->set_item_first_row(1, 9); }, kInvalid,
       "bad_window"},
      {"block.item_first_row", "far past the stream", [](Sent* s) { s->block()->set_item_first_row(1, ~uint64_t{0}); },
       kInvalid, "bad_window"},
      {"block.item_rows", "none", [](Sent* s) { s->block()->set_item_rows(0, 0); }, kInvalid, "bad_window"},
      {"block.item_rows", "more than a window may have", [](Sent* s) { s->block()->set_item_rows(0, 4); }, kInvalid,
       "bad_window"},
      {"block.item_rows", "past the stream", [](Sent* s) { s->block()->set_item_rows(3, 2); }, kInvalid, "bad_window"},
      {"block.item_rows", "more bytes than the table may have",
       [](Sent* s) {
         s->SetWriter("s", "small");
         InsertBlock block = SimpleBlock(1, 20);
         block.items = {{0, 0, 1, 20, 1.0}};
         s->SetBlock(block);
       },
       kExhausted, "item_too_large"},
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
       kExhausted, "block_too_large"},
      {"block.item_priority", "too few", [](Sent* s) { s->block()->mutable_item_priority()->RemoveLast(); }, kInvalid,
       "bad_request"},
      {"block.item_context_rows", "more than stacks reach back to",
       [](Sent* s) { s->block()->set_item_context_rows(0, 2); }, kInvalid, "bad_window"},
      {"block.item_context_rows", "too many entries", [](Sent* s) { s->block()->add_item_context_rows(0); }, kInvalid,
       "bad_request"},
  };
  for (const double priority : {std::nan(""), HUGE_VAL, -HUGE_VAL, -1.0}) {
    cases.push_back({"block.item_priority", std::to_string(priority),
                     [priority](Sent* s) { s->block()->set_item_priority(2, priority); }, kInvalid, "bad_priority"});
  }
  cases.push_back({"block.item_priority", "too large to be summed",
                   [](Sent* s) { s->block()->set_item_priority(2, 1e308); }, kInvalid, "bad_priority"});
  return cases;
}

const AnyValue kAny = {
    {"block.policy_version", "every version is one"},
};

TEST_CASE("a writer's messages are refused for each wrong field, and nothing is applied", "[grpc]") {
  const RefusalFixture fixture;
  std::vector<RefusalCase<Sent>> cases = OpenCases();
  for (const auto& group : {ChunkCases(), ItemCases()}) {
    cases.insert(cases.end(), group.begin(), group.end());
  }
  CheckRefusals<Sent>(fixture, *v1::InsertRequest::descriptor(), GoodSent(), cases, kAny, [&](const Sent& sent) {
    return fixture.Insert({sent.first, sent.second});
  });
}

}  // namespace
}  // namespace waggle
