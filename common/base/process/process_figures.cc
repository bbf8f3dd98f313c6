#include "common/base/process/process_figures.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/base/build_info.h"
#include "common/base/file.h"
#include "common/net/security/security.h"

namespace waggle {
namespace {

constexpr size_t kMostProcBytes = 4096;

// The fields of /proc/self/stat from the third on, "state".
std::vector<std::string> StatFields() {
  const absl::StatusOr<std::string> stat = ReadSmallFile("/proc/self/stat", kMostProcBytes);
  // The second field, the name in parentheses, may have spaces and parentheses.
  const size_t end = stat.ok() ? stat->rfind(") ") : std::string::npos;
  return end == std::string::npos ? std::vector<std::string>() : absl::StrSplit(stat->substr(end + 2), ' ');
}

double Field(const std::vector<std::string>& fields, size_t number) {
  double value = 0;
  return number >= 3 && number - 3 < fields.size() && absl::SimpleAtod(fields[number - 3], &value) ? value : 0;
}

// The moment at which this process started, in seconds since 1970: the clock now minus its age.
double StartTime(double ticks_after_boot, double ticks_per_second) {
  const absl::StatusOr<std::string> uptime = ReadSmallFile("/proc/uptime", kMostProcBytes);
  double up = 0;
  if (!uptime.ok() || !absl::SimpleAtod(uptime->substr(0, uptime->find(' ')), &up)) {
    return 0;
  }
  return absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()) - up + ticks_after_boot / ticks_per_second;
}

}  // namespace

void WriteProcessFigures(const std::string& part, PrometheusText* text) {
  const SecurityRefusals& refusals = ProcessSecurity().refusals();
  for (int i = 0; i < SecurityRefusals::kReasons; ++i) {
    const auto reason = static_cast<SecurityRefusals::Reason>(i);
    text->Counter("waggle_security_refused_total", "Calls and connections that were refused, by reason.",
                  static_cast<double>(refusals.count(reason)), {{"reason", SecurityRefusals::Name(reason)}});
  }
  text->Gauge("waggle_build_info", "Always 1; the labels tell the version and the part.", 1,
              {{"version", kVersion}, {"part", part}});
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  if (const std::vector<std::string> fields = StatFields(); !fields.empty()) {
    // The numbers of the fields are those of proc(5).
    text->Counter("process_cpu_seconds_total", "Processor time of all threads, in seconds.",
                  (Field(fields, 14) + Field(fields, 15)) / ticks);
    text->Gauge("process_resident_memory_bytes", "Memory that is in use, in bytes.",
                Field(fields, 24) * static_cast<double>(sysconf(_SC_PAGESIZE)));
    text->Gauge("process_virtual_memory_bytes", "Address space, in bytes.", Field(fields, 23));
    text->Gauge("process_threads", "Threads of the process.", Field(fields, 20));
    // The first answer is kept: the clock may be set later.
    static const double start = StartTime(Field(fields, 22), ticks);
    text->Gauge("process_start_time_seconds", "The start of the process, in seconds since 1970.", start);
  }
  std::error_code error;
  const std::filesystem::directory_iterator open("/proc/self/fd", error);
  if (!error) {
    // One is this function's own.
    text->Gauge("process_open_fds", "Open files and connections.",
                static_cast<double>(std::distance(begin(open), end(open)) - 1));
  }
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    text->Gauge("process_max_fds", "The most files and connections that may be open.",
                static_cast<double>(limit.rlim_cur));
  }
}

}  // namespace waggle
