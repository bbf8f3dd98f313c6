#include "cli/status/environments_report.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/human_text.h"
#include "cli/status/run_facts.h"

namespace waggle {
namespace {

template <class Figures>
int64_t Count(const Figures& figures, const char* name) {
  const auto found = figures.find(name);
  return found == figures.end() ? 0 : static_cast<int64_t>(found->second);
}

std::string Counted(int64_t count, const char* one, const char* many) {
  return absl::StrCat(count, " ", count == 1 ? one : many);
}

}  // namespace

std::string EnvironmentsText(const v1::OverviewResponse& overview, std::optional<double> steps_per_s) {
  int64_t processes = 0;
  int64_t restarts = 0;
  int64_t broken = 0;
  std::string errors;
  for (const v1::WorkerInfo& worker : overview.workers()) {
    if (worker.alive()) {
      processes += Count(worker.gauges(), "environment_processes");
    }
    restarts += Count(worker.counters(), "environment_restarts");
    broken += Count(worker.counters(), "broken_episodes");
    if (worker.last_error().empty()) {
      continue;
    }
    absl::StrAppend(&errors, "    last error of ", WorkerName(worker), ":\n");
    for (const absl::string_view line : absl::StrSplit(worker.last_error(), '\n', absl::SkipWhitespace())) {
      absl::StrAppend(&errors, "      ", Printable(line), "\n");
    }
  }
  if (processes == 0 && restarts == 0 && errors.empty()) {
    return "";
  }
  return absl::StrCat("  environments: ", Counted(processes, "process", "processes"),
                      steps_per_s.has_value() ? absl::StrCat(", ", ShortNumber(*steps_per_s), " steps/s") : "", ", ",
                      Counted(restarts, "restart", "restarts"), ", ",
                      Counted(broken, "broken episode", "broken episodes"), "\n", errors);
}

}  // namespace waggle
