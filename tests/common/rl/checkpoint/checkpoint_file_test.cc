#include "common/rl/checkpoint/checkpoint_file.h"

#include <fcntl.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/file.h"
#include "tests/support/catch.h"
#include "tests/support/slices.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using testing::TemporaryFolder;
using testing::ValueOf;

constexpr char kName[] = "checkpoint.safetensors";

CheckpointArray Array(const std::string& name, DType dtype, std::vector<int64_t> shape, const std::string& data) {
  return {{name, dtype, std::move(shape)}, testing::InTwoSlices(data)};
}

CheckpointContents Example() {
  CheckpointContents contents;
  contents.step = 12345;
  contents.texts = {{"generator", "1 \"2\"\n\\"}, {"umlaut", "ä"}};
  contents.arrays = {Array("flags", DType::kBool, {3}, std::string("\1\0\1", 3)),
                     Array("policy/weight", DType::kFloat32, {2, 1}, std::string("\0\0\x80\x3f\0\0\0\xc0", 8)),
                     Array("none", DType::kFloat64, {0, 5}, ""),
                     Array("steps", DType::kInt64, {}, std::string("\2\0\0\0\0\0\0\1", 8)),
                     Array("half", DType::kBfloat16, {1}, "\x80\x3f")};
  return contents;
}

std::string Contents(const std::string& path) {
  return ValueOf(ReadSmallFile(path, size_t{1} << 20));
}

// The example's file, split where its header ends.
struct Written {
  TemporaryFolder folder;
  std::string path = folder.File(kName);
  std::string json;
  std::string data;

  Written() {
    REQUIRE_OK(WriteCheckpointFile(Example(), path));
    const std::string bytes = Contents(path);
    const auto length = static_cast<size_t>(ValueOf(ParseSafetensorsLength(bytes, 1'000'000)));
    json = bytes.substr(8, length);
    data = bytes.substr(8 + length);
  }
  absl::StatusOr<CheckpointHeader> Parse() const {
    return ParseCheckpointHeader(json, static_cast<int64_t>(data.size()));
  }
  // With the right checksum, so that only the change itself can be refused.
  void Change(absl::string_view from, absl::string_view to) {
    REQUIRE(absl::StrContains(json, from));
    json = absl::StrReplaceAll(json, {{from, to}});
    REQUIRE(SignCheckpointHeader(&json));
  }
};

TEST_CASE("a checkpoint's file has the documented bytes", "[unit]") {
  const Written file;
  std::string json = file.json;
  json.resize(json.find_last_not_of(' ') + 1);
  // A reader of another version must find them so for ever.
  CHECK(json ==
        R"({"__metadata__":{"waggle:header_xxh3":"7259b333d52621bb","waggle:format":"2",)"
        R"("waggle:data_xxh3":"e261cb96142b4deb","waggle:step":"12345","generator":"1 \"2\"\n\\","umlaut":"ä"},)"
        R"("flags":{"dtype":"BOOL","shape":[3],"data_offsets":[18,21]},)"
        R"("policy/weight":{"dtype":"F32","shape":[2,1],"data_offsets":[8,16]},)"
        R"("none":{"dtype":"F64","shape":[0,5],"data_offsets":[0,0]},)"
        R"("steps":{"dtype":"I64","shape":[],"data_offsets":[0,8]},)"
        R"("half":{"dtype":"BF16","shape":[1],"data_offsets":[16,18]}})");
  CHECK(file.data == std::string("\2\0\0\0\0\0\0\1\0\0\x80\x3f\0\0\0\xc0\x80\x3f\1\0\1", 21));
}

TEST_CASE("a checkpoint's contents come back from its file in their order", "[unit]") {
  Written file;
  const CheckpointContents wanted = Example();
  const CheckpointContents contents = ValueOf(ReadCheckpointFile(file.path));
  CHECK(contents.step == wanted.step);
  CHECK(contents.texts == wanted.texts);
  REQUIRE(contents.arrays.size() == wanted.arrays.size());
  for (size_t i = 0; i < wanted.arrays.size(); ++i) {
    CHECK(contents.arrays[i].spec == wanted.arrays[i].spec);
    CHECK(testing::BytesOf(contents.arrays[i].data) == testing::BytesOf(wanted.arrays[i].data));
  }
  const CheckpointHeader header = ValueOf(ReadCheckpointHeader(file.path));
  CHECK(header.step == wanted.step);
  CHECK(header.texts == wanted.texts);
  CHECK(header.tensors.size() == wanted.arrays.size());
}

TEST_CASE("a file that is cut short anywhere, or goes on, is data loss", "[unit]") {
  Written file;
  File bytes = ValueOf(File::Open(file.path, O_RDWR));
  const int64_t whole = ValueOf(bytes.Size());
  REQUIRE_OK(bytes.WriteAt(whole, absl::string_view("", 1)));
  REQUIRE_CODE(ReadCheckpointHeader(file.path), absl::StatusCode::kDataLoss);
  for (int64_t size = whole - 1; size >= 0; --size) {
    CAPTURE(size);
    REQUIRE_OK(bytes.Truncate(size));
    REQUIRE_CODE(ReadCheckpointHeader(file.path), absl::StatusCode::kDataLoss);
  }
}

TEST_CASE("a flipped bit is data loss; only the arrays' is not seen in the header", "[unit]") {
  Written file;
  File bytes = ValueOf(File::Open(file.path, O_RDWR));
  const std::string whole = ValueOf(bytes.ReadAt(0, ValueOf(bytes.Size())));
  for (size_t i = 0; i < whole.size() * 8; ++i) {
    CAPTURE(i);
    const char flipped = static_cast<char>(whole[i / 8] ^ (1 << (i % 8)));
    REQUIRE_OK(bytes.WriteAt(static_cast<int64_t>(i / 8), {&flipped, 1}));
    REQUIRE_CODE(ReadCheckpointFile(file.path), absl::StatusCode::kDataLoss);
    REQUIRE(ReadCheckpointHeader(file.path).ok() == (i / 8 >= 8 + file.json.size()));
    REQUIRE_OK(bytes.WriteAt(static_cast<int64_t>(i / 8), {&whole[i / 8], 1}));
  }
}

TEST_CASE("a checkpoint of a newer version is refused, not called damaged", "[unit]") {
  Written file;
  file.Change("\"waggle:format\":\"2\"", "\"waggle:format\":\"3\"");
  const absl::Status status = file.Parse().status();
  REQUIRE_CODE(status, absl::StatusCode::kFailedPrecondition);
  CHECK(absl::StrContains(status.message(), "format version 3"));
  // Contents of a newer version.
  file.json = absl::StrCat(file.json.substr(0, file.json.find("\"waggle:data_xxh3\"")), "new things");
  REQUIRE(SignCheckpointHeader(&file.json));
  REQUIRE_CODE(file.Parse(), absl::StatusCode::kFailedPrecondition);
}

TEST_CASE("a signed header that its writer cannot have meant is data loss", "[unit]") {
  struct Case {
    absl::string_view from;
    absl::string_view to;
  };
  const Case cases[] = {
      {"waggle:format", "format"},
      {"\"waggle:format\":\"2\"", "\"waggle:format\":\"1\""},
      {"\"waggle:format\":\"2\"", "\"waggle:format\":\"x\""},
      {"waggle:step", "step"},
      {"12345", "-1"},
      {"12345", "99999999999999999999"},
      {"waggle:data_xxh3", "data"},
      {"\"waggle:data_xxh3\":\"", "\"waggle:data_xxh3\":\"x"},
      {"generator", "two words"},
      {"generator", "waggle:more"},
      {"[3]", "[4]"},
      {"half", "none"},
  };
  for (const Case& example : cases) {
    CAPTURE(example.from, example.to);
    Written file;
    file.Change(example.from, example.to);
    REQUIRE_CODE(file.Parse(), absl::StatusCode::kDataLoss);
  }
}

TEST_CASE("another program's file is no checkpoint", "[unit]") {
  std::string json = "{}";
  CHECK_FALSE(SignCheckpointHeader(&json));
  CHECK(absl::StrContains(ParseCheckpointHeader(json, 0).status().message(), "another program's"));
  json = R"({"__metadata__":{"waggle:header_xxh3":"0123)";
  CHECK_FALSE(SignCheckpointHeader(&json));
  REQUIRE_CODE(ParseCheckpointHeader(json, 0), absl::StatusCode::kDataLoss);
}

TEST_CASE("a text that is not UTF-8 is refused before a file is made", "[unit]") {
  const TemporaryFolder folder;
  CheckpointContents contents = Example();
  contents.texts["generator"] = "\xff";
  REQUIRE_CODE(WriteCheckpointFile(contents, folder.File(kName)), absl::StatusCode::kInvalidArgument);
  CHECK(ValueOf(ListFolder(folder.path())).empty());
}

#ifdef WAGGLE_NUMPY_PYTHON
TEST_CASE("the page's Python reads a checkpoint with NumPy alone", "[unit]") {
  const TemporaryFolder folder;
  REQUIRE_OK(WriteCheckpointFile(Example(), folder.File(kName)));
  const std::string page = Contents(WAGGLE_DOCS_DIR "/checkpoints.md");
  const std::string fence = "```python\n";
  const size_t begin = page.find(fence);
  REQUIRE(begin != std::string::npos);
  const std::string snippet = page.substr(begin + fence.size(), page.find("```\n", begin + 1) - begin - fence.size());
  std::ofstream(folder.File("read.py")) << snippet << R"(
import sys
texts, arrays = read_checkpoint(sys.argv[1])
for name, array in arrays.items():
    print(name, array.dtype, array.shape, array.tolist())
print(texts["waggle:step"], repr(texts["generator"]), ascii(texts["umlaut"]))
)";
  const std::string command = absl::StrCat("'" WAGGLE_NUMPY_PYTHON "' '", folder.File("read.py"), "' '",
                                           folder.File(kName), "' > '", folder.File("log"), "' 2>&1");
  const int status = std::system(command.c_str());
  const std::string log = Contents(folder.File("log"));
  CAPTURE(log);
  CHECK(status == 0);
  CHECK(log ==
        "flags bool (3,) [True, False, True]\n"
        "policy/weight float32 (2, 1) [[1.0], [-2.0]]\n"
        "none float64 (0, 5) []\n"
        "steps int64 () 72057594037927938\n"
        "half uint16 (1,) [16256]\n"
        "12345 '1 \"2\"\\n\\\\' '\\xe4'\n");
}
#endif

}  // namespace
}  // namespace waggle
