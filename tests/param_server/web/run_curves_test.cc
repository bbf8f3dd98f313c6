#include "param_server/web/run_curves.h"

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "common/base/metrics/csv_writer.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace waggle::testing {
namespace {

RunCurves::Answer Read(RunCurves* curves, const TemporaryFolder& folder, const std::set<std::string>& names) {
  return ValueOf(curves->Read(folder.path(), names));
}

TEST_CASE("curves are those of metrics.csv, and go on as it grows", "[unit]") {
  const TemporaryFolder folder;
  RunCurves curves;
  CHECK(Read(&curves, folder, {"a"}).curves.empty());  // There is no file yet.
  const auto csv = ValueOf(CsvWriter::Create(folder.File("metrics.csv")));
  REQUIRE_OK(csv->Append(1, 0.5, {{"a", 3}, {"b", 4}}));
  RunCurves::Answer answer = Read(&curves, folder, {"a", "c"});
  CHECK(answer.names == std::vector<std::string>{"a", "b"});
  REQUIRE(answer.curves.size() == 1);
  REQUIRE(answer.curves["a"].size() == 1);
  CHECK(answer.complete);
  REQUIRE_OK(csv->Append(2, 1.5, {{"a", 5}}));
  answer = Read(&curves, folder, {"a"});
  REQUIRE(answer.curves["a"].size() == 2);
  CHECK(answer.curves["a"][1].mean == 5);
  CHECK(answer.curves["a"][1].step == 2);
  CHECK(answer.curves["a"][1].seconds == 1.5);
}

TEST_CASE("half a row is read once it is whole, and gaps and damaged rows are left out", "[unit]") {
  const TemporaryFolder folder;
  std::ofstream file(folder.File("metrics.csv"));
  RunCurves curves;
  file << "step,seconds,name,value\n1,1,a,1\n1,1,a,nan\nnonsense\n1,2,3,4,5\n2,2,a," << std::flush;
  CHECK(Read(&curves, folder, {"a"}).curves["a"].size() == 1);
  file << "7\n" << std::flush;
  const RunCurves::Answer answer = Read(&curves, folder, {"a"});
  REQUIRE(answer.curves.at("a").size() == 2);
  CHECK(answer.curves.at("a")[1].mean == 7);
  CHECK(answer.names.size() == 1);
}

TEST_CASE("a file that was replaced is read anew", "[unit]") {
  const TemporaryFolder folder;
  RunCurves curves;
  std::ofstream(folder.File("metrics.csv")) << "1,1,a,1\n2,2,a,2\n";
  CHECK(Read(&curves, folder, {"a"}).curves["a"].size() == 2);
  std::ofstream(folder.File("new")) << "5,5,b,1\n6,6,b,1\n7,7,b,2\n";
  std::filesystem::rename(folder.File("new"), folder.File("metrics.csv"));
  CHECK(Read(&curves, folder, {"b"}).names == std::vector<std::string>{"b"});
  std::ofstream(folder.File("metrics.csv"), std::ios::trunc) << "1,1,c,1\n";
  CHECK(Read(&curves, folder, {"c"}).names == std::vector<std::string>{"c"});
}

TEST_CASE("a long file is read in parts, and its curves and their number are bounded", "[unit]") {
  const TemporaryFolder folder;
  std::ofstream file(folder.File("metrics.csv"));
  for (int i = 0; i < 50'000; ++i) {
    file << i << "," << i << ",name" << i % 20 << "," << i << "\n";
  }
  file.close();
  RunCurvesOptions options;
  options.max_bytes = 300'000;
  options.max_curves = 10;
  options.max_points = 20;
  RunCurves curves(options);
  int calls = 1;
  RunCurves::Answer answer = Read(&curves, folder, {"name3", "name15"});
  while (!answer.complete) {
    answer = Read(&curves, folder, {"name3", "name15"});
    REQUIRE(++calls < 100);
  }
  CHECK(calls > 1);
  CHECK(answer.names.size() == 10);
  REQUIRE(answer.curves.size() == 1);
  CHECK(answer.curves["name3"].size() <= 20);
  CHECK(answer.curves["name3"].back().step == 49'983);
}

TEST_CASE("a row without an end does not take memory, and rows after it are read", "[unit]") {
  const TemporaryFolder folder;
  std::ofstream(folder.File("metrics.csv")) << std::string(3 << 20, 'x') << "\n8,8,a,8\n";
  RunCurves curves;
  CHECK(Read(&curves, folder, {"a"}).curves["a"].size() == 1);
}

TEST_CASE("a run that has left memory is read again", "[unit]") {
  RunCurvesOptions options;
  options.max_runs = 1;
  RunCurves curves(options);
  const TemporaryFolder one;
  const TemporaryFolder two;
  std::ofstream(one.File("metrics.csv")) << "1,1,a,1\n";
  std::ofstream(two.File("metrics.csv")) << "1,1,b,1\n";
  for (int i = 0; i < 3; ++i) {
    CHECK(Read(&curves, one, {"a"}).curves["a"].size() == 1);
    CHECK(Read(&curves, two, {"b"}).curves["b"].size() == 1);
  }
}

TEST_CASE("a file that cannot be read is an error with its name", "[unit]") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.File("metrics.csv"));
  RunCurves curves;
  const auto answer = curves.Read(folder.path(), {});
  REQUIRE_FALSE(answer.ok());
  CHECK_THAT(std::string(answer.status().message()), Catch::Contains("metrics.csv"));
}

}  // namespace
}  // namespace waggle::testing
