// Samplers, and draws of theirs, that a replay server does not serve.
#include <utility>

#include "common/replay/table_config_convert.h"
#include "tests/integration/refusal_fixture.h"

namespace waggle {
namespace {

using testing::AnyValue;
using testing::CheckRefusals;
using testing::RefusalCase;
using testing::RefusalFixture;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;

// What a sampler sends: its first message, and further ones.
struct Sent {
  v1::SampleRequest first;
  v1::SampleRequest second;

  v1::SampleOpen* open() { return first.mutable_open(); }
};

Sent GoodSent() {
  Sent sent;
  sent.open()->set_table("t");
  sent.open()->set_batch_size(4);
  sent.open()->set_sampler_id("learner");
  sent.second.set_credits(1);
  sent.second.add_draw_items(3);
  sent.second.add_draw_counted(4);
  return sent;
}

std::vector<RefusalCase<Sent>> Cases() {
  return {
      {"open.table", "unknown", [](Sent* s) { s->open()->set_table("tt"); }, absl::StatusCode::kNotFound,
       "no table named \"tt\"; did you mean \"t\"?", "unknown_table"},
      {"open.table", "in no message", [](Sent* s) { s->first.Clear(); }, kInvalid, "the first message must be `open`",
       "unexpected_message"},
      {"open.table", "in a second message", [](Sent* s) { *s->second.mutable_open() = s->first.open(); }, kInvalid,
       "the stream is open already", "unexpected_message"},
      {"open.batch_size", "0", [](Sent* s) { s->open()->set_batch_size(0); }, kInvalid,
       "batch_size: got 0; wanted at least 1", "bad_request"},
      {"open.batch_size", "more items than a batch may have", [](Sent* s) { s->open()->set_batch_size(0xFFFFFFFFU); },
       kExhausted, "batch_size: got 4294967295; wanted at most 65536", "batch_too_large"},
      {"open.batch_size", "more bytes than a batch may have",
       [](Sent* s) {
         s->open()->set_table("small");
         s->open()->set_batch_size(65536);
       },
       kExhausted, "a batch of 65536 items has ", "batch_too_large"},
      {"open.sampler_id", "with a line break", [](Sent* s) { s->open()->set_sampler_id("a\nb"); }, kInvalid,
       "sampler_id: a name holds only", "bad_name"},
      {"open.compression", "none",
       [](Sent* s) { s->open()->set_compression(static_cast<v1::ColumnCompression::Codec>(9)); }, kInvalid,
       "compression: got 9", "bad_request"},
      {"credits", "more than may be outstanding", [](Sent* s) { s->second.set_credits(1'000'000); }, kExhausted,
       "credits: got 1000001 with 0 outstanding; wanted at most 1024 together", "too_many_credits"},
      {"draw_items", "more than a batch", [](Sent* s) { s->second.set_draw_items(0, 5); }, kInvalid,
       "draw_items: got 5; wanted at most the stream's batch size, 4", "bad_draw"},
      {"draw_counted", "too few", [](Sent* s) { s->second.add_draw_items(1); }, kInvalid,
       "draw_counted has 1 entries; draw_items has 2", "bad_request"},
      {"draw_counted", "more than a batch", [](Sent* s) { s->second.set_draw_counted(0, 5); }, kInvalid,
       "draw_counted: got 5; wanted at most the stream's batch size, 4", "bad_draw"},
      {"draw_counted", "all that there is, for no items",
       [](Sent* s) {
         s->second.set_draw_items(0, 0);
         s->second.set_draw_counted(0, 0xFFFFFFFFU);
       },
       kInvalid, "draw_counted: got 4294967295; wanted at most the stream's batch size, 4", "bad_draw"},
  };
}

TEST_CASE("A sampler's messages are refused for each field that can be wrong, and nothing is drawn", "[grpc]") {
  const RefusalFixture fixture;
  CheckRefusals<Sent>(fixture, *v1::SampleRequest::descriptor(), GoodSent(), Cases(),
                      {{"waits_for", "it is for people, and any number is one"}}, [&](const Sent& sent) {
                        return fixture.Sample({sent.first, sent.second});
                      });
}

TEST_CASE("A batch that a table can never give is refused when it is asked for", "[grpc]") {
  const RefusalFixture fixture;
  v1::CreateTableRequest create;
  TableConfig table = testing::SimpleTable("different");
  table.sampler.without_replacement = true;
  table.max_items = 10;
  *create.mutable_config() = ToProto(table);
  REQUIRE_OK(fixture.Call(&v1::ReplayService::Stub::CreateTable, create));
  Sent sent = GoodSent();
  sent.open()->set_table("different");
  sent.open()->set_batch_size(11);
  testing::CheckRefused(
      fixture,
      [&] {
        return fixture.Sample({sent.first, sent.second});
      },
      absl::StatusCode::kFailedPrecondition,
      "max_items: 10: a batch of 11 different items (without_replacement) can never be drawn", "impossible_batch");
}

TEST_CASE("A draw that counts more than a table's limiter ever allows is refused, and nobody waits behind it",
          "[grpc]") {
  const RefusalFixture fixture;
  v1::CreateTableRequest create;
  TableConfig table = testing::SimpleTable("ratio");
  table.rate_limiter.samples_per_insert = 1;
  table.rate_limiter.error_buffer = 4;  // Room for 7 samples and an insert.
  *create.mutable_config() = ToProto(table);
  REQUIRE_OK(fixture.Call(&v1::ReplayService::Stub::CreateTable, create));
  for (const uint32_t items : {0U, 1U}) {
    Sent sent = GoodSent();
    sent.open()->set_table("ratio");
    sent.open()->set_batch_size(100);
    sent.second.clear_credits();
    sent.second.set_draw_items(0, items);
    sent.second.set_draw_counted(0, 8);
    testing::CheckRefused(
        fixture,
        [&] {
          return fixture.Sample({sent.first, sent.second});
        },
        absl::StatusCode::kFailedPrecondition, "rate_limiter.error_buffer: 4 is too small: ", "impossible_batch");
  }
}

}  // namespace
}  // namespace waggle
