#include "common/checkpoint/manifest.h"

#include <xxhash.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::ValueOf;

Manifest Example() {
  Manifest manifest;
  manifest.step = 12345;
  manifest.data_bytes = 68;
  manifest.entries.push_back({{"policy/weight", DType::kFloat32, {2, 3}}, 0, 0x0123456789abcdef});
  manifest.entries.push_back({{"steps", DType::kInt32, {}}, 64, 0xfedcba9876543210});
  manifest.texts = {{"generator", "1 \"2\"\n"}};
  return manifest;
}

// The example's bytes, as docs/checkpoints.md shows them: a reader of another version must find them so for ever.
constexpr char kExampleBody[] =
    "waggle-checkpoint 1\n"
    "step 12345\n"
    "data 68\n"
    "array policy/weight float32 [2,3] 0 0123456789abcdef\n"
    "array steps int32 [] 64 fedcba9876543210\n"
    "text generator \"1 \\\"2\\\"\\n\"\n";
constexpr char kExampleChecksum[] = "checksum b64c97e413b0a3da\n";

// With a right checksum, so that only the change itself can be refused.
std::string Signed(const std::string& body) {
  return absl::StrCat(body, "checksum ", absl::Hex(XXH3_64bits(body.data(), body.size()), absl::kZeroPad16), "\n");
}

std::string Changed(absl::string_view from, absl::string_view to) {
  REQUIRE(absl::StrContains(kExampleBody, from));
  return Signed(absl::StrReplaceAll(kExampleBody, {{from, to}}));
}

TEST_CASE("a manifest has the documented bytes", "[unit]") {
  CHECK(FormatManifest(Example()) == std::string(kExampleBody) + kExampleChecksum);
}

TEST_CASE("a manifest survives its bytes", "[unit]") {
  const Manifest parsed = ValueOf(ParseManifest(FormatManifest(Example())));
  CHECK(parsed.step == 12345);
  CHECK(parsed.data_bytes == 68);
  REQUIRE(parsed.entries.size() == 2);
  CHECK(parsed.entries[0].spec == Example().entries[0].spec);
  CHECK(parsed.entries[1].spec == Example().entries[1].spec);
  CHECK(parsed.entries[1].offset == 64);
  CHECK(parsed.entries[1].checksum == 0xfedcba9876543210);
  CHECK(parsed.texts == Example().texts);
}

TEST_CASE("an array starts at a multiple of 64 bytes", "[unit]") {
  CHECK(AlignedOffset(0) == 0);
  CHECK(AlignedOffset(1) == 64);
  CHECK(AlignedOffset(64) == 64);
  CHECK(AlignedOffset(65) == 128);
}

TEST_CASE("a manifest cut short anywhere is data loss", "[unit]") {
  const std::string bytes = FormatManifest(Example());
  for (size_t size = 0; size < bytes.size(); ++size) {
    CAPTURE(size);
    REQUIRE_CODE(ParseManifest(bytes.substr(0, size)), absl::StatusCode::kDataLoss);
  }
  REQUIRE_CODE(ParseManifest(bytes + "\n"), absl::StatusCode::kDataLoss);
}

TEST_CASE("a manifest of a newer version is refused, not called damaged", "[unit]") {
  const absl::Status status = ParseManifest(Changed("checkpoint 1", "checkpoint 2")).status();
  REQUIRE_CODE(status, absl::StatusCode::kFailedPrecondition);
  CHECK(absl::StrContains(status.message(), "format version 2"));
  // Whatever a newer version has after its first line.
  REQUIRE_CODE(ParseManifest(Signed("waggle-checkpoint 7\nnew things\n")), absl::StatusCode::kFailedPrecondition);
}

TEST_CASE("a manifest that its writer cannot have meant is data loss, and says why", "[unit]") {
  struct Case {
    absl::string_view from;
    absl::string_view to;
    absl::string_view reason;
  };
  const Case cases[] = {
      {"waggle-checkpoint 1", "something else", "first line"},
      {"waggle-checkpoint 1", "waggle-checkpoint 0", "first line"},
      {"step 12345", "step -1", "step"},
      {"step 12345", "step 99999999999999999999", "step"},
      {"step 12345", "step +12345", "canonical"},
      {"step 12345\n", "", "canonical"},
      {"step 12345\n", "step 12345\nstep 12345\n", "canonical"},
      {"data 68", "data x", "data size"},
      {"data 68", "data 69", "end at byte 68"},
      {"array steps", "array policy/weight", "twice"},
      {"array steps", "array a b", "array"},
      {"array steps", "array ../x\x01", "bad array"},
      {"int32", "int33", "array"},
      {"[2,3]", "[2,3", "array"},
      {"[2,3]", "[2,,3]", "canonical"},
      {"[2,3]", "[2,x]", "array"},
      {"[2,3]", "[-2,3]", "negative"},
      {"[2,3]", "[4294967296,4294967296]", "larger than"},
      {"[2,3]", "[9223372036854775807]", "larger than"},
      {"[2,3]", "[1,1,1,1,1,1,1,2,3]", "array"},
      {"] 0 ", "] 1 ", "puts"},
      {"] 64 ", "] 0 ", "puts"},
      {"] 64 ", "] 128 ", "puts"},
      {"0123456789abcdef", "0123456789ABCDEF", "canonical"},
      {"0123456789abcdef", "xyz", "array"},
      {"text generator", "text two words", "text"},
      {"\\n\"\n", "\\q\"\n", "text"},
      {"\\n\"\n", "\n", "text"},
      {"text generator", "array generator", "array"},
      {"text generator", "unknown generator", "line"},
  };
  for (const Case& example : cases) {
    CAPTURE(example.from, example.to);
    const absl::Status status = ParseManifest(Changed(example.from, example.to)).status();
    REQUIRE_CODE(status, absl::StatusCode::kDataLoss);
    CHECK(absl::StrContains(status.message(), example.reason));
  }
}

TEST_CASE("a long line is not repeated whole in a message", "[unit]") {
  const absl::Status status =
      ParseManifest(Signed("waggle-checkpoint 1\n" + std::string(1 << 20, 'x') + "\n")).status();
  REQUIRE_CODE(status, absl::StatusCode::kDataLoss);
  CHECK(status.message().size() < 1000);
}

}  // namespace
}  // namespace waggle
