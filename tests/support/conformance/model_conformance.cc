#include "tests/support/conformance/model_conformance.h"

#include <cstring>
#include <optional>
#include <utility>

#include "common/base/reason.h"
#include "common/base/threads/thread.h"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

void CheckRoundTrip(const ModelPorts& ports) {
  const auto publisher = ports.new_publisher();
  const auto subscriber = ports.new_subscriber("m");
  CHECK_FALSE(ValueOf(subscriber->PullNewer(std::nullopt, StopToken())).has_value());

  ModelSnapshot published = MakeModel("m", {1, 10}, 1'000'000);  // Several pieces of two mebibytes.
  REQUIRE_OK(publisher->Publish(published, StopToken()));
  const std::optional<ModelSnapshot> pulled = ValueOf(subscriber->PullNewer(std::nullopt, StopToken()));
  REQUIRE(pulled.has_value());
  CHECK(pulled->model == "m");
  CHECK(pulled->version == ModelVersion{1, 10});
  CHECK(pulled->tensors == published.tensors);
  CHECK(pulled->network_hash == published.network_hash);
  CHECK((BytesOf(pulled->data) == BytesOf(published.data)));
  CHECK_FALSE(ValueOf(ports.new_subscriber("other")->PullNewer(std::nullopt, StopToken())).has_value());
}

void CheckOnlyNewerComes(const ModelPorts& ports) {
  const auto publisher = ports.new_publisher();
  const auto subscriber = ports.new_subscriber("m");
  REQUIRE_OK(publisher->Publish(MakeModel("m", {1, 10}), StopToken()));
  CHECK_FALSE(ValueOf(subscriber->PullNewer(ModelVersion{1, 10}, StopToken())).has_value());
  CHECK_FALSE(ValueOf(subscriber->PullNewer(ModelVersion{2, 0}, StopToken())).has_value());
  CHECK(ValueOf(subscriber->PullNewer(ModelVersion{1, 9}, StopToken())).has_value());
  REQUIRE_OK(publisher->Publish(MakeModel("m", {1, 11}), StopToken()));
  REQUIRE_OK(publisher->Publish(MakeModel("m", {2, 1}), StopToken()));  // A later epoch may begin at any version.
  CHECK(ValueOf(subscriber->PullNewer(ModelVersion{1, 10}, StopToken()))->version == ModelVersion{2, 1});
}

void CheckStaleIsFenced(const ModelPorts& ports) {
  const auto publisher = ports.new_publisher();
  const auto zombie = ports.new_publisher();
  REQUIRE_OK(publisher->Publish(MakeModel("m", {2, 5}), StopToken()));
  for (const ModelVersion stale : {ModelVersion{1, 999}, ModelVersion{2, 4}, ModelVersion{2, 5}}) {
    const absl::Status refused = zombie->Publish(MakeModel("m", stale), StopToken());
    CHECK(refused.code() == absl::StatusCode::kFailedPrecondition);
    CHECK(ReasonOf(refused) == (stale.epoch < 2 ? reasons::kLaterLearner : ""));
  }
  CHECK(ValueOf(ports.new_subscriber("m")->PullNewer(std::nullopt, StopToken()))->version == ModelVersion{2, 5});
  CHECK(BytesOf(ValueOf(ports.new_subscriber("m")->PullNewer(std::nullopt, StopToken()))->data) ==
        BytesOf(MakeModel("m", {2, 5}).data));
}

void CheckMalformedIsRefused(const ModelPorts& ports) {
  const auto publisher = ports.new_publisher();
  REQUIRE_OK(publisher->Publish(MakeModel("m", {1, 1}), StopToken()));
  std::vector<ModelSnapshot> malformed(5, MakeModel("m", {1, 2}));
  malformed[0].model = "no such name!";
  malformed[1].tensors[0].shape[0] += 1;
  malformed[2].tensors[0].shape[0] -= 1;
  malformed[3].tensors[0].shape[0] = -1;
  malformed[4].tensors[1].name = malformed[4].tensors[0].name;
  for (const ModelSnapshot& snapshot : malformed) {
    CHECK(publisher->Publish(snapshot, StopToken()).code() == absl::StatusCode::kInvalidArgument);
  }
  CHECK(ValueOf(ports.new_subscriber("m")->PullNewer(std::nullopt, StopToken()))->version == ModelVersion{1, 1});
  CHECK(publisher->Publish(MakeModel("m", {1, 2}), StopToken()) == absl::OkStatus());
}

void CheckModelWithoutBytes(const ModelPorts& ports) {
  ModelSnapshot empty;
  empty.model = "m";
  empty.version = {1, 1};
  REQUIRE_OK(ports.new_publisher()->Publish(empty, StopToken()));
  const std::optional<ModelSnapshot> pulled = ValueOf(ports.new_subscriber("m")->PullNewer(std::nullopt, StopToken()));
  REQUIRE(pulled.has_value());
  CHECK(pulled->data.size() == 0);
  CHECK(pulled->version == ModelVersion{1, 1});
}

void CheckNothingIsBestBeforeItIsSaid(const ModelPorts& ports) {
  REQUIRE_OK(ports.new_publisher()->Publish(MakeModel("m", {1, 1}), StopToken()));
  CHECK_FALSE(ValueOf(ports.new_subscriber("m")->PullBest(StopToken())).has_value());
}

void CheckWaiting(const ModelPorts& ports) {
  const auto publisher = ports.new_publisher();
  const auto subscriber = ports.new_subscriber("m");
  const StopToken stop;
  absl::Status first;
  absl::Status second;
  {
    // The wait may begin before or after the publication: both must end.
    const Thread waiter("waiter", [&] {
      first = subscriber->WaitNewer(std::nullopt, stop);
      second = subscriber->WaitNewer(ModelVersion{1, 1}, stop);
    });
    REQUIRE_OK(publisher->Publish(MakeModel("m", {1, 1}), StopToken()));
    REQUIRE_OK(publisher->Publish(MakeModel("m", {1, 2}), StopToken()));
  }
  CHECK(first == absl::OkStatus());
  CHECK(second == absl::OkStatus());

  absl::Status stopped;
  {
    const Thread waiter("waiter", [&] { stopped = subscriber->WaitNewer(ModelVersion{1, 2}, stop); });
    stop.RequestStop();
  }
  CHECK(stopped.code() == absl::StatusCode::kCancelled);
}

}  // namespace

void CheckModelConformance(const std::function<ModelPorts()>& new_ports) {
  using Check = void (*)(const ModelPorts&);
  for (const auto& [name, check] : std::initializer_list<std::pair<const char*, Check>>{
           {"published weights are pulled, to the byte", CheckRoundTrip},
           {"only newer weights are pulled", CheckOnlyNewerComes},
           {"a stale version is fenced off", CheckStaleIsFenced},
           {"a malformed version is refused and the old one is kept", CheckMalformedIsRefused},
           {"a model may have no tensors", CheckModelWithoutBytes},
           {"there are no best weights before they are published", CheckNothingIsBestBeforeItIsSaid},
           {"waiting ends with a newer version, or a stop", CheckWaiting}}) {
    DYNAMIC_SECTION(name) {
      check(new_ports());
    }
  }
}

ModelSnapshot MakeModel(const std::string& model, ModelVersion version, int64_t rows) {
  ModelSnapshot snapshot;
  snapshot.model = model;
  snapshot.version = version;
  snapshot.tensors = {{"layer/weight", DType::kFloat32, {rows, 4}}, {"step", DType::kInt64, {}}};
  snapshot.network_hash = 0x1234567890abcdef;
  std::string bytes(static_cast<size_t>(rows) * 16 + 8, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<char>(i * 7 + i / 256 + version.version * 31 + version.epoch);
  }
  snapshot.data = SlicesOf(bytes);
  return snapshot;
}

std::string BytesOf(const ByteSlices& data) {
  std::string bytes(data.size(), '\0');
  data.CopyTo(bytes.data());
  return bytes;
}

ByteSlices SlicesOf(const std::string& bytes) {
  const std::shared_ptr<char> copy = AllocateBytes(bytes.size());
  std::memcpy(copy.get(), bytes.data(), bytes.size());
  return ByteSlices({copy.get(), bytes.size(), copy});
}

}  // namespace waggle::testing
