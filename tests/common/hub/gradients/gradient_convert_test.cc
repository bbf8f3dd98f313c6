#include "common/hub/gradients/gradient_convert.h"

#include "tests/support/catch.h"

namespace waggle {
namespace {

GradientPush Push() {
  GradientPush push;
  push.model = {0xAB, {{"actor", 3}, {"critic", 2}}};
  push.members = {{"a", 1, 2, {3, 4}, 1, 1}, {"b", 0, 9, {3, 5}, 8, 6}};
  return push;
}

TEST_CASE("a gradient's header survives the round trip", "[unit]") {
  const v1::GradientHeader proto = ToProto(Push());
  CHECK(proto.total_bytes() == 20);
  const GradientPush back = testing::ValueOf(FromProto(proto));
  CHECK(back.model == Push().model);
  REQUIRE(back.members.size() == 2);
  CHECK(back.members[1].worker_id == "b");
  CHECK(back.members[1].based_on == ModelVersion{3, 5});
  CHECK(back.members[1].acknowledged == 8);
  CHECK(back.members[1].applied == 6);
}

TEST_CASE("impossible headers are refused", "[unit]") {
  const auto refused = [](const std::function<void(v1::GradientHeader*)>& change) {
    v1::GradientHeader proto = ToProto(Push());
    change(&proto);
    return absl::IsInvalidArgument(FromProto(proto).status());
  };
  CHECK(refused([](auto* proto) { proto->clear_groups(); }));
  CHECK(refused([](auto* proto) { proto->clear_members(); }));
  CHECK(refused([](auto* proto) { proto->set_total_bytes(24); }));
  CHECK(refused([](auto* proto) { proto->mutable_groups(0)->set_name("a b"); }));
  CHECK(refused([](auto* proto) { proto->mutable_members(0)->set_worker_id("a b"); }));
  CHECK(refused([](auto* proto) {
    proto->mutable_groups(0)->set_elements(~uint64_t{0});
    proto->mutable_groups(1)->set_elements(6);
  }));
}

TEST_CASE("an answer survives the round trip, and one that does not fit the push is refused", "[unit]") {
  for (int verdict = 0; verdict <= static_cast<int>(GradientVerdict::kTrainingOver); ++verdict) {
    GradientAnswer answer;
    answer.results.push_back({static_cast<GradientVerdict>(verdict), {1, 2}, "why"});
    const GradientAnswer back = testing::ValueOf(FromProto(ToProto(answer), 1));
    CHECK(back.results[0].verdict == answer.results[0].verdict);
    CHECK(back.results[0].version == ModelVersion{1, 2});
    CHECK(back.results[0].message == "why");
    CHECK_FALSE(FromProto(ToProto(answer), 2).ok());
  }
  GradientAnswer split;
  split.send_singly = true;
  CHECK(testing::ValueOf(FromProto(ToProto(split), 2)).send_singly);
  CHECK_FALSE(FromProto(ToProto(split), 1).ok());
  v1::PushGradientResponse unknown;
  unknown.add_results();
  CHECK_FALSE(FromProto(unknown, 1).ok());
}

}  // namespace
}  // namespace waggle
