#include "common/base/metrics/csv_writer.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <limits>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "tests/cli/file_contents.h"
#include "tests/support/catch.h"
#include "tests/support/full_disk.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using testing::Contents;
using testing::FullDisk;
using testing::TemporaryFolder;
using testing::ValueOf;

void Write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

TEST_CASE("a row is written for each value, at once", "[unit]") {
  const TemporaryFolder folder;
  const auto writer = ValueOf(CsvWriter::Create(folder.File("metrics.csv")));
  CHECK(Contents(folder.File("metrics.csv")) == "step,seconds,name,value\n");
  REQUIRE_OK(writer->Append(10, 1.5, {{"learner/loss", 0.25}, {"actor/return_mean", -7}}));
  REQUIRE_OK(writer->Append(20, 2, {}));
  REQUIRE_OK(writer->Append(30, 3600.0625, {{"learner/loss", 1e-300}}));
  CHECK(Contents(folder.File("metrics.csv")) ==
        "step,seconds,name,value\n"
        "10,1.500,actor/return_mean,-7\n"
        "10,1.500,learner/loss,0.25\n"
        "30,3600.062,learner/loss,1e-300\n");
}

TEST_CASE("a value reads back as the same number", "[unit]") {
  const TemporaryFolder folder;
  const auto writer = ValueOf(CsvWriter::Create(folder.File("f")));
  for (const double value : {0.1, 1.0 / 3, 123456789.123456789, std::numeric_limits<double>::min(),
                             std::numeric_limits<double>::max(), std::numeric_limits<double>::denorm_min()}) {
    REQUIRE_OK(writer->Append(0, 0, {{"x", value}}));
    const std::string bytes = Contents(folder.File("f"));
    CHECK(std::strtod(bytes.c_str() + bytes.rfind(',') + 1, nullptr) == value);
  }
}

TEST_CASE("numbers that are not finite have the names that readers know", "[unit]") {
  const TemporaryFolder folder;
  const auto writer = ValueOf(CsvWriter::Create(folder.File("f")));
  const double infinity = std::numeric_limits<double>::infinity();
  REQUIRE_OK(
      writer->Append(1, 0, {{"a", infinity}, {"b", -infinity}, {"c", std::numeric_limits<double>::quiet_NaN()}}));
  CHECK(Contents(folder.File("f")) == "step,seconds,name,value\n1,0.000,a,inf\n1,0.000,b,-inf\n1,0.000,c,nan\n");
}

TEST_CASE("a name with a comma or a quote is quoted", "[unit]") {
  const TemporaryFolder folder;
  const auto writer = ValueOf(CsvWriter::Create(folder.File("f")));
  REQUIRE_OK(writer->Append(1, 0, {{"a,\"b\"", 2}}));
  CHECK(absl::EndsWith(Contents(folder.File("f")), "\n1,0.000,\"a,\"\"b\"\"\",2\n"));
}

TEST_CASE("a file is continued after its last whole row", "[unit]") {
  const TemporaryFolder folder;
  const std::string header = "step,seconds,name,value\n";
  const std::string row = "1,0.000,x,2\n";
  const std::string start = GENERATE_COPY(std::string(), std::string("step,sec"), header, header + row,
                                          header + "1,0.000,x", header + row + std::string(10000, 'x'));
  const bool had_row = absl::StrContains(start, row);
  Write(folder.File("f"), start);
  REQUIRE_OK(ValueOf(CsvWriter::Create(folder.File("f")))->Append(2, 0, {{"y", 3}}));
  CHECK(Contents(folder.File("f")) == header + (had_row ? row : "") + "2,0.000,y,3\n");
}

TEST_CASE("a file has one writer at a time, and another one as soon as that ends", "[unit]") {
  const TemporaryFolder folder;
  auto first = ValueOf(CsvWriter::Create(folder.File("f")));
  REQUIRE_OK(first->Append(1, 0, {{"x", 2}}));
  std::ofstream(folder.File("f"), std::ios::app) << "2,0";  // A reader sees this while a row is being written.
  const std::string before = Contents(folder.File("f"));
  const absl::Status status = CsvWriter::Create(folder.File("f")).status();
  REQUIRE_CODE(status, absl::StatusCode::kUnavailable);
  CHECK(absl::StrContains(status.message(), "another process writes " + folder.File("f")));
  CHECK(Contents(folder.File("f")) == before);
  first.reset();
  REQUIRE_OK(CsvWriter::Create(folder.File("f")));
}

TEST_CASE("the file of a process that was killed is free at once", "[unit]") {
  const TemporaryFolder folder;
  std::array<int, 2> opened;
  REQUIRE(pipe(opened.data()) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const auto writer = CsvWriter::Create(folder.File("f"));
    const char result = writer.ok() ? 'y' : 'n';
    if (write(opened[1], &result, 1) == 1) {
      pause();
    }
    _exit(1);
  }
  char result = 0;
  CHECK(read(opened[0], &result, 1) == 1);
  CHECK(result == 'y');
  CHECK(absl::IsUnavailable(CsvWriter::Create(folder.File("f")).status()));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(opened[0]);
  close(opened[1]);
  REQUIRE_OK(CsvWriter::Create(folder.File("f")));
}

TEST_CASE("another kind of file is left as it is", "[unit]") {
  const TemporaryFolder folder;
  Write(folder.File("f"), "dear diary\n");
  REQUIRE_CODE(CsvWriter::Create(folder.File("f")), absl::StatusCode::kFailedPrecondition);
  CHECK(Contents(folder.File("f")) == "dear diary\n");
}

TEST_CASE("a continued file has the position of its end", "[unit]") {
  const TemporaryFolder folder;
  CHECK(ValueOf(CsvWriter::Create(folder.File("f")))->begins_after().step == 0);
  Write(folder.File("f"), "step,seconds,name,value\n1,0.500,x,2\n70,3.250,\"a,b\",9\n80,4.00");
  const auto writer = ValueOf(CsvWriter::Create(folder.File("f")));
  CHECK(writer->begins_after().step == 70);
  CHECK(writer->begins_after().seconds == 3.25);
}

TEST_CASE("rows that do not fit leave no parts, and are written once there is room, before later ones", "[unit]") {
  const TemporaryFolder folder;
  const auto writer = ValueOf(CsvWriter::Create(folder.File("f")));
  REQUIRE_OK(writer->Append(1, 0, {{"x", 2}}));
  const std::string before = Contents(folder.File("f"));
  {
    const FullDisk full(before.size() + 4);
    CHECK_FALSE(writer->Append(2, 0, {{"x", 3}}).ok());
    CHECK(Contents(folder.File("f")) == before);
    CHECK_FALSE(writer->Append(3, 0, {{"x", 4}}).ok());
    CHECK(Contents(folder.File("f")) == before);
  }
  REQUIRE_OK(writer->Append(4, 0, {{"x", 5}}));
  CHECK(Contents(folder.File("f")) == before + "2,0.000,x,3\n3,0.000,x,4\n4,0.000,x,5\n");
}

TEST_CASE("a file that is begun on a full disk gets its header with its first rows", "[unit]") {
  const TemporaryFolder folder;
  std::unique_ptr<CsvWriter> writer;
  {
    const FullDisk full(0);
    writer = ValueOf(CsvWriter::Create(folder.File("f")));
    CHECK_FALSE(writer->Append(1, 0, {{"x", 2}}).ok());
    CHECK(Contents(folder.File("f")).empty());
  }
  REQUIRE_OK(writer->Append(2, 0, {{"x", 3}}));
  CHECK(Contents(folder.File("f")) == "step,seconds,name,value\n1,0.000,x,2\n2,0.000,x,3\n");
}

}  // namespace
}  // namespace waggle
