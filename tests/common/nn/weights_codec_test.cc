#include "common/nn/weights_codec.h"

#include <cstring>
#include <limits>

#include "tests/support/catch.h"

namespace waggle {
namespace {

FlatParameters Make() {
  return testing::ValueOf(FlatParameters::Create(
      {ArraySpec{"weight", DType::kFloat32, {2, 3}}, ArraySpec{"bias", DType::kFloat32, {2}}}, torch::kCPU));
}

ModelSnapshot Encode(FlatParameters parameters) {
  ModelSnapshot snapshot = testing::ValueOf(EncodeWeights({{"net", &parameters}}, 77));
  snapshot.model = "test";
  return snapshot;
}

TEST_CASE("weights survive the round trip through a snapshot", "[unit]") {
  FlatParameters parameters = Make();
  parameters.values().copy_(torch::arange(8));
  const ModelSnapshot snapshot = Encode(parameters);
  CHECK((snapshot.tensors == parameters.layout()));
  CHECK(snapshot.network_hash == 77);
  CHECK(snapshot.data.size() == 32);
  // A snapshot is a copy.
  parameters.values().zero_();
  FlatParameters other = Make();
  REQUIRE_OK(DecodeWeights(snapshot, 77, {{"net", &other}}));
  CHECK(torch::equal(other.values(), torch::arange(8).to(torch::kFloat32)));
  CHECK(other.value_views()[1][1].item<float>() == 7);
}

TEST_CASE("weights of another network are refused with both sides, and the old ones stay", "[unit]") {
  FlatParameters parameters = Make();
  parameters.values().fill_(5);
  ModelSnapshot snapshot = Encode(Make());
  absl::Status status = DecodeWeights(snapshot, 78, {{"net", &parameters}});
  CHECK(status.code() == absl::StatusCode::kFailedPrecondition);
  CHECK(status.message() ==
        "model \"test\": the weights are of another network: its hash is 000000000000004d, wanted 000000000000004e");

  snapshot.tensors[0].shape = {3, 2};
  status = DecodeWeights(snapshot, 77, {{"net", &parameters}});
  CHECK(status.code() == absl::StatusCode::kFailedPrecondition);
  CHECK(status.message() ==
        "model \"test\": the weights are of another network: tensor 0 is weight: float32[3, 2]; wanted weight: "
        "float32[2, 3]");
  snapshot = Encode(Make());
  snapshot.tensors.pop_back();
  CHECK(DecodeWeights(snapshot, 77, {{"net", &parameters}}).message() ==
        "model \"test\": the weights are of another network: tensor 1 is missing; wanted bias: float32[2]");
  CHECK(parameters.values().sum().item<float>() == 40);
}

TEST_CASE("weights of the wrong size or that are not finite are refused, and the old ones stay", "[unit]") {
  FlatParameters parameters = Make();
  parameters.values().fill_(5);
  ModelSnapshot snapshot = Encode(Make());
  ModelSnapshot truncated = snapshot;
  truncated.data = ByteSlices(ByteSlice{snapshot.data.slices()[0].data, 28, snapshot.data.slices()[0].owner});
  CHECK(DecodeWeights(truncated, 77, {{"net", &parameters}}).message() ==
        "model \"test\": 28 bytes of weights; wanted 32");

  FlatParameters bad = Make();
  bad.values()[3] = std::numeric_limits<float>::quiet_NaN();
  const absl::Status status = DecodeWeights(Encode(bad), 77, {{"net", &parameters}});
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  CHECK(status.message() == "model \"test\": weight 3 of 8 is not finite");
  CHECK(parameters.values().sum().item<float>() == 40);
}

}  // namespace
}  // namespace waggle
