#include "common/base/process/process_figures.h"

#include <unistd.h>

#include <cmath>
#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

// The value of the one sample with this name, or NaN.
double ValueIn(const std::string& text, const std::string& name) {
  const size_t at = text.find("\n" + name + " ");
  return at == std::string::npos ? std::nan("") : std::stod(text.substr(at + name.size() + 2));
}

TEST_CASE("a process tells its memory, its files, its start and its version", "[unit]") {
  PrometheusText text;
  WriteProcessFigures("learner", &text);
  const std::string all = text.Text();
  CAPTURE(all);
  CHECK(all.find("part=\"learner\"") != std::string::npos);
  const double resident = ValueIn(all, "process_resident_memory_bytes");
  CHECK(resident > 1e5);
  CHECK(resident < ValueIn(all, "process_virtual_memory_bytes"));
  CHECK(ValueIn(all, "process_threads") >= 1);
  CHECK(ValueIn(all, "process_open_fds") >= 2);
  CHECK(ValueIn(all, "process_open_fds") < ValueIn(all, "process_max_fds"));
  const double age =
      absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()) - ValueIn(all, "process_start_time_seconds");
  CHECK(age > -2);
  CHECK(age < 24 * 3600);
}

TEST_CASE("a process's processor time grows", "[unit]") {
  const auto cpu = [] {
    PrometheusText text;
    WriteProcessFigures("learner", &text);
    return ValueIn(text.Text(), "process_cpu_seconds_total");
  };
  const double before = cpu();
  while (cpu() < before + 0.02) {
  }
  CHECK(cpu() > before);
}

}  // namespace
}  // namespace waggle
