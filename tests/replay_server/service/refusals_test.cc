#include "replay_server/service/refusals.h"

#include <unistd.h>

#include <algorithm>
#include <set>
#include <thread>
#include <vector>

#include "common/base/file.h"
#include "tests/support/captured_stream.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using Counts = std::map<std::string, uint64_t>;

RefusalsOptions Options(absl::Duration log_interval) {
  RefusalsOptions options;
  options.log_interval = log_interval;
  return options;
}

TEST_CASE("Refusals are counted by their reason, or by their code without one", "[unit]") {
  std::vector<std::string> heard;
  RefusalsOptions options;
  options.on_refused = [&heard](absl::string_view reason) { heard.emplace_back(reason); };
  Refusals refusals(options);
  CHECK(refusals.counts().empty());
  const absl::Status bad_priority = WithReason(reasons::kBadPriority, absl::InvalidArgumentError("priority -1"));
  refusals.Count(bad_priority, "Insert", "bee:1");
  refusals.Count(bad_priority, "UpdatePriorities", "bee:2");
  refusals.Count(absl::DataLossError("damaged"), "Export", "bee:1");
  refusals.Count(WithReason("no_reason_of_the_list", absl::UnavailableError("away")), "Export", "bee:1");
  refusals.Count(static_cast<absl::Status>(absl::UnauthenticatedError("no token")), "Export", "bee:1");
  refusals.Count(absl::OkStatus(), "Insert", "bee:1");
  CHECK(refusals.counts() == Counts{{"bad_priority", 2}, {"data_loss", 1}, {"unauthenticated", 1}, {"unavailable", 1}});
  CHECK(heard ==
        std::vector<std::string>{"bad_priority", "bad_priority", "data_loss", "unavailable", "unauthenticated"});
}

TEST_CASE("Each reason is logged once in a while, with method, peer and count", "[unit]") {
  Refusals refusals(Options(absl::Hours(10)));
  testing::CapturedStream log(STDERR_FILENO);
  for (int i = 0; i < 3; ++i) {
    refusals.Count(WithReason(reasons::kBadPriority, absl::InvalidArgumentError("priority -1")), "Insert", "bee:1");
    refusals.Count(WithReason(reasons::kUnknownTable, absl::NotFoundError("no table named \"tt\"")), "Clear", "bee:2");
    refusals.Count(WithReason(reasons::kStopping, absl::UnavailableError("stopping")), "Sample", "bee:3");
  }
  const std::string text = log.Finish();
  CAPTURE(text);
  CHECK(std::count(text.begin(), text.end(), '\n') == 2);
  CHECK(text.find("refused: Insert of bee:1: bad_priority: INVALID_ARGUMENT: priority -1; 1 of that reason so far") !=
        std::string::npos);
  CHECK(text.find("warning") != std::string::npos);
  CHECK(text.find("info") != std::string::npos);
  CHECK(refusals.counts().at("stopping") == 3);
  CHECK(text.find("refused: Clear of bee:2: unknown_table: NOT_FOUND: no table named") != std::string::npos);
}

TEST_CASE("A line in the log quotes only the beginning of a message", "[unit]") {
  Refusals refusals(Options(absl::ZeroDuration()));
  testing::CapturedStream log(STDERR_FILENO);
  refusals.Count(absl::InvalidArgumentError(std::string(100'000, 'x')), "Insert", "bee:1");
  refusals.Count(absl::InvalidArgumentError("y"), "Insert", "bee:1");
  const std::string text = log.Finish();
  CHECK(text.size() < 2'000);
  CHECK(text.find("2 of that reason so far") != std::string::npos);
}

TEST_CASE("Counting from many threads loses no refusal", "[unit][tsan]") {
  Refusals refusals(Options(absl::InfiniteDuration()));
  testing::CapturedStream log(STDERR_FILENO);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&refusals] {
      for (int k = 0; k < 1'000; ++k) {
        refusals.Count(WithReason(reasons::kBadWindow, absl::InvalidArgumentError("w")), "Insert", "bee");
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  const std::string text = log.Finish();
  CHECK(refusals.counts() == Counts{{"bad_window", 4'000}});
  CHECK(std::count(text.begin(), text.end(), '\n') == 1);
}

TEST_CASE("Every reason has a unique name and a line in docs/errors.md", "[unit]") {
  const auto page = ReadSmallFile(WAGGLE_DOCS_DIR "/errors.md", 1 << 20);
  REQUIRE_OK(page);
  std::set<absl::string_view> names;
  for (const absl::string_view reason : reasons::kAll) {
    CAPTURE(std::string(reason));
    CHECK(names.insert(reason).second);
    CHECK(page->find("| `" + std::string(reason) + "` |") != std::string::npos);
  }
}

}  // namespace
}  // namespace waggle
