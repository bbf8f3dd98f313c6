#include "replay_server/service/refusals.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/log.h"
#include "common/base/steady_now.h"
#include "common/base/utf8.h"

namespace waggle {
namespace {

// Messages may quote the peer's data.
constexpr size_t kMaxLoggedBytes = 500;

// A client that comes before its table asks again, so this needs no warning.
LogLevel LevelOf(absl::string_view reason) {
  return reason == reasons::kUnknownTable ? LogLevel::kInfo : LogLevel::kWarning;
}

}  // namespace

size_t Refusals::IndexOf(const absl::Status& status) {
  const std::string reason = ReasonOf(status);
  const auto* const found = std::find(std::begin(reasons::kAll), std::end(reasons::kAll), reason);
  if (found != std::end(reasons::kAll)) {
    return static_cast<size_t>(found - std::begin(reasons::kAll));
  }
  const auto code = static_cast<size_t>(status.code());  // A known code: absl maps others to UNKNOWN.
  return kReasons + std::min(code, kCodes - 1);
}

std::string Refusals::NameOf(size_t index) {
  return index < kReasons
             ? std::string(reasons::kAll[index])
             : absl::AsciiStrToLower(absl::StatusCodeToString(static_cast<absl::StatusCode>(index - kReasons)));
}

bool Refusals::MayLog(Reason* reason) const {
  // At least a nanosecond, because 0 means never.
  const int64_t now = std::max<int64_t>(1, absl::ToInt64Nanoseconds(SteadyElapsed()));
  int64_t last = reason->logged_ns.load(std::memory_order_relaxed);
  return (last == 0 || now - last >= absl::ToInt64Nanoseconds(options_.log_interval)) &&
         reason->logged_ns.compare_exchange_strong(last, now, std::memory_order_relaxed);
}

void Refusals::Count(const absl::Status& status, absl::string_view method, absl::string_view peer) {
  if (status.ok()) {
    return;
  }
  const size_t index = IndexOf(status);
  const std::string name = NameOf(index);
  Reason& reason = refused_[index];
  const uint64_t count = reason.count.fetch_add(1, std::memory_order_relaxed) + 1;
  if (options_.on_refused != nullptr) {
    options_.on_refused(name);
  }
  if (name != reasons::kStopping && MayLog(&reason)) {  // A stopping server logs that itself.
    LogMessage(
        LevelOf(name),
        absl::StrCat("refused: ", method, " of ", peer, ": ", name, ": ", absl::StatusCodeToString(status.code()), ": ",
                     Utf8Prefix(status.message(), kMaxLoggedBytes), "; ", count, " of that reason so far"));
  }
}

std::map<std::string, uint64_t> Refusals::counts() const {
  std::map<std::string, uint64_t> counts;
  for (size_t i = 0; i < refused_.size(); ++i) {
    if (const uint64_t count = refused_[i].count.load(std::memory_order_relaxed); count > 0) {
      counts[NameOf(i)] = count;
    }
  }
  return counts;
}

}  // namespace waggle
