#include "param_server/models/model_store.h"

#include <limits>

#include "common/base/tensor/checksum.h"
#include "tests/support/catch.h"
#include "tests/support/conformance/model_conformance.h"

namespace waggle {
namespace {

using testing::MakeModel;

TEST_CASE("An old version lives as long as its readers", "[unit]") {
  ModelStore store((ModelStoreOptions()));
  REQUIRE_OK(store.Publish(MakeModel("m", {1, 1})));
  std::shared_ptr<const StoredModel> old = store.Newest("m");
  const std::weak_ptr<const StoredModel> watched = old;
  REQUIRE_OK(store.Publish(MakeModel("m", {1, 2})));
  CHECK(testing::BytesOf(old->snapshot.data) == testing::BytesOf(MakeModel("m", {1, 1}).data));
  CHECK(old->checksum == Checksum(old->snapshot.data));
  old.reset();
  CHECK(watched.expired());
  CHECK(store.Newest("m")->snapshot.version == ModelVersion{1, 2});
  CHECK(store.Newest("unknown") == nullptr);
}

TEST_CASE("Watchers of a model are called outside the lock until they unsubscribe", "[unit]") {
  ModelStore store((ModelStoreOptions()));
  std::vector<uint64_t> heard;
  auto subscription = store.Watch("m", [&] { heard.push_back(store.Newest("m")->snapshot.version.version); });
  const auto other = store.Watch("n", [&] { heard.push_back(999); });
  REQUIRE_OK(store.Publish(MakeModel("m", {1, 1})));
  REQUIRE_CODE(store.Publish(MakeModel("m", {1, 1})), absl::StatusCode::kFailedPrecondition);
  REQUIRE_OK(store.Publish(MakeModel("m", {1, 2})));
  subscription.reset();
  REQUIRE_OK(store.Publish(MakeModel("m", {1, 3})));
  CHECK(heard == std::vector<uint64_t>{1, 2});
}

TEST_CASE("A version that its holder has replaced stays for a while", "[unit]") {
  absl::Time now = absl::UnixEpoch();
  ModelStoreOptions options;
  options.clock = [&now] { return now; };
  options.hold_after = absl::Seconds(2);
  ModelStore store(options);
  const auto pull = [&store](uint64_t version) {
    REQUIRE_OK(store.Publish(MakeModel("m", {1, version})));
    store.Hold("e", store.Newest("m"));
  };
  pull(1);
  now += absl::Seconds(10);
  pull(2);
  now += absl::Seconds(1);
  pull(3);
  CHECK(store.Find("m", {1, 1}) != nullptr);
  CHECK(store.Find("m", {1, 2}) != nullptr);
  now += absl::Seconds(1);
  store.KeepHolders([](const std::string&) { return true; });
  CHECK(store.Find("m", {1, 1}) == nullptr);
  CHECK(store.Find("m", {1, 2}) != nullptr);
  now += absl::Seconds(1);
  pull(4);
  CHECK(store.Find("m", {1, 2}) == nullptr);
  CHECK(store.Find("m", {1, 3}) != nullptr);
}

TEST_CASE("A holder keeps the version that it pulled last until it pulls another or leaves", "[unit]") {
  ModelStoreOptions options;
  options.max_holders = 2;
  options.hold_after = absl::ZeroDuration();
  ModelStore store(options);
  REQUIRE_OK(store.Publish(MakeModel("m", {1, 1})));
  store.Hold("e", store.Newest("m"));
  REQUIRE_OK(store.Publish(MakeModel("m", {1, 2})));
  CHECK(store.Find("m", {1, 1})->snapshot.version == ModelVersion{1, 1});
  CHECK(store.Find("m", {1, 2}) == store.Newest("m"));
  CHECK(store.Find("n", {1, 1}) == nullptr);
  store.Hold("e", store.Newest("m"));
  CHECK(store.Find("m", {1, 1}) == nullptr);
  REQUIRE_OK(store.Publish(MakeModel("m", {1, 3})));
  SECTION("The holder leaves") {
    store.KeepHolders([](const std::string& holder) { return holder != "e"; });
  }
  SECTION("Other holders come") {
    store.Hold("f", store.Newest("m"));
    CHECK(store.Find("m", {1, 2}) != nullptr);
    store.Hold("g", store.Newest("m"));
  }
  CHECK(store.Find("m", {1, 2}) == nullptr);
}

TEST_CASE("The best version stays while others are published, and SetBest returns the replaced one", "[unit]") {
  ModelStore store((ModelStoreOptions()));
  REQUIRE_OK(store.Publish(MakeModel("m", {1, 1})));
  CHECK(store.Best("m") == nullptr);
  CHECK(store.SetBest(store.Newest("m")) == nullptr);
  REQUIRE_OK(store.Publish(MakeModel("m", {1, 2})));
  CHECK(store.Best("m")->snapshot.version == ModelVersion{1, 1});
  CHECK(store.Find("m", {1, 1}) == store.Best("m"));
  CHECK(store.SetBest(store.Newest("m"))->snapshot.version == ModelVersion{1, 1});
}

TEST_CASE("Held versions and the best one count towards the byte limit once", "[unit]") {
  ModelStoreOptions options;
  options.max_bytes = 3 * 56;
  ModelStore store(options);
  REQUIRE_OK(store.Publish(MakeModel("m", {1, 1})));
  store.Hold("e", store.Newest("m"));
  store.SetBest(store.Newest("m"));
  REQUIRE_OK(store.Publish(MakeModel("m", {1, 2})));
  REQUIRE_OK(store.Publish(MakeModel("m", {1, 3})));
  store.Hold("f", store.Newest("m"));
  REQUIRE_OK(store.Publish(MakeModel("m", {1, 4})));
  REQUIRE_OK(store.Publish(MakeModel("m", {1, 5})));
  store.Hold("g", store.Newest("m"));
  CHECK(store.Publish(MakeModel("m", {1, 6})).code() == absl::StatusCode::kResourceExhausted);
}

TEST_CASE("The byte limit is over all models, and a replaced version makes room", "[unit]") {
  ModelStoreOptions options;
  options.max_bytes = 150;  // A model of three rows has 56 bytes.
  options.max_models = 2;
  ModelStore store(options);
  REQUIRE_OK(store.Publish(MakeModel("a", {1, 1})));
  REQUIRE_OK(store.Publish(MakeModel("b", {1, 1})));
  const absl::Status large = store.Publish(MakeModel("b", {1, 2}, 6));
  CHECK(large.code() == absl::StatusCode::kResourceExhausted);
  CHECK_THAT(std::string(large.message()), Catch::Contains("112 of 150 are taken"));
  CHECK(store.Newest("b")->snapshot.version == ModelVersion{1, 1});
  for (uint64_t version = 2; version < 10; ++version) {
    CHECK(store.Publish(MakeModel("a", {1, version})) == absl::OkStatus());
  }
  CHECK(store.Publish(MakeModel("c", {1, 1})).code() == absl::StatusCode::kResourceExhausted);
}

TEST_CASE("A model's tensors are checked against its bytes without overflow", "[unit]") {
  ModelSnapshot header = MakeModel("m", {1, 1});
  CHECK(ValidateModel(header, 56) == absl::OkStatus());
  CHECK_THAT(std::string(ValidateModel(header, 57).message()), Catch::Contains("take 56 bytes together; got 57"));
  CHECK_THAT(std::string(ValidateModel(header, 55).message()), Catch::Contains("more than 55 bytes"));
  header.tensors.clear();
  for (int i = 0; i < 100; ++i) {
    header.tensors.push_back({"t" + std::to_string(i), DType::kUint8, {kMaxArrayBytes}});
  }
  CHECK(ValidateModel(header, 100).code() == absl::StatusCode::kInvalidArgument);
  CHECK(ValidateModel(header, std::numeric_limits<uint64_t>::max()).code() == absl::StatusCode::kInvalidArgument);
}

TEST_CASE("Options without room for a model are refused", "[unit]") {
  ModelStoreOptions options;
  options.max_bytes = 0;
  CHECK(options.Validate().code() == absl::StatusCode::kInvalidArgument);
  options = ModelStoreOptions();
  options.max_models = -1;
  CHECK(options.Validate().code() == absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace waggle
