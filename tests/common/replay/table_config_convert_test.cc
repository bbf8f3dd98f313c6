#include "common/replay/table_config_convert.h"

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "tests/support/catch.h"
#include "tests/support/replay_fixtures.h"

namespace waggle {
namespace {

using testing::SimpleTable;
using testing::ValueOf;

TEST_CASE("A table's configuration survives the wire whole", "[unit]") {
  TableConfig config = SimpleTable("replay", 7);
  config.view.push_back({"next", "observation", ViewField::Rows::kLast});
  config.view.push_back({"rewards", "reward", ViewField::Rows::kAll});
  config.view.push_back({"goal", "observation", ViewField::Rows::kFuture, 2});
  config.max_window = 9;
  config.transition_rows = 4;
  config.future_row = FutureRow::kEpisode;
  config.max_times_sampled = 3;
  config.seed = uint64_t{1} << 63;
  config.rate_limiter = {2.5, 100, 50};
  config.view[0].stack = 4;
  config.compression = {{"observation", Codec::kZstd}};
  config.durability = Durability::kLog;
  config.log_sync = true;
  config.memory_limit = 1 << 20;
  for (const auto kind : {SelectorKind::kUniform, SelectorKind::kPrioritized, SelectorKind::kFifo, SelectorKind::kLifo,
                          SelectorKind::kMinHeap, SelectorKind::kMaxHeap}) {
    config.sampler = SamplerConfig();
    config.sampler.kind = kind;
    config.sampler.absolute_priorities = true;
    config.remover.kind = kind;
    config.remover.priority_exponent = 0.25;
    CHECK(Differences(ValueOf(FromProto(ToProto(config))), config).empty());
  }
  config.sampler.kind = SelectorKind::kPrioritized;
  config.sampler.priority_exponent = 0.75;
  config.sampler.priority_epsilon = 0.01;
  config.sampler.independent_draws = true;
  config.sampler.recent_share = 0.5;
  config.sampler.recent_items = 7;
  config.sampler.recent_decay = 0.996;
  config.sampler.recent_period = 64;
  CHECK(Differences(ValueOf(FromProto(ToProto(config))), config).empty());
  config.sampler.recent_share = 0;
  config.sampler.uniform_share = 0.1;
  config.rate_limiter = RateLimiterConfig();
  config.rate_limiter.samples_per_insert = 2;
  config.rate_limiter.min_difference = -10;
  config.rate_limiter.max_difference = 10.5;
  CHECK(Differences(ValueOf(FromProto(ToProto(config))), config).empty());
  config.sampler.uniform_share = 0;
  config.sampler.without_replacement = true;
  CHECK(Differences(ValueOf(FromProto(ToProto(config))), config).empty());
}

// Checks that equal numbers have equal names, but for the message's prefix; an unspecified number has no name.
template <class Enum>
void CheckNames(const google::protobuf::EnumDescriptor& descriptor, const std::string& prefix) {
  for (int i = 0; i < descriptor.value_count(); ++i) {
    const auto& value = *descriptor.value(i);
    CAPTURE(value.name());
    CHECK((absl::EndsWith(value.name(), "_UNSPECIFIED") ||
           value.name() == prefix + absl::AsciiStrToUpper(Name(static_cast<Enum>(value.number())))));
  }
}

TEST_CASE("Enumerators are numbered as in the messages", "[unit]") {
  CheckNames<SelectorKind>(*v1::SelectorKind_descriptor(), "SELECTOR_KIND_");
  CheckNames<ViewField::Rows>(*v1::ViewField::Rows_descriptor(), "ROWS_");
  CheckNames<FutureRow>(*v1::FutureRow_descriptor(), "FUTURE_ROW_");
  CheckNames<Durability>(*v1::Durability_descriptor(), "DURABILITY_");
  CheckNames<Codec>(*v1::ColumnCompression::Codec_descriptor(), "CODEC_");
}

TEST_CASE("A configuration from before other future rows has later ones", "[unit]") {
  v1::TableConfig proto = ToProto(SimpleTable("replay"));
  proto.clear_future_row();
  CHECK(ValueOf(FromProto(proto)).future_row == FutureRow::kLater);
}

TEST_CASE("A wrong configuration is refused", "[unit]") {
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
      [](v1::TableConfig* c) { c->mutable_sampler()->set_kind(static_cast<v1::SelectorKind>(9)); },
      [](v1::TableConfig* c) { c->clear_remover(); },
      [](v1::TableConfig* c) { c->mutable_view(0)->set_stack(-1); },
      [](v1::TableConfig* c) { c->mutable_view(0)->set_stack(1 << 20); },
      [](v1::TableConfig* c) { c->mutable_remover()->set_kind(static_cast<v1::SelectorKind>(9)); },
      [](v1::TableConfig* c) { c->add_compression()->set_column("observation"); },
      [](v1::TableConfig* c) { c->set_durability(static_cast<v1::Durability>(9)); },
      [](v1::TableConfig* c) { c->set_log_sync(true); },
      [](v1::TableConfig* c) { c->mutable_rate_limiter()->set_min_difference(0); },
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

}  // namespace
}  // namespace waggle
