#include "param_server/models/model_upload.h"

#include "tests/support/catch.h"
#include "tests/support/conformance/model_conformance.h"

namespace waggle {
namespace {

using testing::BytesOf;
using testing::MakeModel;
using testing::SlicesOf;
using testing::ValueOf;

// The header, bytes and checksum of a version.
struct Sent {
  explicit Sent(ModelVersion version) : header(MakeModel("m", version)), bytes(BytesOf(header.data)) {
    checksum = Checksum(header.data);
    header.data = ByteSlices();
  }
  ModelSnapshot header;
  std::string bytes;
  uint64_t checksum = 0;
};

TEST_CASE("An upload is published when it is complete, and not before", "[unit]") {
  ModelStore store((ModelStoreOptions()));
  const Sent sent({1, 1});
  const auto upload = ValueOf(ModelUpload::Begin(&store, sent.header, sent.bytes.size(), sent.checksum));
  for (const char byte : sent.bytes) {
    REQUIRE_OK(upload->Append(SlicesOf(std::string(1, byte))));
  }
  CHECK(store.Newest("m") == nullptr);
  REQUIRE_OK(upload->Commit());
  CHECK(BytesOf(store.Newest("m")->snapshot.data) == sent.bytes);
  CHECK(store.Newest("m")->checksum == sent.checksum);
}

void Upload(ModelStore* store, const Sent& sent) {
  const auto upload = ValueOf(ModelUpload::Begin(store, sent.header, sent.bytes.size(), sent.checksum));
  REQUIRE_OK(upload->Append(SlicesOf(sent.bytes)));
  REQUIRE_OK(upload->Commit());
}

TEST_CASE("An upload reuses the memory of an old version only if it has no readers", "[unit]") {
  ModelStore store((ModelStoreOptions()));
  const Sent first({1, 1});
  Upload(&store, first);
  const char* const unread = store.Newest("m")->snapshot.data.slices()[0].data;
  Upload(&store, Sent({1, 2}));
  const std::shared_ptr<const StoredModel> read = store.Newest("m");
  for (uint64_t version = 3; version < 10; ++version) {
    Upload(&store, Sent({1, version}));
    CHECK(BytesOf(store.Newest("m")->snapshot.data) == Sent({1, version}).bytes);
    CHECK((version > 3 || store.Newest("m")->snapshot.data.slices()[0].data == unread));
  }
  CHECK(BytesOf(read->snapshot.data) == Sent({1, 2}).bytes);
}

TEST_CASE("An upload that is short, long or damaged is refused", "[unit]") {
  ModelStore store((ModelStoreOptions()));
  REQUIRE_OK(store.Publish(MakeModel("m", {1, 1})));
  const Sent sent({1, 2});
  auto upload = ValueOf(ModelUpload::Begin(&store, sent.header, sent.bytes.size(), sent.checksum));

  SECTION("short") {
    REQUIRE_OK(upload->Append(SlicesOf(sent.bytes.substr(1))));
    const absl::Status status = upload->Commit();
    CHECK(status.code() == absl::StatusCode::kInvalidArgument);
    CHECK_THAT(std::string(status.message()), Catch::Contains("only 55 bytes have come where 56"));
  }
  SECTION("long") {
    REQUIRE_OK(upload->Append(SlicesOf(sent.bytes)));
    const absl::Status status = upload->Append(SlicesOf("x"));
    CHECK(status.code() == absl::StatusCode::kInvalidArgument);
    CHECK_THAT(std::string(status.message()), Catch::Contains("57 bytes have come where 56"));
  }
  SECTION("damaged") {
    std::string damaged = sent.bytes;
    damaged[20] ^= 1;
    REQUIRE_OK(upload->Append(SlicesOf(damaged)));
    const absl::Status status = upload->Commit();
    CHECK(status.code() == absl::StatusCode::kDataLoss);
    CHECK_THAT(std::string(status.message()), Catch::Contains("checksum"));
  }
  CHECK(store.Newest("m")->snapshot.version == ModelVersion{1, 1});
}

TEST_CASE("Running uploads count towards the byte limit until they end", "[unit]") {
  ModelStoreOptions options;
  options.max_bytes = 100;
  ModelStore store(options);
  const Sent sent({1, 1});
  auto first = ValueOf(ModelUpload::Begin(&store, sent.header, sent.bytes.size(), sent.checksum));
  CHECK(ModelUpload::Begin(&store, sent.header, sent.bytes.size(), sent.checksum).status().code() ==
        absl::StatusCode::kResourceExhausted);
  first.reset();  // Its peer is gone.
  auto second = ValueOf(ModelUpload::Begin(&store, sent.header, sent.bytes.size(), sent.checksum));
  REQUIRE_OK(second->Append(SlicesOf(sent.bytes)));
  REQUIRE_OK(second->Commit());
  CHECK(store.Newest("m") != nullptr);
}

TEST_CASE("A version that became stale during its upload is refused", "[unit]") {
  ModelStore store((ModelStoreOptions()));
  const Sent sent({1, 2});
  const auto upload = ValueOf(ModelUpload::Begin(&store, sent.header, sent.bytes.size(), sent.checksum));
  REQUIRE_OK(upload->Append(SlicesOf(sent.bytes)));
  REQUIRE_OK(store.Publish(MakeModel("m", {2, 1})));
  CHECK(upload->Commit().code() == absl::StatusCode::kFailedPrecondition);
  CHECK(ModelUpload::Begin(&store, sent.header, sent.bytes.size(), sent.checksum).status().code() ==
        absl::StatusCode::kFailedPrecondition);
}

TEST_CASE("A header that announces too much takes no memory", "[unit]") {
  ModelStore store((ModelStoreOptions()));
  ModelSnapshot header;
  header.model = "m";
  header.version = {1, 1};
  for (int i = 0; i < 200; ++i) {
    header.tensors.push_back({"t" + std::to_string(i), DType::kUint8, {kMaxArrayBytes}});
  }
  const uint64_t bytes = 200 * static_cast<uint64_t>(kMaxArrayBytes);  // More than the address space.
  CHECK(ModelUpload::Begin(&store, header, bytes, 0).status().code() == absl::StatusCode::kResourceExhausted);
  header.tensors.resize(1);
  CHECK(ModelUpload::Begin(&store, header, bytes, 0).status().code() == absl::StatusCode::kInvalidArgument);
  REQUIRE_OK(store.Publish(MakeModel("m", {1, 1})));  // The refused upload does not count any more.
}

}  // namespace
}  // namespace waggle
