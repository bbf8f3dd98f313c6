#include "common/base/tensor/array_spec.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "common/base/random.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

constexpr int64_t kMaxInt64 = std::numeric_limits<int64_t>::max();

TEST_CASE("an array's size follows from its shape and type", "[unit]") {
  const ArraySpec matrix{"a", DType::kFloat64, {2, 3}};
  CHECK(matrix.NumElements() == 6);
  CHECK(matrix.NumBytes() == 48);
  const ArraySpec scalar{"a", DType::kInt16, {}};
  CHECK(scalar.NumElements() == 1);
  CHECK(scalar.NumBytes() == 2);
  const ArraySpec empty{"a", DType::kFloat32, {5, 0, 7}};
  CHECK(empty.NumElements() == 0);
  CHECK(empty.NumBytes() == 0);
}

TEST_CASE("a spec's text has name, type and shape", "[unit]") {
  const ArraySpec observation{"observation", DType::kFloat32, {4}};
  const ArraySpec action{"action", DType::kInt64, {}};
  CHECK(observation.DebugString() == "observation: float32[4]");
  CHECK(ArraySpec{"x", DType::kUint8, {84, 84, 4}}.DebugString() == "x: uint8[84, 84, 4]");
  CHECK(DebugString({observation, action}) == "[observation: float32[4], action: int64[]]");
  CHECK(DebugString(std::vector<ArraySpec>{}) == "[]");
}

TEST_CASE("a spec beyond a limit is refused", "[unit]") {
  const ArraySpec specs[] = {
      {"", DType::kFloat32, {}},
      {"a", static_cast<DType>(0), {}},
      {"a", static_cast<DType>(200), {1}},
      {"a", DType::kFloat32, std::vector<int64_t>(100000, 1)},
      {"a", DType::kFloat32, {0, std::numeric_limits<int64_t>::min()}},
      {"a", DType::kUint8, {kMaxArrayBytes + 1}},
      // Products that wrap around to something small.
      {"a", DType::kFloat32, {int64_t{1} << 32, int64_t{1} << 32}},
      {"a", DType::kUint8, {kMaxInt64, kMaxInt64, kMaxInt64, kMaxInt64}},
  };
  for (const ArraySpec& spec : specs) {
    CAPTURE(spec.name, spec.shape.size());
    REQUIRE_CODE(spec.Validate(), absl::StatusCode::kInvalidArgument);
  }
}

TEST_CASE("a name has only characters that are harmless in files, metrics and messages", "[unit]") {
  for (const char* name : {"a", "policy/layer-0.weight_1", "..", "A9"}) {
    CHECK(ValidateName(name) == absl::OkStatus());
  }
  CHECK(ValidateName(std::string(kMaxNameLength, 'x')) == absl::OkStatus());
  CHECK_FALSE(ValidateName(std::string(kMaxNameLength + 1, 'x')).ok());
  CHECK_FALSE(ValidateName("").ok());
  for (int c = 0; c < 256; ++c) {
    const std::string name(1, static_cast<char>(c));
    const bool allowed = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
                         c == '_' || c == '/' || c == '-';
    CAPTURE(c);
    CHECK(ValidateName(name).ok() == allowed);
  }
  const absl::Status status = ValidateName("a b\n\xff");
  CHECK(absl::EndsWith(status.message(), "got \"a b\\n\\xff\""));
}

// Dimensions near overflow.
int64_t RandomDimension(Rng* rng) {
  switch (rng->UniformInt(4)) {
    case 0:
      return static_cast<int64_t>(rng->UniformInt(4));
    case 1:
      return static_cast<int64_t>(rng->Next());
    case 2:
      return int64_t{1} << rng->UniformInt(63);
    default:
      return (int64_t{1} << rng->UniformInt(63)) - 1;
  }
}

TEST_CASE("a spec is valid exactly when its size is within the limit, computed without bound", "[unit]") {
  Rng rng(20240229);
  int valid = 0;
  for (int i = 0; i < 100000; ++i) {
    ArraySpec spec{"a", static_cast<DType>(1 + rng.UniformInt(10)), {}};
    spec.shape.resize(rng.UniformInt(kMaxRank + 2));
    // Saturating, in numbers whose products cannot overflow.
    unsigned __int128 bytes = DTypeSize(spec.dtype);
    bool expected = spec.shape.size() <= kMaxRank;
    for (int64_t& dimension : spec.shape) {
      dimension = RandomDimension(&rng);
      expected = expected && dimension >= 0;
      if (dimension >= 0) {
        bytes = std::min<unsigned __int128>(bytes * static_cast<uint64_t>(dimension), int64_t{1} << 62);
      }
      // A part that is too large is refused even if a later dimension of 0 would make the whole small.
      expected = expected && bytes <= kMaxArrayBytes;
    }
    CAPTURE(spec.DebugString());
    REQUIRE(spec.Validate().ok() == expected);
    if (expected) {
      ++valid;
      REQUIRE(spec.NumBytes() == static_cast<int64_t>(bytes));
      REQUIRE(spec.NumElements() * static_cast<int64_t>(DTypeSize(spec.dtype)) == spec.NumBytes());
    }
  }
  // Both outcomes are common.
  CHECK(valid > 10000);
  CHECK(valid < 90000);
}

}  // namespace
}  // namespace waggle
