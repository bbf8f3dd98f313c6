#include "common/config/table/table_config.h"

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
  config.sampler.kind = SelectorKind::kPrioritized;
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

TEST_CASE("too many columns or fields are refused without a look at them", "[unit]") {
  TableConfig config = Good();
  // Their sizes would add up to more than any row may have.
  config.signature.assign(1000, {"x", DType::kUint8, {int64_t{1} << 40}});
  absl::Status status = config.Validate();
  REQUIRE_CODE(status, absl::StatusCode::kInvalidArgument);
  REQUIRE(absl::StrContains(status.message(), "signature: has 1000 columns; 1 to 256 are allowed"));
  REQUIRE_FALSE(absl::StrContains(status.message(), "a row has"));
  REQUIRE_FALSE(absl::StrContains(status.message(), "twice"));
  config = Good();
  config.view.assign(2000, config.view[0]);
  status = config.Validate();
  REQUIRE_CODE(status, absl::StatusCode::kInvalidArgument);
  REQUIRE(absl::StrContains(status.message(), "view: has 2000 fields; at most 1024 are allowed"));
  REQUIRE_FALSE(absl::StrContains(status.message(), "twice"));
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
      {"rows: got 9", [](TableConfig* c) { c->view[0].rows = static_cast<ViewField::Rows>(9); }},
      {"would have 9 dimensions", [](TableConfig* c) { c->signature[0].shape.assign(8, 1); }},
      {"sampler.kind: got 9", [](TableConfig* c) { c->sampler.kind = static_cast<SelectorKind>(9); }},
      {"remover.kind: got 9", [](TableConfig* c) { c->remover.kind = static_cast<SelectorKind>(9); }},
      {"sampler.priority_exponent: got -1", [](TableConfig* c) { c->sampler.priority_exponent = -1; }},
      {"sampler.priority_epsilon: got -1", [](TableConfig* c) { c->sampler.priority_epsilon = -1; }},
      {"sampler.uniform_share: got 1.5", [](TableConfig* c) { c->sampler.uniform_share = 1.5; }},
      {"only a prioritized sampler has one; this is uniform",
       [](TableConfig* c) {
         c->sampler.kind = SelectorKind::kUniform;
         c->sampler.uniform_share = 0.5;
       }},
      {"only a uniform or a prioritized sampler has one; this is fifo",
       [](TableConfig* c) {
         c->sampler.kind = SelectorKind::kFifo;
         c->sampler.recent_share = 0.5;
       }},
      {"both a uniform_share and a recent_share",
       [](TableConfig* c) {
         c->sampler.uniform_share = 0.5;
         c->sampler.recent_share = 0.5;
       }},
      {"sampler.uniform_share: cannot be combined with without_replacement",
       [](TableConfig* c) {
         c->sampler.uniform_share = 0.5;
         c->sampler.without_replacement = true;
       }},
      {"sampler.recent_share: cannot be combined with without_replacement",
       [](TableConfig* c) {
         c->sampler.recent_share = 0.5;
         c->sampler.without_replacement = true;
       }},
      {"sampler.recent_items: got 0",
       [](TableConfig* c) {
         c->sampler.recent_share = 0.5;
         c->sampler.recent_items = 0;
       }},
      {"sampler.recent_period: got 0",
       [](TableConfig* c) {
         c->sampler.recent_share = 0.5;
         c->sampler.recent_period = 0;
       }},
      {"remover.priority_exponent: got -1", [](TableConfig* c) { c->remover.priority_exponent = -1; }},
      {"stack: got 0", [](TableConfig* c) { c->view[0].stack = 0; }},
      {"stack: got 257", [](TableConfig* c) { c->view[0].stack = 257; }},
      {"did you mean \"reward\"",
       [](TableConfig* c) {
         c->compression = {{"rewards", Codec::kLz4}};
       }},
      {"column reward is there twice",
       [](TableConfig* c) {
         c->compression = {{"reward", Codec::kLz4}, {"reward", Codec::kZstd}};
       }},
      {"codec: got 0",
       [](TableConfig* c) {
         c->compression = {{"reward", Codec::kNone}};
       }},
      {"durability: got 9", [](TableConfig* c) { c->durability = static_cast<Durability>(9); }},
      {"log_sync: means nothing with durability none", [](TableConfig* c) { c->log_sync = true; }},
      {"memory_limit: got -1", [](TableConfig* c) { c->memory_limit = -1; }},
      {"has one of min_difference and max_difference", [](TableConfig* c) { c->rate_limiter.min_difference = 1; }},
      {"means nothing if samples_per_insert is 0",
       [](TableConfig* c) {
         c->rate_limiter.min_difference = 1;
         c->rate_limiter.max_difference = 5;
       }},
      {"error_buffer beside min_difference",
       [](TableConfig* c) {
         c->rate_limiter = {1, 1, 9, 0, 10};
       }},
      {"rate_limiter.max_difference: got inf",
       [](TableConfig* c) {
         c->rate_limiter = {1, 1, 0, 0, std::numeric_limits<double>::infinity()};
       }},
      {"max_difference, 3, is 3 more than min_difference, 0: with samples_per_insert 4 it must be 4",
       [](TableConfig* c) {
         c->rate_limiter = {4, 1, 0, 0, 3};
       }},
      {"sampler.priority_exponent: got nan", [](TableConfig* c) { c->sampler.priority_exponent = std::nan(""); }},
      {"sampler.recent_items: got -1", [](TableConfig* c) { c->sampler.recent_items = -1; }},
      {"sampler.recent_period: got -1", [](TableConfig* c) { c->sampler.recent_period = -1; }},
      {"max_items: got 0", [](TableConfig* c) { c->max_items = 0; }},
      {"max_items: got 9223372036854775807",
       [](TableConfig* c) { c->max_items = std::numeric_limits<int64_t>::max(); }},
      {"max_bytes: got 0", [](TableConfig* c) { c->max_bytes = 0; }},
      {"max_window: got 0", [](TableConfig* c) { c->max_window = 0; }},
      {"transition_rows: 2 means nothing if no field", [](TableConfig* c) { c->transition_rows = 2; }},
      {"transition_rows: 0 is outside [1, 4]", [](TableConfig* c) { c->view[0].rows = ViewField::Rows::kFuture; }},
      {"transition_rows: 5 is outside [1, 4]",
       [](TableConfig* c) {
         c->view[0].rows = ViewField::Rows::kFuture;
         c->transition_rows = 5;
       }},
      {"max_window: got 1; wanted at least 2, because a field of the view takes a future row",
       [](TableConfig* c) {
         c->view[0].rows = ViewField::Rows::kFuture;
         c->transition_rows = 1;
         c->max_window = 1;
       }},
      {"future_row: got last, and no field of the view takes a future row; wanted later",
       [](TableConfig* c) { c->future_row = FutureRow::kLast; }},
      {"future_row: got 9; wanted one of later, last, episode",
       [](TableConfig* c) { c->future_row = static_cast<FutureRow>(9); }},
      {"max_window: got 257; wanted at most 256 beside future_row: episode",
       [](TableConfig* c) {
         c->view[0].rows = ViewField::Rows::kFuture;
         c->transition_rows = 2;
         c->max_window = 257;
         c->future_row = FutureRow::kEpisode;
       }},
      {"max_times_sampled: got -1", [](TableConfig* c) { c->max_times_sampled = -1; }},
      {"min_items: got 0", [](TableConfig* c) { c->rate_limiter.min_items = 0; }},
      {"min_items: 101 is more than max_items, 100", [](TableConfig* c) { c->rate_limiter.min_items = 101; }},
      {"samples_per_insert: got inf",
       [](TableConfig* c) { c->rate_limiter.samples_per_insert = std::numeric_limits<double>::infinity(); }},
      {"error_buffer: got -2", [](TableConfig* c) { c->rate_limiter.error_buffer = -2; }},
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

TEST_CASE("a table with a future row has items of at least two rows, and samples their transition", "[unit]") {
  TableConfig config = Good();
  REQUIRE(!config.HasFuture());
  REQUIRE(config.MinWindow() == 1);
  REQUIRE(config.SampledRows() == config.max_window);
  config.view.push_back({"goal", "observation", ViewField::Rows::kFuture});
  config.transition_rows = 3;
  REQUIRE_OK(config.Validate());
  REQUIRE(config.HasFuture());
  REQUIRE(config.MinWindow() == 2);
  REQUIRE(config.SampledRows() == 3);
}

TEST_CASE("all errors of a table are reported at once", "[unit]") {
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
      {"sampler: prioritized and fifo", [](TableConfig* c) { c->sampler.kind = SelectorKind::kFifo; }},
      {"sampler.priority_exponent: 0.6 and 0.7", [](TableConfig* c) { c->sampler.priority_exponent = 0.7; }},
      {"rate_limiter.samples_per_insert: 0 and 2", [](TableConfig* c) { c->rate_limiter.samples_per_insert = 2; }},
      {"rate_limiter.min_items: 1 and 2", [](TableConfig* c) { c->rate_limiter.min_items = 2; }},
      {"max_items: 100 and 2", [](TableConfig* c) { c->max_items = 2; }},
      {"max_bytes: 1000 and 2", [](TableConfig* c) { c->max_bytes = 2; }},
      {"max_times_sampled: 0 and 2", [](TableConfig* c) { c->max_times_sampled = 2; }},
      {"max_window: 4 and 2", [](TableConfig* c) { c->max_window = 2; }},
      {"transition_rows: 0 and 2", [](TableConfig* c) { c->transition_rows = 2; }},
      {"view: [observation = first observation, reward = all reward] and [observation = future observation",
       [](TableConfig* c) { c->view[0].rows = ViewField::Rows::kFuture; }},
      {"sampler.priority_epsilon: 0 and 0.5", [](TableConfig* c) { c->sampler.priority_epsilon = 0.5; }},
      {"sampler.absolute_priorities: false and true", [](TableConfig* c) { c->sampler.absolute_priorities = true; }},
      {"sampler.without_replacement: false and true", [](TableConfig* c) { c->sampler.without_replacement = true; }},
      {"sampler.independent_draws: false and true", [](TableConfig* c) { c->sampler.independent_draws = true; }},
      {"sampler.uniform_share: 0 and 0.5", [](TableConfig* c) { c->sampler.uniform_share = 0.5; }},
      {"sampler.recent_share: 0 and 0.5", [](TableConfig* c) { c->sampler.recent_share = 0.5; }},
      {"remover: fifo and lifo", [](TableConfig* c) { c->remover.kind = SelectorKind::kLifo; }},
      {"rate_limiter.min_difference: none and 2", [](TableConfig* c) { c->rate_limiter.min_difference = 2; }},
      {"rate_limiter.max_difference: none and 2", [](TableConfig* c) { c->rate_limiter.max_difference = 2; }},
      {"view: [observation = first observation, reward = all reward] and [observation = first observation in stacks of",
       [](TableConfig* c) { c->view[0].stack = 2; }},
      {"compression: [] and [reward = zstd]",
       [](TableConfig* c) {
         c->compression = {{"reward", Codec::kZstd}};
       }},
      {"durability: none and log", [](TableConfig* c) { c->durability = Durability::kLog; }},
      {"memory_limit: 0 and 5", [](TableConfig* c) { c->memory_limit = 5; }},
      {"seed: 0 and 7", [](TableConfig* c) { c->seed = 7; }},
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

TEST_CASE("differences that cannot be changed in use are told apart", "[unit]") {
  TableConfig good = Good();
  good.memory_limit = 6;
  good.durability = Durability::kLog;
  TableConfig other = good;
  other.max_items = 7;
  other.max_bytes = 7;
  other.max_times_sampled = 7;
  other.memory_limit = 7;
  other.rate_limiter = {1, 2, 3};
  other.sampler.priority_exponent = 0;
  other.sampler.priority_epsilon = 1;
  REQUIRE(FixedDifferences(good, other).empty());
  REQUIRE(Differences(good, other).size() == 9);
  other.max_window = 9;
  other.seed = 3;
  other.log_sync = true;
  REQUIRE(FixedDifferences(good, other) ==
          std::vector<std::string>{"max_window: 4 and 9", "seed: 0 and 3", "log_sync: false and true"});
}

TEST_CASE("a memory limit can be changed, but neither introduced nor lifted in use", "[unit]") {
  TableConfig limited = Good();
  limited.memory_limit = 7;
  REQUIRE(FixedDifferences(Good(), limited) == std::vector<std::string>{"memory_limit: 0 and 7"});
  REQUIRE(FixedDifferences(limited, Good()) == std::vector<std::string>{"memory_limit: 7 and 0"});
}

TEST_CASE("queues and stacks hand every item out once and make writers wait when full", "[unit]") {
  for (const int64_t size : {1, 10}) {
    TableConfig config = Good();
    MakeQueue(size, &config);
    REQUIRE_OK(config.Validate());
    REQUIRE(config.sampler.kind == SelectorKind::kFifo);
    REQUIRE(config.max_times_sampled == 1);
    REQUIRE(config.rate_limiter.MinDifference() == 0);
    REQUIRE(config.rate_limiter.MaxDifference() == static_cast<double>(size));
    MakeStack(size, &config);
    REQUIRE_OK(config.Validate());
    REQUIRE(config.sampler.kind == SelectorKind::kLifo);
  }
}

TEST_CASE("context is the reach of the longest stack, or of the episode whose rows may be the future one", "[unit]") {
  TableConfig config = Good();
  REQUIRE(config.MaxContextRows() == 0);
  config.view[0].stack = 4;
  config.view[1].stack = 2;
  REQUIRE(config.MaxContextRows() == 3);
  config.view[0].rows = ViewField::Rows::kFuture;
  config.transition_rows = 2;
  config.max_window = 256;
  config.future_row = FutureRow::kEpisode;
  REQUIRE_OK(config.Validate());
  REQUIRE(config.MaxContextRows() == 255);
  REQUIRE(config.StackReach() == 3);
  config.future_row = FutureRow::kLast;
  REQUIRE(config.MaxContextRows() == 3);
}

TEST_CASE("a batch that could never be drawn is refused, with the field that is too small", "[unit]") {
  TableConfig config = Good();
  config.max_items = 10;
  REQUIRE_OK(config.CheckBatchSize(1000));
  REQUIRE_CODE(config.CheckBatchSize(0), absl::StatusCode::kInvalidArgument);
  config.max_times_sampled = 2;
  REQUIRE_OK(config.CheckBatchSize(20));
  CHECK(config.CheckBatchSize(21) ==
        absl::FailedPreconditionError("max_items: 10 with max_times_sampled 2: a batch of 21 can never be drawn"));
  config.sampler.without_replacement = true;
  REQUIRE_OK(config.CheckBatchSize(10));
  CHECK(absl::StrContains(config.CheckBatchSize(11).message(), "max_items: 10: a batch of 11 different items"));
  config.rate_limiter = {8, 1, 5};
  REQUIRE_OK(config.CheckBatchSize(2));
  CHECK(absl::StrContains(config.CheckBatchSize(3).message(), "rate_limiter.error_buffer: 5 is too small: "));
}

TEST_CASE("priorities are used by prioritized selectors and heaps", "[unit]") {
  TableConfig config;
  CHECK_FALSE(config.UsesPriorities());
  config.remover.kind = SelectorKind::kPrioritized;
  CHECK(config.UsesPriorities());
  config.remover.kind = SelectorKind::kLifo;
  config.sampler.kind = SelectorKind::kMaxHeap;
  CHECK(config.UsesPriorities());
}

}  // namespace waggle
