#include "replay_server/table/requester.h"

#include "absl/strings/str_cat.h"
#include "common/base/steady_now.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using Kind = Requester::Kind;

TEST_CASE("A requester that comes back goes on with its counts", "[unit]") {
  Requesters requesters;
  std::shared_ptr<Requester> first = requesters.Add(Kind::kWriter, "w");
  first->Count(3, 1);
  first->Count(4, 2);
  const auto beside = requesters.Add(Kind::kWriter, "w");  // Of the same name, while the first is there.
  const auto other = requesters.Add(Kind::kSampler, "w");
  CHECK(beside != first);
  CHECK(other != first);
  Requester* const before = first.get();
  first.reset();
  first = requesters.Add(Kind::kWriter, "w");
  CHECK(first.get() == before);
  CHECK(first->items() == 7);
  CHECK(first->last_counted() == absl::Nanoseconds(2));
  CHECK(requesters.all().size() == 3);
}

TEST_CASE("A requester is present while a connection to it is", "[unit]") {
  Requesters requesters;
  const auto requester = requesters.Add(Kind::kSampler, "s");
  CHECK_FALSE(requester->present());
  CHECK(requester->left() == -absl::InfiniteDuration());
  CHECK(requester->last_counted() == -absl::InfiniteDuration());
  {
    const Requester::Presence one({requester});
    Requester::Presence two({requester});
    CHECK(requester->present());
    two = Requester::Presence();
    CHECK(requester->present());
  }
  CHECK_FALSE(requester->present());
  CHECK(requester->left() <= SteadyElapsed());
  CHECK(requester->left() > absl::ZeroDuration());
}

TEST_CASE("Of those who have gone only some are remembered, and nobody who is there is forgotten", "[unit]") {
  Requesters requesters;
  const auto here = requesters.Add(Kind::kWriter, "here");
  for (size_t i = 0; i < 3 * Requesters::kMaxGone; ++i) {
    const Requester::Presence presence({requesters.Add(Kind::kSampler, absl::StrCat("s", i))});
  }
  const auto all = requesters.all();
  CHECK(all.size() == Requesters::kMaxGone + 1);
  CHECK(all.front() == here);
}

TEST_CASE("Somebody looks from when they began to until they say otherwise", "[unit]") {
  Requester requester(Kind::kSampler, "learner");
  CHECK(requester.looks_for() == 0);
  requester.Looks(8, 100);
  requester.Looks(9, 200);
  CHECK(requester.looks_for() == 9);
  CHECK(requester.looks_since() == absl::Nanoseconds(100));
  requester.Looks(0, 300);
  CHECK(requester.looks_for() == 0);
  requester.Looks(8, 400);
  CHECK(requester.looks_since() == absl::Nanoseconds(400));
}

}  // namespace
}  // namespace waggle
