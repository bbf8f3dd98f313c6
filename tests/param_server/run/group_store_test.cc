#include "param_server/run/group_store.h"

#include "tests/support/catch.h"

namespace waggle {
namespace {

using Values = std::vector<std::string>;

// A call of Get and its reply.
struct Question {
  Question(GroupStore* store, uint64_t epoch, const Values& keys, bool wait) {
    number = store->Get(epoch, keys, wait, [this](absl::StatusOr<Values> values) {
      ++answers;
      answer = std::move(values);
    });
  }
  std::optional<int64_t> number;
  int answers = 0;
  absl::StatusOr<Values> answer = absl::UnknownError("no answer yet");
};

TEST_CASE("a key has the value that was set last, and numbers can be added to it", "[unit]") {
  GroupStore store;
  store.Begin(3);
  REQUIRE_OK(store.Set(3, "a", "one"));
  REQUIRE_OK(store.Set(3, "a", "two"));
  CHECK(testing::ValueOf(store.Add(3, "n", 5)) == 5);
  CHECK(testing::ValueOf(store.Add(3, "n", -2)) == 3);
  CHECK(testing::ValueOf(Question(&store, 3, {"n", "a"}, false).answer) == Values{"3", "two"});
  CHECK(store.Add(3, "a", 1).status().code() == absl::StatusCode::kInvalidArgument);
  CHECK(testing::ValueOf(store.Delete(3, "a")));
  CHECK_FALSE(testing::ValueOf(store.Delete(3, "a")));
  CHECK(Question(&store, 3, {"n", "a"}, false).answer.status().code() == absl::StatusCode::kNotFound);
}

TEST_CASE("a call that waits for keys gets one reply when the last key is set", "[unit]") {
  GroupStore store;
  store.Begin(3);
  Question both(&store, 3, {"a", "b"}, true);
  REQUIRE_OK(store.Set(3, "b", "2"));
  CHECK(both.answers == 0);
  REQUIRE_OK(store.Set(3, "a", "1"));
  CHECK(testing::ValueOf(both.answer) == Values{"1", "2"});
  REQUIRE_OK(store.Set(3, "a", "3"));
  store.Forget(*both.number);
  CHECK(both.answers == 1);
  Question forgotten(&store, 3, {"c"}, true);
  store.Forget(*forgotten.number);
  CHECK(forgotten.answer.status().code() == absl::StatusCode::kCancelled);
  REQUIRE_OK(store.Set(3, "c", "1"));
  CHECK(forgotten.answers == 1);
}

TEST_CASE("the next group begins with an empty map, and calls of the last group fail", "[unit]") {
  GroupStore store;
  CHECK(store.Set(0, "a", "1").code() == absl::StatusCode::kFailedPrecondition);
  store.Begin(3);
  REQUIRE_OK(store.Set(3, "a", "1"));
  Question waits(&store, 3, {"b"}, true);
  store.Begin(4);
  CHECK(waits.answer.status().code() == absl::StatusCode::kFailedPrecondition);
  CHECK(store.Set(3, "b", "1").code() == absl::StatusCode::kFailedPrecondition);
  CHECK(Question(&store, 3, {"a"}, true).answer.status().code() == absl::StatusCode::kFailedPrecondition);
  CHECK(Question(&store, 4, {"a"}, false).answer.status().code() == absl::StatusCode::kNotFound);
}

TEST_CASE("the map limits keys, bytes and waiting calls", "[unit]") {
  GroupStoreOptions options;
  options.max_keys = 2;
  options.max_key_bytes = 4;
  options.max_value_bytes = 10;
  options.max_bytes = 16;
  options.max_asked = 2;
  options.max_waiting = 1;
  GroupStore store(options);
  store.Begin(1);
  const auto full = absl::StatusCode::kResourceExhausted;
  CHECK(store.Set(1, "abcde", "").code() == full);
  CHECK(store.Set(1, "a", std::string(11, 'x')).code() == full);
  REQUIRE_OK(store.Set(1, "a", std::string(10, 'x')));
  CHECK(store.Set(1, "b", std::string(5, 'x')).code() == full);
  REQUIRE_OK(store.Set(1, "a", std::string(2, 'x')));  // The replaced value does not count any more.
  REQUIRE_OK(store.Set(1, "b", std::string(10, 'x')));
  CHECK(store.Set(1, "c", "").code() == full);
  CHECK(Question(&store, 1, {"a", "a", "a"}, false).answer.status().code() == full);
  const Question first(&store, 1, {"c"}, true);
  CHECK(first.number.has_value());
  CHECK(Question(&store, 1, {"c"}, true).answer.status().code() == full);
}

}  // namespace
}  // namespace waggle
