#include "common/api/table_config.h"

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

TableConfig Good() {
  TableConfig config;
  config.name = "replay";
  config.signature = {{"observation", DType::kFloat32, {4}}, {"reward", DType::kFloat32, {}}};
  config.view = {{"observation", "observation", ViewField::Rows::kFirst}, {"reward", "reward", ViewField::Rows::kAll}};
  config.sampler.kind = SamplerConfig::Kind::kPrioritized;
  config.max_items = 100;
  config.max_bytes = 1000;
  config.max_window = 4;
  return config;
}

using Change = std::function<void(TableConfig*)>;

}  // namespace

TEST_CASE("a good table configuration is valid", "[unit]") {
  REQUIRE_OK(Good().Validate());
  TableConfig limited = Good();
  limited.rate_limiter = {4, 100, 2.5};
  REQUIRE_OK(limited.Validate());
}

TEST_CASE("each wrong field of a table configuration is named", "[unit]") {
  const std::vector<std::pair<std::string, Change>> cases = {
      {"name: ", [](TableConfig* c) { c->name = ""; }},
      {"signature: has 0 columns", [](TableConfig* c) { c->signature.clear(); }},
      {"column reward is there twice", [](TableConfig* c) { c->signature.push_back(c->signature[1]); }},
      {"has a negative dimension", [](TableConfig* c) { c->signature[0].shape = {-1}; }},
      {"is not an element type", [](TableConfig* c) { c->signature[0].dtype = static_cast<DType>(99); }},
      {"view: has no field", [](TableConfig* c) { c->view.clear(); }},
      {"did you mean \"reward\"", [](TableConfig* c) { c->view[1].column = "rewards"; }},
      {"field reward is there twice", [](TableConfig* c) { c->view.push_back(c->view[1]); }},
      {"begin with item/ are taken", [](TableConfig* c) { c->view[0].name = "item/key"; }},
      {"no choice of rows", [](TableConfig* c) { c->view[0].rows = static_cast<ViewField::Rows>(9); }},
      {"would have 9 dimensions", [](TableConfig* c) { c->signature[0].shape.assign(8, 1); }},
      {"no kind of sampler", [](TableConfig* c) { c->sampler.kind = static_cast<SamplerConfig::Kind>(9); }},
      {"no kind of remover", [](TableConfig* c) { c->remover.kind = static_cast<RemoverConfig::Kind>(9); }},
      {"sampler.priority_exponent: -1", [](TableConfig* c) { c->sampler.priority_exponent = -1; }},
      {"sampler.priority_exponent: nan", [](TableConfig* c) { c->sampler.priority_exponent = std::nan(""); }},
      {"max_items: 0 is outside", [](TableConfig* c) { c->max_items = 0; }},
      {"max_items: 9223372036854775807", [](TableConfig* c) { c->max_items = std::numeric_limits<int64_t>::max(); }},
      {"max_bytes: 0", [](TableConfig* c) { c->max_bytes = 0; }},
      {"max_window: 0", [](TableConfig* c) { c->max_window = 0; }},
      {"max_times_sampled: -1", [](TableConfig* c) { c->max_times_sampled = -1; }},
      {"min_items: 0", [](TableConfig* c) { c->rate_limiter.min_items = 0; }},
      {"min_items: 101 is more than max_items, 100", [](TableConfig* c) { c->rate_limiter.min_items = 101; }},
      {"samples_per_insert: inf",
       [](TableConfig* c) { c->rate_limiter.samples_per_insert = std::numeric_limits<double>::infinity(); }},
      {"error_buffer: -2", [](TableConfig* c) { c->rate_limiter.error_buffer = -2; }},
      {"error_buffer: 2 is too small: with samples_per_insert 4 it must be at least 2.5",
       [](TableConfig* c) {
         c->rate_limiter = {4, 1, 2};
       }},
  };
  for (const auto& [message, change] : cases) {
    TableConfig config = Good();
    change(&config);
    const absl::Status status = config.Validate();
    CAPTURE(message, status);
    REQUIRE(status.code() == absl::StatusCode::kInvalidArgument);
    REQUIRE(absl::StrContains(status.message(), message));
  }
}

TEST_CASE("all that is wrong with a table is said at once", "[unit]") {
  TableConfig config = Good();
  config.max_items = 0;
  config.max_bytes = 0;
  config.view[0].column = "none";
  const std::string message(config.Validate().message());
  REQUIRE(absl::StrContains(message, "max_items"));
  REQUIRE(absl::StrContains(message, "max_bytes"));
  REQUIRE(absl::StrContains(message, "none"));
}

TEST_CASE("every difference between two tables is found", "[unit]") {
  REQUIRE(Differences(Good(), Good()).empty());
  const std::vector<std::pair<std::string, Change>> cases = {
      {"name: replay and other", [](TableConfig* c) { c->name = "other"; }},
      {"signature: [observation: float32[4]", [](TableConfig* c) { c->signature[0].shape = {5}; }},
      {"view: [observation = first observation", [](TableConfig* c) { c->view[0].rows = ViewField::Rows::kLast; }},
      {"sampler: prioritized and fifo", [](TableConfig* c) { c->sampler.kind = SamplerConfig::Kind::kFifo; }},
      {"sampler.priority_exponent: 0.6 and 0.7", [](TableConfig* c) { c->sampler.priority_exponent = 0.7; }},
      {"rate_limiter.samples_per_insert: 0 and 2", [](TableConfig* c) { c->rate_limiter.samples_per_insert = 2; }},
      {"rate_limiter.min_items: 1 and 2", [](TableConfig* c) { c->rate_limiter.min_items = 2; }},
      {"rate_limiter.error_buffer: 0 and 2", [](TableConfig* c) { c->rate_limiter.error_buffer = 2; }},
      {"max_items: 100 and 2", [](TableConfig* c) { c->max_items = 2; }},
      {"max_bytes: 1000 and 2", [](TableConfig* c) { c->max_bytes = 2; }},
      {"max_times_sampled: 0 and 2", [](TableConfig* c) { c->max_times_sampled = 2; }},
      {"max_window: 4 and 2", [](TableConfig* c) { c->max_window = 2; }},
  };
  for (const auto& [message, change] : cases) {
    TableConfig other = Good();
    change(&other);
    const std::vector<std::string> differences = Differences(Good(), other);
    CAPTURE(message);
    REQUIRE(differences.size() == 1);
    REQUIRE(absl::StartsWith(differences[0], message));
  }
}

}  // namespace waggle
