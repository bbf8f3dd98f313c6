// Tables that a replay service does not make, and does not change into.
#include <limits>
#include <utility>

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

// What is wrong in a configuration whichever table it is for: bad_configuration.
struct BadConfig {
  std::string field;
  std::string how;
  std::function<void(v1::TableConfig*)> spoil;
  std::string says;
};

void AddNumbers(const std::string& field, const std::function<double*(TableConfig*)>& number, const std::string& says,
                std::vector<BadConfig>* cases) {
  for (const double value : {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                             -std::numeric_limits<double>::infinity()}) {
    cases->push_back({field, std::to_string(value),
                      [number, value](v1::TableConfig* c) {
                        // By way of the other type: a spoiled value has to get there first, and protos have no
                        // pointers.
                        TableConfig config = testing::ValueOf(FromProto(*c));
                        *number(&config) = value;
                        *c = ToProto(config);
                      },
                      says});
  }
}

std::vector<BadConfig> BadLimits() {
  constexpr int64_t kHuge = int64_t{1} << 60;
  return {
      {"max_items", "0", [](auto* c) { c->set_max_items(0); }, "max_items: got 0"},
      {"max_items", "2^60", [](auto* c) { c->set_max_items(kHuge); }, "max_items: got 1152921504606846976"},
      {"max_bytes", "-1", [](auto* c) { c->set_max_bytes(-1); }, "max_bytes: got -1"},
      {"max_times_sampled", "-1", [](auto* c) { c->set_max_times_sampled(-1); }, "max_times_sampled: got -1"},
      {"max_times_sampled", "2^60", [](auto* c) { c->set_max_times_sampled(kHuge); }, "max_times_sampled: got 115"},
      {"max_window", "0", [](auto* c) { c->set_max_window(0); }, "max_window: got 0"},
      {"max_window", "2^60", [](auto* c) { c->set_max_window(kHuge); }, "max_window: got 115"},
      {"transition_rows", "without a future row", [](auto* c) { c->set_transition_rows(2); },
       "transition_rows: 2 means nothing if no field of the view takes a future row"},
      {"transition_rows", "0 with a future row",
       [](auto* c) {
         c->mutable_view(0)->set_rows(v1::ViewField::ROWS_FUTURE);
         c->set_max_window(3);
       },
       "transition_rows: 0 is outside [1, 3]"},
      {"view.rows", "a future row of a window of one",
       [](auto* c) {
         c->mutable_view(0)->set_rows(v1::ViewField::ROWS_FUTURE);
         c->set_max_window(1);
       },
       "max_window: got 1; wanted at least 2, because a field of the view takes a future row"},
      {"compression.column", "none of the signature",
       [](auto* c) { c->add_compression()->set_codec(v1::ColumnCompression::CODEC_LZ4); },
       "compression: no column named \"\""},
      {"compression.codec", "none",
       [](auto* c) {
         c->add_compression()->set_column("reward");
         c->mutable_compression(0)->set_codec(static_cast<v1::ColumnCompression::Codec>(9));
       },
       "codec: got 9"},
      {"durability", "none", [](auto* c) { c->set_durability(static_cast<v1::Durability>(9)); }, "durability: got 9"},
      {"log_sync", "without a log", [](auto* c) { c->set_log_sync(true); },
       "log_sync: means nothing with durability none"},
      {"memory_limit", "-1", [](auto* c) { c->set_memory_limit(-1); }, "memory_limit: got -1"},
  };
}

std::vector<BadConfig> BadRows() {
  return {
      {"name", "empty", [](auto* c) { c->set_name(""); }, "name: a name has 1 to 128 characters; got 0"},
      {"name", "too long", [](auto* c) { c->set_name(std::string(200, 'x')); },
       "name: a name has 1 to 128 characters; got 200"},
      {"name", "with a line break", [](auto* c) { c->set_name("a\nb"); }, "got \"a\\nb\""},
      {"signature.name", "empty", [](auto* c) { c->mutable_signature(0)->set_name(""); },
       "a name has 1 to 128 characters; got 0"},
      {"signature.name", "twice", [](auto* c) { c->mutable_signature(1)->set_name("observation"); },
       "signature: column observation is there twice"},
      {"signature.dtype", "none", [](auto* c) { c->mutable_signature(0)->set_dtype(static_cast<v1::DataType>(99)); },
       "observation: 99 is not an element type"},
      {"signature.shape", "negative", [](auto* c) { c->mutable_signature(0)->set_shape(0, -1); },
       "observation: float32[-1] has a negative dimension"},
      {"signature.shape", "too large", [](auto* c) { c->mutable_signature(0)->set_shape(0, int64_t{1} << 62); },
       "is larger than"},
      {"signature.shape", "too many dimensions",
       [](auto* c) { c->mutable_signature(0)->mutable_shape()->Resize(9, 1); }, "observation: has 9 dimensions"},
      {"view.name", "empty", [](auto* c) { c->mutable_view(0)->set_name(""); },
       "view: a name has 1 to 128 characters; got 0"},
      {"view.name", "taken", [](auto* c) { c->mutable_view(0)->set_name("item/key"); }, "view: field item/key"},
      {"view.column", "none of the signature", [](auto* c) { c->mutable_view(0)->set_column("observatio"); },
       "no column named \"observatio\"; did you mean"},
      {"view.rows", "none", [](auto* c) { c->mutable_view(0)->set_rows(static_cast<v1::ViewField::Rows>(7)); },
       "rows: got 7"},
      {"view.stack", "negative", [](auto* c) { c->mutable_view(0)->set_stack(-1); }, "stack: got -1"},
      {"view.stack", "too large", [](auto* c) { c->mutable_view(0)->set_stack(257); }, "stack: got 257"},
  };
}

std::vector<BadConfig> BadChoices() {
  std::vector<BadConfig> cases = {
      {"sampler.kind", "unspecified", [](auto* c) { c->mutable_sampler()->clear_kind(); }, "sampler.kind: got 0"},
      {"sampler.kind", "none", [](auto* c) { c->mutable_sampler()->set_kind(static_cast<v1::SelectorKind>(77)); },
       "sampler.kind: got 77"},
      {"sampler.without_replacement", "with a uniform_share",
       [](auto* c) {
         c->mutable_sampler()->set_without_replacement(true);
         c->mutable_sampler()->set_uniform_share(0.5);
       },
       "sampler.uniform_share: cannot be combined with without_replacement"},
      {"sampler.uniform_share", "above 1", [](auto* c) { c->mutable_sampler()->set_uniform_share(1.5); },
       "sampler.uniform_share: got 1.5"},
      {"sampler.recent_items", "negative", [](auto* c) { c->mutable_sampler()->set_recent_items(-5); },
       "sampler.recent_items: got -5"},
      {"sampler.recent_items", "none",
       [](auto* c) {
         c->mutable_sampler()->set_recent_share(0.5);
         c->mutable_sampler()->set_recent_items(0);
       },
       "sampler.recent_items: got 0"},
      {"sampler.recent_period", "negative", [](auto* c) { c->mutable_sampler()->set_recent_period(-5); },
       "sampler.recent_period: got -5"},
      {"remover.kind", "none", [](auto* c) { c->mutable_remover()->set_kind(static_cast<v1::SelectorKind>(77)); },
       "remover.kind: got 77"},
      {"rate_limiter.min_items", "0", [](auto* c) { c->mutable_rate_limiter()->set_min_items(0); },
       "rate_limiter.min_items: got 0"},
      {"rate_limiter.min_items", "more than there may be",
       [](auto* c) { c->mutable_rate_limiter()->set_min_items(int64_t{1} << 60); }, "is more than max_items"},
      {"rate_limiter.min_difference", "alone", [](auto* c) { c->mutable_rate_limiter()->set_min_difference(1); },
       "has one of min_difference and max_difference"},
      {"rate_limiter.max_difference", "alone", [](auto* c) { c->mutable_rate_limiter()->set_max_difference(1); },
       "has one of min_difference and max_difference"},
      {"rate_limiter.max_difference", "too near to min_difference",
       [](auto* c) {
         c->mutable_rate_limiter()->set_samples_per_insert(8);
         c->mutable_rate_limiter()->set_min_difference(1);
         c->mutable_rate_limiter()->set_max_difference(2);
       },
       "rate_limiter: max_difference, 2"},
      {"rate_limiter.max_difference", "infinite",
       [](auto* c) {
         c->mutable_rate_limiter()->set_samples_per_insert(8);
         c->mutable_rate_limiter()->set_min_difference(1);
         c->mutable_rate_limiter()->set_max_difference(std::numeric_limits<double>::infinity());
       },
       "rate_limiter.max_difference: got inf"},
  };
  AddNumbers(
      "sampler.priority_exponent", [](auto* c) { return &c->sampler.priority_exponent; },
      "sampler.priority_exponent: ", &cases);
  AddNumbers(
      "sampler.priority_epsilon", [](auto* c) { return &c->sampler.priority_epsilon; },
      "sampler.priority_epsilon: ", &cases);
  AddNumbers(
      "sampler.uniform_share", [](auto* c) { return &c->sampler.uniform_share; }, "sampler.uniform_share: ", &cases);
  AddNumbers(
      "sampler.recent_share", [](auto* c) { return &c->sampler.recent_share; }, "sampler.recent_share: ", &cases);
  AddNumbers(
      "sampler.recent_decay", [](auto* c) { return &c->sampler.recent_decay; }, "sampler.recent_decay: ", &cases);
  AddNumbers(
      "remover.priority_exponent", [](auto* c) { return &c->remover.priority_exponent; },
      "remover.priority_exponent: ", &cases);
  AddNumbers(
      "rate_limiter.samples_per_insert", [](auto* c) { return &c->rate_limiter.samples_per_insert; },
      "rate_limiter.samples_per_insert: ", &cases);
  AddNumbers(
      "rate_limiter.error_buffer", [](auto* c) { return &c->rate_limiter.error_buffer; },
      "rate_limiter.error_buffer: ", &cases);
  return cases;
}

// Those, in the `config` of a request.
template <class Request>
std::vector<testing::RefusalCase<Request>> ConfigCases() {
  std::vector<testing::RefusalCase<Request>> cases;
  for (const auto& group : {BadRows(), BadChoices(), BadLimits()}) {
    for (const BadConfig& bad : group) {
      cases.push_back({"config." + bad.field, bad.how, [bad](Request* r) { bad.spoil(r->mutable_config()); }, kInvalid,
                       bad.says, "bad_configuration"});
    }
  }
  return cases;
}

const AnyValue kAnyConfig = {
    {"config.sampler.absolute_priorities", "both are choices"},
    {"config.sampler.independent_draws", "both are choices"},
    {"config.seed", "every number is a seed"},
};

// Tables of which a full one would need more memory than the server's 64 MiB.
template <class Request>
void AddTooLarge(std::vector<testing::RefusalCase<Request>>* cases) {
  cases->push_back({"config.max_items", "more than there is memory for",
                    [](Request* r) {
                      r->mutable_config()->set_max_items(int64_t{1} << 31);
                      r->mutable_config()->set_max_bytes(int64_t{1} << 50);
                    },
                    kExhausted, "max_items, 2147483648, and max_bytes, 1125899906842624, let it take at least",
                    "table_too_large"});
}

TEST_CASE("Creating a table is refused for each field that can be wrong, and nothing is made", "[grpc]") {
  const RefusalFixture fixture;
  using Request = v1::CreateTableRequest;
  Request good;
  *good.mutable_config() = ToProto(SimpleTable("new"));
  good.mutable_config()->mutable_sampler()->set_kind(v1::SELECTOR_KIND_PRIORITIZED);
  auto cases = ConfigCases<Request>();
  AddTooLarge(&cases);
  cases.insert(
      cases.end(),
      {{"config.name", "of a table that differs", [](Request* r) { r->mutable_config()->set_name("t"); }, kPrecondition,
        "table \"t\" is there already and differs (there and wanted): ", "other_configuration"},
       {"config.max_items", "of rows that are large",
        [](Request* r) { r->mutable_config()->mutable_signature(0)->set_shape(0, 1000); }, kExhausted,
        "all tables of this server may have 67108864", "table_too_large"},
       {"config.durability", "without a folder",
        [](Request* r) { r->mutable_config()->set_durability(v1::DURABILITY_LOG); }, kPrecondition,
        "durability log; this server has no folder", "no_data_folder"},
       {"config.memory_limit", "without a folder", [](Request* r) { r->mutable_config()->set_memory_limit(1000); },
        kPrecondition, "memory_limit is 1000; this server has no folder", "no_data_folder"},
       {"if_saved_differs", "none", [](Request* r) { r->set_if_saved_differs(static_cast<v1::SavedPolicy>(9)); },
        kInvalid, "if_saved_differs: got 9", "bad_request"}});
  const auto create = [&](const Request& request) {
    return fixture.Call(&v1::ReplayService::Stub::CreateTable, request).status();
  };
  CheckRefusals<Request>(fixture, *Request::descriptor(), good, cases, kAnyConfig, create);
  // The fixture's are four now.
  good.mutable_config()->set_name("one_more");
  testing::CheckRefused(
      fixture, [&] { return create(good); }, kExhausted, "there are 4 tables already", "too_many_tables");
}

TEST_CASE("A table is not changed to what is wrong in any field, or is for another one", "[grpc]") {
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
  AddTooLarge(&cases);
  cases.insert(
      cases.end(),
      {{"config.name", "unknown", [](Request* r) { r->mutable_config()->set_name("tt"); }, absl::StatusCode::kNotFound,
        "no table named \"tt\"; did you mean \"t\"?", "unknown_table"},
       {"config.seed", "another one", [](Request* r) { r->mutable_config()->set_seed(7); }, kPrecondition,
        "cannot be changed while it is in use differ (there and wanted): seed: 0 and 7", "other_configuration"},
       {"config_generation", "of before", [](Request* r) { r->set_config_generation(r->config_generation() - 1); },
        absl::StatusCode::kAborted, "the change is of generation 0, it is at 1", "config_generation"},
       {"config_generation", "of nobody", [](Request* r) { r->set_config_generation(~uint64_t{0}); },
        absl::StatusCode::kAborted, "the change is of generation 18446744073709551615", "config_generation"},
       {"requester", "too long", [](Request* r) { r->set_requester(std::string(1000, 'x')); }, kInvalid,
        "requester: got 1000 bytes; wanted at most 128", "bad_name"}});
  AnyValue any = kAnyConfig;
  any.erase("config.seed");
  any["dry_run"] = "both are choices";
  CheckRefusals<Request>(fixture, *Request::descriptor(), good, cases, any, [&](const Request& request) {
    return fixture.Call(&v1::ReplayService::Stub::Reconfigure, request).status();
  });
}

TEST_CASE("A table whose rows no message could carry is not made", "[grpc]") {
  const RefusalFixture fixture;
  v1::CreateTableRequest request;
  TableConfig config = SimpleTable("frames");
  config.signature.push_back({"frame", DType::kUint8, {100 << 20}});
  *request.mutable_config() = ToProto(config);
  CheckRefused(
      fixture, [&] { return fixture.Call(&v1::ReplayService::Stub::CreateTable, request).status(); }, kInvalid,
      "table \"frames\": signature: a row has 104857612 bytes; at most 66060288 are allowed", "bad_configuration");
  config.signature.back().shape = {63 << 20};
  config.signature.back().shape[0] -= 12;  // What the other columns have.
  config.max_items = 1;
  *request.mutable_config() = ToProto(config);
  REQUIRE_OK(fixture.Call(&v1::ReplayService::Stub::CreateTable, request));
}

}  // namespace
}  // namespace waggle
