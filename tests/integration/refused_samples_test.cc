// Samplers and draws that a replay server refuses.
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

// A sampler's first message, and a later one.
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
       "unknown_table"},
      {"open.table", "in no message", [](Sent* s) { s->first.Clear(); }, kInvalid, "unexpected_message"},
      {"open.table", "in a second message", [](Sent* s) { *s->second.mutable_open() = s->first.open(); }, kInvalid,
       "unexpected_message"},
      {"open.batch_size", "0", [](Sent* s) { s->open()->set_batch_size(0); }, kInvalid, "bad_request"},
      {"open.batch_size", "more items than a batch may have", [](Sent* s) { s->open()->set_batch_size(0xFFFFFFFFU); },
       kExhausted, "batch_too_large"},
      {"open.batch_size", "more bytes than a batch may have",
       [](Sent* s) {
         s->open()->set_table("small");
         s->open()->set_batch_size(65536);
       },
       kExhausted, "batch_too_large"},
      {"open.sampler_id", "with a line break", [](Sent* s) { s->open()->set_sampler_id("a\nb"); }, kInvalid,
       "bad_name"},
      {"open.compression", "none",
       [](Sent* s) { s->open()->set_compression(static_cast<v1::ColumnCompression::Codec>(9)); }, kInvalid,
       "bad_request"},
      {"credits", "more than may be outstanding", [](Sent* s) { s->second.set_credits(1'000'000); }, kExhausted,
       "too_many_credits"},
      {"draw_items", "more than a batch", [](Sent* s) { s->second.set_draw_items(0, 5); }, kInvalid, "bad_draw"},
      {"draw_counted", "too few", [](Sent* s) { s->second.add_draw_items(1); }, kInvalid, "bad_request"},
      {"draw_counted", "more than a batch", [](Sent* s) { s->second.set_draw_counted(0, 5); }, kInvalid, "bad_draw"},
      {"draw_counted", "all that there is, for no items",
       [](Sent* s) {
         s->second.set_draw_items(0, 0);
         s->second.set_draw_counted(0, 0xFFFFFFFFU);
       },
       kInvalid, "bad_draw"},
  };
}

TEST_CASE("a sampler's messages are refused for each wrong field, and nothing is drawn", "[grpc]") {
  const RefusalFixture fixture;
  CheckRefusals<Sent>(fixture, *v1::SampleRequest::descriptor(), GoodSent(), Cases(),
                      {{"waits_for", "it is for people, and any number is one"}}, [&](const Sent& sent) {
                        return fixture.Sample({sent.first, sent.second});
                      });
}

TEST_CASE("a batch that a table can never give is refused when it is asked for", "[grpc]") {
  TableConfig different = testing::SimpleTable("different");
  different.sampler.without_replacement = true;
  different.max_items = 10;
  TableConfig ratio = testing::SimpleTable("ratio");
  ratio.rate_limiter.samples_per_insert = 1;
  ratio.rate_limiter.error_buffer = 4;  // Room for 7 samples and an insert.
  struct Case {
    TableConfig table;
    uint32_t batch_size, items, counted;
  };
  for (const auto& [table, batch_size, items, counted] :
       {Case{different, 11, 11, 11}, Case{ratio, 100, 0, 8}, Case{ratio, 100, 1, 8}}) {
    const RefusalFixture fixture;
    v1::CreateTableRequest create;
    *create.mutable_config() = ToProto(table);
    REQUIRE_OK(fixture.Call(&v1::ReplayService::Stub::CreateTable, create));
    Sent sent = GoodSent();
    sent.open()->set_table(table.name);
    sent.open()->set_batch_size(batch_size);
    sent.second.clear_credits();
    sent.second.set_draw_items(0, items);
    sent.second.set_draw_counted(0, counted);
    testing::CheckRefused(
        fixture,
        [&] {
          return fixture.Sample({sent.first, sent.second});
        },
        absl::StatusCode::kFailedPrecondition, "impossible_batch");
  }
}

}  // namespace
}  // namespace waggle
