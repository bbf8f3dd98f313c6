#include "common/rl/checkpoint/safetensors.h"

#include <limits>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::ValueOf;

SafetensorsHeader Example() {
  SafetensorsHeader header;
  header.tensors = LayOutTensors({{"flags", DType::kBool, {3}},
                                  {"torso.0.weight", DType::kFloat32, {2, 3}},
                                  {"none", DType::kFloat64, {0, 5}},
                                  {"steps", DType::kInt64, {}}});
  header.texts = {{"zebra", "1 \"2\"\n\\"}, {"anteater", "ä"}};
  return header;
}

constexpr int64_t kExampleDataBytes = 8 + 24 + 3;

// Without the blanks behind it.
constexpr char kExampleJson[] = R"({"__metadata__":{"zebra":"1 \"2\"\n\\","anteater":"ä"},)"
                                R"("flags":{"dtype":"BOOL","shape":[3],"data_offsets":[32,35]},)"
                                R"("torso.0.weight":{"dtype":"F32","shape":[2,3],"data_offsets":[8,32]},)"
                                R"("none":{"dtype":"F64","shape":[0,5],"data_offsets":[0,0]},)"
                                R"("steps":{"dtype":"I64","shape":[],"data_offsets":[0,8]}})";

std::string Length(uint64_t length) {
  std::string bytes;
  for (int i = 0; i < kSafetensorsLengthBytes; ++i) {
    bytes += static_cast<char>(length >> (8 * i) & 0xff);
  }
  return bytes;
}

std::vector<ArraySpec> EveryElementType() {
  std::vector<ArraySpec> specs;
  for (int dtype = 0; dtype < 32; ++dtype) {
    if (IsDType(dtype)) {
      specs.push_back({absl::StrCat("t", dtype), static_cast<DType>(dtype), {3}});
    }
  }
  return specs;
}

TEST_CASE("A header has the layout's bytes", "[unit]") {
  const std::string bytes = ValueOf(EncodeSafetensorsHeader(Example()));
  CHECK(bytes.size() % 64 == 0);
  CHECK(bytes.substr(0, 8) == Length(bytes.size() - 8));
  std::string json = bytes.substr(8);
  json.resize(json.find_last_not_of(' ') + 1);
  CHECK(json == kExampleJson);
  CHECK(ValueOf(EncodeSafetensorsHeader({})).substr(8) == "{}" + std::string(54, ' '));
}

TEST_CASE("Tensors of larger elements lie first, and each begins at a multiple of its elements' size", "[unit]") {
  const std::vector<ArraySpec> specs = EveryElementType();
  REQUIRE(specs.size() == 10);
  const std::vector<SafetensorsEntry> tensors = LayOutTensors(specs);
  int64_t end = 0;
  for (const size_t index : OrderInFile(tensors)) {
    CHECK(tensors[index].spec == specs[index]);
    CHECK(tensors[index].offset == end);
    CHECK(tensors[index].offset % static_cast<int64_t>(DTypeSize(specs[index].dtype)) == 0);
    end += specs[index].NumBytes();
  }
  CHECK(DataBytes(tensors) == end);
}

TEST_CASE("A header of every element type survives its bytes", "[unit]") {
  SafetensorsHeader header = Example();
  header.tensors = LayOutTensors(EveryElementType());
  const std::string bytes = ValueOf(EncodeSafetensorsHeader(header));
  const SafetensorsHeader parsed = ValueOf(ParseSafetensorsHeader(bytes.substr(8), DataBytes(header.tensors)));
  CHECK(parsed.texts == header.texts);
  REQUIRE(parsed.tensors.size() == header.tensors.size());
  for (size_t i = 0; i < parsed.tensors.size(); ++i) {
    CHECK(parsed.tensors[i].spec == header.tensors[i].spec);
    CHECK(parsed.tensors[i].offset == header.tensors[i].offset);
  }
}

TEST_CASE("A header as other programs write it is read", "[unit]") {
  const SafetensorsHeader header = ValueOf(ParseSafetensorsHeader(
      "{ \"b\": {\"data_offsets\": [0, 2], \"shape\": [1], \"dtype\": \"F16\"},\n\"a\":{\"dtype\":\"\\u0055"
      "8\",\"shape\":[],\"data_offsets\":[2,3]} }   ",
      3));
  CHECK(header.texts.empty());
  REQUIRE(header.tensors.size() == 2);
  CHECK(header.tensors[0].spec == ArraySpec{"b", DType::kFloat16, {1}});
  CHECK(header.tensors[1].spec == ArraySpec{"a", DType::kUint8, {}});
  CHECK(header.tensors[1].offset == 2);
  CHECK(ValueOf(ParseSafetensorsHeader("{}", 0)).tensors.empty());
}

TEST_CASE("Impossible contents of a header are refused", "[unit]") {
  SafetensorsHeader header = Example();
  SECTION("a text that is not UTF-8") {
    header.texts[1].second = "\xff";
  }
  SECTION("a text's name that is not UTF-8") {
    header.texts[1].first = "\xc3";
  }
  SECTION("a tensor with the texts' name") {
    header.tensors[0].spec.name = "__metadata__";
  }
  SECTION("more bytes than a reader takes") {
    header.texts[1].second = std::string(kMaxSafetensorsHeaderBytes, 'x');
  }
  REQUIRE_CODE(EncodeSafetensorsHeader(header), absl::StatusCode::kInvalidArgument);
}

TEST_CASE("A length is accepted only within the file and the limit", "[unit]") {
  constexpr int64_t kLarge = int64_t{1} << 40;
  CHECK(ValueOf(ParseSafetensorsLength(Length(0), 8)) == 0);
  CHECK(ValueOf(ParseSafetensorsLength(Length(258), 266)) == 258);
  CHECK(ValueOf(ParseSafetensorsLength(Length(kMaxSafetensorsHeaderBytes), kLarge)) == kMaxSafetensorsHeaderBytes);
  REQUIRE_CODE(ParseSafetensorsLength(Length(259), 266), absl::StatusCode::kDataLoss);
  REQUIRE_CODE(ParseSafetensorsLength(Length(kMaxSafetensorsHeaderBytes + 1), kLarge), absl::StatusCode::kDataLoss);
  REQUIRE_CODE(ParseSafetensorsLength(Length(std::numeric_limits<uint64_t>::max()), kLarge),
               absl::StatusCode::kDataLoss);
  REQUIRE_CODE(ParseSafetensorsLength(Length(0), 7), absl::StatusCode::kDataLoss);
  REQUIRE_CODE(ParseSafetensorsLength("1234567", 100), absl::StatusCode::kDataLoss);
}

TEST_CASE("A header cut short anywhere is data loss", "[unit]") {
  const std::string json = kExampleJson;
  REQUIRE_OK(ParseSafetensorsHeader(json, kExampleDataBytes).status());
  for (size_t size = 0; size < json.size(); ++size) {
    CAPTURE(size);
    REQUIRE_CODE(ParseSafetensorsHeader(json.substr(0, size), kExampleDataBytes), absl::StatusCode::kDataLoss);
  }
}

TEST_CASE("A file that does not end where its tensors do is data loss", "[unit]") {
  REQUIRE_CODE(ParseSafetensorsHeader(kExampleJson, kExampleDataBytes - 1), absl::StatusCode::kDataLoss);
  REQUIRE_CODE(ParseSafetensorsHeader(kExampleJson, kExampleDataBytes + 1), absl::StatusCode::kDataLoss);
  REQUIRE_CODE(ParseSafetensorsHeader("{}", 1), absl::StatusCode::kDataLoss);
}

TEST_CASE("A hostile header is data loss", "[unit]") {
  struct Case {
    absl::string_view from;
    std::string to;
  };
  const std::string deep(100'000, '[');
  const Case cases[] = {
      {"{\"__metadata__\"", "\xef\xbb\xbf{\"__metadata__\""},
      {"{\"__metadata__\"", " {\"__metadata__\""},
      {"{\"__metadata__\"", "[{\"__metadata__\""},
      {"[0,8]}}", "[0,8]}}}"},
      {"[0,8]}}", "[0,8]}}{}"},
      {"[0,8]}}", std::string("[0,8]}}\0", 8)},
      {"[0,8]}}", "[0,8]},}"},
      {"ä", "\xc3"},
      {"ä", "\x01"},
      {"ä", "\\ud800"},
      // Texts.
      {"\"ä\"", "3"},
      {"\"ä\"", "null"},
      {"\"ä\"", "{}"},
      {"\"ä\"", deep},
      {"anteater", "zebra"},
      {"\"flags\":{\"dtype\"", "\"__metadata__\":{},\"flags\":{\"dtype\""},
      {"{\"zebra\"", "[\"zebra\""},
      // Tensors and their fields.
      {"\"steps\":{", "\"flags\":{"},
      {"\"steps\":{", "\"s\\u0074eps\":{},\"steps\":{"},
      {"\"steps\":{", "\"x\":3,\"steps\":{"},
      {"\"steps\":{", "\"x\":true,\"steps\":{"},
      {"\"steps\":{", "\"x\":\"y\",\"steps\":{"},
      {"\"steps\":{", "\"x\":[],\"steps\":{"},
      {"\"steps\":{", "\"\":{"},
      {"\"steps\":{", "\"../\\n\":{"},
      {"\"steps\":{", "\"steps\":{\"more\":1,"},
      {"\"steps\":{", "\"steps\":{\"dtype\":\"I64\","},
      {"\"dtype\":\"BOOL\",", ""},
      {"\"shape\":[3],", ""},
      {",\"data_offsets\":[32,35]", ""},
      {"\"BOOL\"", "\"U64\""},
      {"\"BOOL\"", "\"bool\""},
      {"\"BOOL\"", "[]"},
      {"\"BOOL\"", "1"},
      // Shapes.
      {"[3]", "3"},
      {"[3]", "\"3\""},
      {"[3]", "{}"},
      {"[3]", "[[3]]"},
      {"[3]", "[-3]"},
      {"[3]", "[3.0]"},
      {"[3]", "[3e0]"},
      {"[3]", "[\"3\"]"},
      {"[3]", "[18446744073709551615]"},
      {"[3]", "[18446744073709551616]"},
      {"[3]", "[9223372036854775807]"},
      {"[3]", "[4294967296,4294967296]"},
      {"[3]", "[1,1,1,1,1,1,1,1,3]"},
      {"[3]", "[4]"},
      // Offsets.
      {"[32,35]", "[35,32]"},
      {"[32,35]", "[32]"},
      {"[32,35]", "[32,35,35]"},
      {"[32,35]", "[33,36]"},
      {"[32,35]", "[29,32]"},
      {"[8,32]", "[0,24]"},
      {"[0,8]}", "[1,9]}"},
      {"[0,8]}", "[9223372036854775799,9223372036854775807]}"},
      {"[0,0]", "[1,1]"},
      {"[0,0]", "[36,36]"},
  };
  for (const Case& example : cases) {
    CAPTURE(example.from, example.to.substr(0, 100));
    REQUIRE(absl::StrContains(kExampleJson, example.from));
    const std::string json = absl::StrReplaceAll(kExampleJson, {{example.from, example.to}});
    REQUIRE_CODE(ParseSafetensorsHeader(json, kExampleDataBytes), absl::StatusCode::kDataLoss);
  }
}

TEST_CASE("A long name is not repeated whole in a message", "[unit]") {
  const absl::Status status = ParseSafetensorsHeader("{\"" + std::string(1 << 20, '\x7f') + "\":3}", 0).status();
  REQUIRE_CODE(status, absl::StatusCode::kDataLoss);
  CHECK(status.message().size() < 2000);
}

}  // namespace
}  // namespace waggle
