#include "common/clients/replay_convert.h"

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/replay_fixtures.h"

namespace waggle {
namespace {

using testing::SimpleBlock;
using testing::SimpleTable;
using testing::ValueOf;

TEST_CASE("A table's configuration survives the wire whole", "[unit]") {
  TableConfig config = SimpleTable("replay", 7);
  config.view.push_back({"next", "observation", ViewField::Rows::kLast});
  config.view.push_back({"rewards", "reward", ViewField::Rows::kAll});
  config.max_window = 9;
  config.max_times_sampled = 3;
  config.rate_limiter = {2.5, 100, 50};
  for (const auto kind :
       {SamplerConfig::Kind::kUniform, SamplerConfig::Kind::kPrioritized, SamplerConfig::Kind::kFifo}) {
    config.sampler.kind = kind;
    config.sampler.priority_exponent = 0.75;
    CHECK(Differences(ValueOf(FromProto(ToProto(config))), config).empty());
  }
}

TEST_CASE("A configuration that is wrong is refused", "[unit]") {
  const std::vector<std::function<void(v1::TableConfig*)>> spoilers = {
      [](v1::TableConfig* c) { c->Clear(); },
      [](v1::TableConfig* c) { c->set_name(""); },
      [](v1::TableConfig* c) { c->set_name("a name with spaces"); },
      [](v1::TableConfig* c) { c->clear_signature(); },
      [](v1::TableConfig* c) { c->mutable_signature(0)->set_dtype(v1::DATA_TYPE_UNSPECIFIED); },
      [](v1::TableConfig* c) { c->mutable_signature(0)->set_dtype(static_cast<v1::DataType>(257)); },
      [](v1::TableConfig* c) { c->mutable_signature(0)->add_shape(-1); },
      [](v1::TableConfig* c) { c->mutable_signature(0)->add_shape(std::numeric_limits<int64_t>::max()); },
      [](v1::TableConfig* c) { c->clear_view(); },
      [](v1::TableConfig* c) { c->mutable_view(0)->set_rows(v1::ViewField::ROWS_UNSPECIFIED); },
      [](v1::TableConfig* c) { c->mutable_view(0)->set_rows(static_cast<v1::ViewField::Rows>(9)); },
      [](v1::TableConfig* c) { c->mutable_view(0)->set_column("nothing"); },
      [](v1::TableConfig* c) { c->clear_sampler(); },
      [](v1::TableConfig* c) { c->mutable_sampler()->set_kind(static_cast<v1::SamplerConfig::Kind>(9)); },
      [](v1::TableConfig* c) { c->clear_remover(); },
      [](v1::TableConfig* c) { c->set_max_items(0); },
      [](v1::TableConfig* c) { c->set_max_window(-5); },
      [](v1::TableConfig* c) { c->mutable_rate_limiter()->set_samples_per_insert(std::nan("")); },
  };
  for (size_t i = 0; i < spoilers.size(); ++i) {
    INFO(i);
    v1::TableConfig proto = ToProto(SimpleTable("replay"));
    spoilers[i](&proto);
    const auto config = FromProto(proto);
    CHECK(config.status().code() == absl::StatusCode::kInvalidArgument);
    CHECK(!config.status().message().empty());
  }
}

TEST_CASE("A block survives the wire whole", "[unit]") {
  InsertBlock block = SimpleBlock(40, 5);
  block.chunks.push_back({7, 1'000'000'000'000, 3});
  block.policy_version = 99;
  for (const uint32_t table : {0U, 2U}) {
    block.items[1].table = table;
    block.items[1].priority = 0.125;
    const v1::InsertBlock proto = ToProto(block);
    CHECK(proto.item_table_size() == (table == 0 ? 0 : 5));
    const InsertBlock back = ValueOf(FromProto(proto, block.data));
    CHECK(back.policy_version == 99);
    REQUIRE(back.chunks.size() == 2);
    CHECK(back.chunks[1].stream == 7);
    CHECK(back.chunks[1].first_row == 1'000'000'000'000);
    CHECK(back.chunks[1].rows == 3);
    REQUIRE(back.items.size() == 5);
    CHECK(back.items[1].table == table);
    CHECK(back.items[1].priority == 0.125);
    CHECK(back.items[4].first_row == 44);
    CHECK(back.items[4].rows == 1);
    CHECK(back.data.size() == block.data.size());
  }
}

TEST_CASE("Lists of different lengths in a block are refused", "[unit]") {
  const std::vector<std::function<void(v1::InsertBlock*)>> spoilers = {
      [](v1::InsertBlock* b) { b->add_chunk_stream(1); },   [](v1::InsertBlock* b) { b->add_chunk_first_row(1); },
      [](v1::InsertBlock* b) { b->add_chunk_rows(1); },     [](v1::InsertBlock* b) { b->add_item_table(0); },
      [](v1::InsertBlock* b) { b->add_item_stream(1); },    [](v1::InsertBlock* b) { b->add_item_first_row(1); },
      [](v1::InsertBlock* b) { b->add_item_rows(1); },      [](v1::InsertBlock* b) { b->add_item_priority(1); },
      [](v1::InsertBlock* b) { b->clear_item_priority(); },
  };
  for (const auto& spoil : spoilers) {
    v1::InsertBlock proto = ToProto(SimpleBlock(0, 3));
    spoil(&proto);
    REQUIRE_CODE(FromProto(proto, ByteSlices()), absl::StatusCode::kInvalidArgument);
  }
}

TEST_CASE("A layout is recognised, and every other one refused", "[unit]") {
  const TableConfig config = SimpleTable("replay");
  const BatchLayout layout = ValueOf(MakeBatchLayout(config, 16, 1 << 20));
  REQUIRE_OK(CheckSameLayout(ToProto(layout), layout));
  REQUIRE_CODE(CheckSameLayout(ToProto(ValueOf(MakeBatchLayout(config, 17, 1 << 20))), layout),
               absl::StatusCode::kFailedPrecondition);
  v1::SampleOpened opened = ToProto(layout);
  opened.mutable_fields()->RemoveLast();
  REQUIRE_CODE(CheckSameLayout(opened, layout), absl::StatusCode::kFailedPrecondition);
  opened = ToProto(layout);
  opened.mutable_fields(1)->set_offset(1);
  REQUIRE_CODE(CheckSameLayout(opened, layout), absl::StatusCode::kFailedPrecondition);
  opened = ToProto(layout);
  opened.set_batch_bytes(1);
  REQUIRE_CODE(CheckSameLayout(opened, layout), absl::StatusCode::kFailedPrecondition);
  opened = ToProto(layout);
  opened.mutable_fields(0)->mutable_spec()->set_dtype(v1::DATA_TYPE_FLOAT64);
  REQUIRE_CODE(CheckSameLayout(opened, layout), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace waggle
