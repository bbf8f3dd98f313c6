#include "common/net/stream_keeper.h"

#include <atomic>
#include <deque>
#include <string>
#include <utility>

#include "common/base/threads/mutex.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

// Streams with given ends. Later streams stay open until they are cancelled.
class Script {
 public:
  explicit Script(std::deque<absl::Status> ends) : ends_(std::move(ends)) {}

  StreamKeeperOptions Options() {
    StreamKeeperOptions options;
    options.name = "test";
    options.open = [this](StreamKeeper* keeper) { return Open(keeper); };
    options.restore = [this](const StopToken& /*stop*/) {
      ++restored;
      return absl::OkStatus();
    };
    options.failed = [this](absl::Status status) {
      {
        MutexLock lock(&mutex_);
        failure_ = std::move(status);
      }
      failed.RequestStop();
    };
    return options;
  }

  absl::Status failure() {
    MutexLock lock(&mutex_);
    return failure_;
  }

  std::atomic<int> opened{0};
  std::atomic<int> restored{0};
  StopToken last_opened;  // The script is over and the last stream is open.
  StopToken failed;

 private:
  bool Open(StreamKeeper* keeper) {
    ++opened;
    if (ends_.empty()) {
      keeper->Began([keeper] { keeper->Ended(absl::CancelledError("cancelled")); });
      last_opened.RequestStop();
      return true;
    }
    keeper->Ended(ends_.front());
    ends_.pop_front();
    return true;
  }

  std::deque<absl::Status> ends_;  // Used by the keeper's thread.
  Mutex mutex_;
  absl::Status failure_;
};

TEST_CASE("A stream that is lost is opened again until it stays", "[unit]") {
  Script script({absl::UnavailableError("away"), absl::OkStatus(), absl::AbortedError("reset")});
  const StreamKeeper keeper(script.Options());
  REQUIRE(script.last_opened.WaitFor(absl::Seconds(30)));
  CHECK(script.opened == 4);
  CHECK(script.restored == 0);
  CHECK(script.failure() == absl::OkStatus());
}

TEST_CASE("An error that cannot pass is reported, and nothing is opened after it", "[unit]") {
  for (const absl::Status& error : {absl::InvalidArgumentError("wrong"), absl::InternalError("a bug")}) {
    Script script({absl::UnavailableError("away"), error});
    {
      const StreamKeeper keeper(script.Options());
      REQUIRE(script.failed.WaitFor(absl::Seconds(30)));
    }
    CHECK(script.failure().code() == error.code());
    CHECK(script.opened == 2);
  }
}

TEST_CASE("A table that is not found is restored and tried again until the patience ends", "[unit]") {
  {
    Script script({absl::NotFoundError("no table"), absl::NotFoundError("no table")});
    const StreamKeeper keeper(script.Options());
    REQUIRE(script.last_opened.WaitFor(absl::Seconds(30)));
    CHECK(script.restored == 2);
  }
  Script script({absl::NotFoundError("no table"), absl::NotFoundError("no table")});
  StreamKeeperOptions options = script.Options();
  options.not_found_patience = absl::ZeroDuration();
  const StreamKeeper keeper(std::move(options));
  REQUIRE(script.failed.WaitFor(absl::Seconds(30)));
  CHECK(script.failure().code() == absl::StatusCode::kNotFound);
  CHECK_THAT(std::string(script.failure().message()), Catch::Contains("still missing"));
  CHECK(script.opened == 2);  // A restored table is tried before the keeper gives up.
  CHECK(script.restored == 2);
}

TEST_CASE("The keeper goes on if a restarting server loses its tables again", "[unit]") {
  const absl::Status missing = absl::NotFoundError("no table");
  const absl::Status away = absl::UnavailableError("away");
  SECTION("the server was away between") {
    Script script({missing, away, missing, away, missing});
    StreamKeeperOptions options = script.Options();
    options.not_found_patience = absl::ZeroDuration();
    const StreamKeeper keeper(std::move(options));
    REQUIRE(script.last_opened.WaitFor(absl::Seconds(30)));
    CHECK(script.restored == 3);
    CHECK(script.failure() == absl::OkStatus());
  }
  SECTION("the server was away during the restore") {
    Script script({missing, missing, missing});
    StreamKeeperOptions options = script.Options();
    options.not_found_patience = absl::ZeroDuration();
    options.restore = [&script, away](const StopToken& /*stop*/) {
      return ++script.restored < 3 ? away : absl::OkStatus();
    };
    const StreamKeeper keeper(std::move(options));
    REQUIRE(script.last_opened.WaitFor(absl::Seconds(30)));
    CHECK(script.failure() == absl::OkStatus());
  }
}

TEST_CASE("An error of the restoration is reported", "[unit]") {
  Script script({absl::NotFoundError("no table")});
  StreamKeeperOptions options = script.Options();
  options.restore = [](const StopToken& /*stop*/) { return absl::FailedPreconditionError("another table"); };
  const StreamKeeper keeper(std::move(options));
  REQUIRE(script.failed.WaitFor(absl::Seconds(30)));
  CHECK(script.failure().code() == absl::StatusCode::kFailedPrecondition);
}

TEST_CASE("A keeper ends while its stream is open, and while it pauses", "[unit]") {
  Script open({});
  {
    const StreamKeeper keeper(open.Options());
    REQUIRE(open.last_opened.WaitFor(absl::Seconds(30)));
  }
  CHECK(open.opened == 1);
  Script away(std::deque<absl::Status>(1'000, absl::UnavailableError("away")));
  { const StreamKeeper keeper(away.Options()); }
  CHECK(away.failure() == absl::OkStatus());
}

}  // namespace
}  // namespace waggle
