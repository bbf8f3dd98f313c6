// Configurations of tables that a replay service refuses.
#include <google/protobuf/text_format.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/replay/table_config_convert.h"
#include "tests/integration/refusal_fixture.h"

namespace waggle {
namespace {

using testing::AnyValue;
using testing::CheckRefusals;
using testing::RefusalFixture;
using testing::SimpleTable;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kPrecondition = absl::StatusCode::kFailedPrecondition;
constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;

// A wrong value in the configuration of any table (bad_configuration), as text that is merged into it.
struct BadText {
  std::string field;
  std::string text;
};

std::vector<BadText> BadTexts() {
  std::vector<BadText> cases = {
      {"name", "name: ''"},
      {"name", "name: 'a\\nb'"},
      {"name", "name: '" + std::string(200, 'x') + "'"},
      {"max_items", "max_items: 0"},
      {"max_items", "max_items: 1152921504606846976"},
      {"max_bytes", "max_bytes: -1"},
      {"max_bytes", "max_bytes: 11"},  // A row has 12.
      {"max_times_sampled", "max_times_sampled: -1"},
      {"max_times_sampled", "max_times_sampled: 1152921504606846976"},
      {"max_window", "max_window: 0"},
      {"max_window", "max_window: 1152921504606846976"},
      {"transition_rows", "transition_rows: 2"},  // No future row.
      {"transition_rows", "max_window: 3 view {name: 'goal' column: 'reward' rows: ROWS_FUTURE}"},
      {"future_row", "future_row: FUTURE_ROW_LAST"},  // No future row.
      {"future_row", "future_row: 7"},
      {"view.rows", "max_window: 1 view {name: 'goal' column: 'reward' rows: ROWS_FUTURE}"},
      {"view.rows", "view {name: 'more' column: 'reward' rows: 7}"},
      {"view.name", "view {column: 'reward' rows: ROWS_FIRST}"},
      {"view.name", "view {name: 'item/key' column: 'reward' rows: ROWS_FIRST}"},
      {"view.column", "view {name: 'more' column: 'rewar' rows: ROWS_FIRST}"},
      {"view.stack", "view {name: 'more' column: 'reward' rows: ROWS_FIRST stack: -1}"},
      {"view.stack", "view {name: 'more' column: 'reward' rows: ROWS_FIRST stack: 257}"},
      {"compression.column", "compression {codec: CODEC_LZ4}"},
      {"compression.codec", "compression {column: 'reward' codec: 9}"},
      {"durability", "durability: 9"},
      {"log_sync", "log_sync: true"},
      {"memory_limit", "memory_limit: -1"},
      {"sampler.kind", "sampler {kind: SELECTOR_KIND_UNSPECIFIED}"},
      {"sampler.kind", "sampler {kind: 77}"},
      {"sampler.without_replacement", "sampler {without_replacement: true uniform_share: 0.5}"},
      {"sampler.uniform_share", "sampler {uniform_share: 1.5}"},
      {"sampler.recent_items", "sampler {recent_items: -5}"},
      {"sampler.recent_items", "sampler {recent_share: 0.5 recent_items: 0}"},
      {"sampler.recent_period", "sampler {recent_period: -5}"},
      {"remover.kind", "remover {kind: 77}"},
      {"rate_limiter.min_items", "rate_limiter {min_items: 0}"},
      {"rate_limiter.min_items", "rate_limiter {min_items: 1152921504606846976}"},
      {"rate_limiter.min_difference", "rate_limiter {min_difference: 1}"},
      {"rate_limiter.max_difference", "rate_limiter {max_difference: 1}"},
      {"rate_limiter.max_difference", "rate_limiter {samples_per_insert: 8 min_difference: 1 max_difference: 2}"},
      {"rate_limiter.max_difference", "rate_limiter {samples_per_insert: 8 min_difference: 1 max_difference: inf}"},
  };
  for (const char* const field : {"sampler.priority_exponent", "sampler.priority_epsilon", "sampler.uniform_share",
                                  "sampler.recent_share", "sampler.recent_decay", "remover.priority_exponent",
                                  "rate_limiter.samples_per_insert", "rate_limiter.error_buffer"}) {
    const std::vector<std::string> path = absl::StrSplit(field, '.');
    for (const char* const value : {"-1", "nan", "inf", "-inf"}) {
      cases.push_back({field, absl::StrCat(path[0], " {", path[1], ": ", value, "}")});
    }
  }
  return cases;
}

// The cases of the `config` of a request.
template <class Request>
std::vector<testing::RefusalCase<Request>> ConfigCases() {
  const auto column = [](auto spoil) {
    return [spoil](Request* r) { spoil(r->mutable_config()->mutable_signature(0)); };
  };
  std::vector<testing::RefusalCase<Request>> cases = {
      {"config.signature.name", "empty", column([](auto* c) { c->set_name(""); }), kInvalid, "bad_configuration"},
      {"config.signature.name", "twice", column([](auto* c) { c->set_name("reward"); }), kInvalid, "bad_configuration"},
      {"config.signature.dtype", "none", column([](auto* c) { c->set_dtype(static_cast<v1::DataType>(99)); }), kInvalid,
       "bad_configuration"},
      {"config.signature.shape", "negative", column([](auto* c) { c->set_shape(0, -1); }), kInvalid,
       "bad_configuration"},
      {"config.signature.shape", "large", column([](auto* c) { c->set_shape(0, int64_t{1} << 62); }), kInvalid,
       "bad_configuration"},
      {"config.signature.shape", "of nine dimensions", column([](auto* c) { c->mutable_shape()->Resize(9, 1); }),
       kInvalid, "bad_configuration"},
      {"config.max_items", "more than there is memory for",
       [](Request* r) {
         r->mutable_config()->set_max_items(int64_t{1} << 31);
         r->mutable_config()->set_max_bytes(int64_t{1} << 50);
       },
       kExhausted, "table_too_large"},
  };
  for (const BadText& bad : BadTexts()) {
    cases.push_back({"config." + bad.field, bad.text,
                     [text = bad.text](Request* r) {
                       REQUIRE(google::protobuf::TextFormat::MergeFromString(text, r->mutable_config()));
                     },
                     kInvalid, "bad_configuration"});
  }
  return cases;
}

const AnyValue kAnyConfig = {
    {"config.sampler.absolute_priorities", "both are choices"},
    {"config.sampler.independent_draws", "both are choices"},
    {"config.seed", "every number is a seed"},
};

TEST_CASE("creating a table is refused for each wrong field, and nothing is made", "[grpc]") {
  const RefusalFixture fixture;
  using Request = v1::CreateTableRequest;
  Request good;
  *good.mutable_config() = ToProto(SimpleTable("new"));
  good.mutable_config()->mutable_sampler()->set_kind(v1::SELECTOR_KIND_PRIORITIZED);
  auto cases = ConfigCases<Request>();
  cases.insert(
      cases.end(),
      {{"config.name", "of a table that differs", [](Request* r) { r->mutable_config()->set_name("t"); }, kPrecondition,
        "other_configuration"},
       {"config.max_items", "of rows that are large",
        [](Request* r) { r->mutable_config()->mutable_signature(0)->set_shape(0, 1000); }, kExhausted,
        "table_too_large"},
       {"config.durability", "without a folder",
        [](Request* r) { r->mutable_config()->set_durability(v1::DURABILITY_LOG); }, kPrecondition, "no_data_folder"},
       {"config.memory_limit", "without a folder", [](Request* r) { r->mutable_config()->set_memory_limit(1000); },
        kPrecondition, "no_data_folder"},
       {"if_saved_differs", "none", [](Request* r) { r->set_if_saved_differs(static_cast<v1::SavedPolicy>(9)); },
        kInvalid, "bad_request"}});
  const auto create = [&](const Request& request) {
    return fixture.Call(&v1::ReplayService::Stub::CreateTable, request).status();
  };
  CheckRefusals<Request>(fixture, *Request::descriptor(), good, cases, kAnyConfig, create);
  // There are four tables now.
  good.mutable_config()->set_name("one_more");
  testing::CheckRefused(
      fixture, [&] { return create(good); }, kExhausted, "too_many_tables");
}

TEST_CASE("reconfiguring a table is refused for each wrong field, and nothing changes", "[grpc]") {
  const RefusalFixture fixture;
  using Request = v1::ReconfigureRequest;
  const auto described = testing::ValueOf(fixture.Call(&v1::ReplayService::Stub::Describe, v1::DescribeRequest()));
  REQUIRE(described.tables(2).config().name() == "t");
  Request good;
  *good.mutable_config() = described.tables(2).config();
  good.mutable_config()->set_max_items(2);
  good.set_config_generation(described.tables(2).config_generation());
  good.set_requester("bee@hive");
  auto cases = ConfigCases<Request>();
  cases.insert(
      cases.end(),
      {{"config.name", "unknown", [](Request* r) { r->mutable_config()->set_name("tt"); }, absl::StatusCode::kNotFound,
        "unknown_table"},
       {"config.seed", "another one", [](Request* r) { r->mutable_config()->set_seed(7); }, kPrecondition,
        "other_configuration"},
       {"config_generation", "of before", [](Request* r) { r->set_config_generation(r->config_generation() - 1); },
        absl::StatusCode::kAborted, "config_generation"},
       {"config_generation", "unknown", [](Request* r) { r->set_config_generation(~uint64_t{0}); },
        absl::StatusCode::kAborted, "config_generation"},
       {"requester", "too long", [](Request* r) { r->set_requester(std::string(1000, 'x')); }, kInvalid, "bad_name"}});
  AnyValue any = kAnyConfig;
  any.erase("config.seed");
  any["dry_run"] = "both are choices";
  CheckRefusals<Request>(fixture, *Request::descriptor(), good, cases, any, [&](const Request& request) {
    return fixture.Call(&v1::ReplayService::Stub::Reconfigure, request).status();
  });
}

TEST_CASE("a table with rows that no message could carry is refused", "[grpc]") {
  const RefusalFixture fixture;
  v1::CreateTableRequest request;
  TableConfig config = SimpleTable("frames");
  config.signature.push_back({"frame", DType::kUint8, {100 << 20}});
  *request.mutable_config() = ToProto(config);
  CheckRefused(
      fixture, [&] { return fixture.Call(&v1::ReplayService::Stub::CreateTable, request).status(); }, kInvalid,
      "bad_configuration");
  config.signature.back().shape = {63 << 20};
  config.signature.back().shape[0] -= 12;  // The bytes of the other columns.
  config.max_items = 1;
  *request.mutable_config() = ToProto(config);
  REQUIRE_OK(fixture.Call(&v1::ReplayService::Stub::CreateTable, request));
}

}  // namespace
}  // namespace waggle
