#include "common/base/failpoint.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/base/threads/mutex.h"

namespace waggle {
namespace {

struct Failpoint {
  enum class Action { kAbort, kHold, kError };
  Action action = Action::kAbort;
  std::string message;
  int64_t at = 0;  // The pass that acts; 0: each pass.
  int64_t passed = 0;
};

using Failpoints = std::map<std::string, Failpoint, std::less<>>;

absl::StatusOr<std::pair<std::string, Failpoint>> Parse(absl::string_view text) {
  const absl::Status bad = absl::InvalidArgumentError(
      absl::StrCat("failpoint \"", text, "\" is not NAME=abort|hold|error(MESSAGE), then @N or nothing"));
  const std::vector<absl::string_view> sides = absl::StrSplit(text, absl::MaxSplits('=', 1));
  if (sides.size() != 2 || sides[0].empty()) {
    return bad;
  }
  Failpoint point;
  absl::string_view action = sides[1];
  if (const size_t at = action.rfind('@'); at != absl::string_view::npos) {
    if (!absl::SimpleAtoi(action.substr(at + 1), &point.at) || point.at < 1) {
      return bad;
    }
    action = action.substr(0, at);
  }
  if (action == "abort") {
    point.action = Failpoint::Action::kAbort;
  } else if (action == "hold") {
    point.action = Failpoint::Action::kHold;
  } else if (absl::ConsumePrefix(&action, "error(") && absl::ConsumeSuffix(&action, ")")) {
    point.action = Failpoint::Action::kError;
    point.message = std::string(action);
  } else {
    return bad;
  }
  return std::make_pair(std::string(sides[0]), std::move(point));
}

absl::StatusOr<Failpoints> ParseAll(absl::string_view list) {
  Failpoints points;
  for (const absl::string_view text : absl::StrSplit(list, ';', absl::SkipWhitespace())) {
    WAGGLE_ASSIGN_OR_RETURN(auto point, Parse(absl::StripAsciiWhitespace(text)));
    points.insert(std::move(point));
  }
  return points;
}

class Registry {
 public:
  Registry() {
    const char* list = getenv("WAGGLE_FAILPOINTS");
    absl::StatusOr<Failpoints> points = ParseAll(list == nullptr ? "" : list);
    if (points.ok()) {
      points_ = *std::move(points);
    } else {
      LogError("WAGGLE_FAILPOINTS: ", points.status().message());
    }
  }

  void Set(Failpoints points) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    points_ = std::move(points);
    ++replaced_;
    changed_.SignalAll();
  }

  absl::Status Pass(absl::string_view name) ABSL_LOCKS_EXCLUDED(mutex_) {
    Failpoint point;
    int64_t list = 0;
    {
      MutexLock lock(&mutex_);
      list = replaced_;
      const auto found = points_.find(name);
      if (found == points_.end()) {
        return absl::OkStatus();
      }
      ++found->second.passed;
      if (found->second.at != 0 && found->second.at != found->second.passed) {
        return absl::OkStatus();
      }
      point = found->second;
    }
    switch (point.action) {
      case Failpoint::Action::kAbort:
        kill(getpid(), SIGKILL);
        pause();  // The signal may take a moment to end this thread.
        break;
      case Failpoint::Action::kHold:
        AwaitOtherList(list);
        break;
      case Failpoint::Action::kError:
        return absl::UnavailableError(absl::StrCat("failpoint ", name, ": ", point.message));
    }
    return absl::OkStatus();
  }

 private:
  void AwaitOtherList(int64_t list) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    while (replaced_ == list) {
      changed_.Wait(&mutex_);
    }
  }

  Mutex mutex_;
  CondVar changed_;
  Failpoints points_ ABSL_GUARDED_BY(mutex_);
  int64_t replaced_ ABSL_GUARDED_BY(mutex_) = 0;  // Number of earlier lists.
};

Registry& TheRegistry() {
  static auto* const registry = new Registry;  // Never destroyed: threads may outlive static objects.
  return *registry;
}

}  // namespace

absl::Status SetFailpoints(absl::string_view list) {
  WAGGLE_ASSIGN_OR_RETURN(Failpoints points, ParseAll(list));
  TheRegistry().Set(std::move(points));
  return absl::OkStatus();
}

absl::Status PassFailpoint(absl::string_view name) {
  return TheRegistry().Pass(name);
}

}  // namespace waggle
