#include <unistd.h>

#include <climits>
#include <iostream>
#include <string>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "cli/check_report.h"
#include "cli/checked_experiment.h"
#include "cli/cluster_client.h"
#include "cli/command_line.h"
#include "cli/local_run.h"
#include "cli/status_report.h"
#include "common/rl/algorithms/builtin.h"

namespace waggle {
namespace {

constexpr absl::Duration kStatusTimeout = absl::Seconds(3);

// Where this executable lies, and with it the others.
std::string OwnFolder() {
  char path[PATH_MAX];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof(path));
  const std::string executable(path, size > 0 ? static_cast<size_t>(size) : 0);
  return executable.substr(0, executable.rfind('/'));
}

int Complain(const char* verb, const absl::Status& status, int exit_status) {
  // One problem a line, each by itself worth reading.
  std::cerr << "waggle " << verb << ": " << status.message() << std::endl;
  return exit_status;
}

int Do(const PrintAndExit& print) {
  (print.status == 0 ? std::cout : std::cerr) << print.text << std::flush;
  return print.status;
}

int Do(const RunFlags& flags) {
  return RunLocally(flags, OwnFolder());
}

int Do(const StatusFlags& flags) {
  const absl::StatusOr<ClusterSnapshot> snapshot = ClusterClient(flags.param_server).Fetch(kStatusTimeout);
  if (!snapshot.ok()) {
    return Complain("status", snapshot.status(), 1);
  }
  std::cout << (flags.json ? StatusJson(*snapshot, absl::Now()) : StatusText(*snapshot, absl::Now())) << std::flush;
  return 0;
}

int Do(const CheckFlags& flags) {
  const absl::StatusOr<CheckedExperiment> checked = LoadCheckedExperiment(flags.file, flags.overrides);
  if (!checked.ok()) {
    return Complain("check", checked.status(), 2);
  }
  const absl::StatusOr<std::string> estimate =
      EstimateText(checked->experiment, checked->environment, BuiltinAlgorithmDefinitions());
  if (!estimate.ok()) {
    return Complain("check", estimate.status(), 2);
  }
  std::cout << ToYaml(checked->experiment) << "\n" << *estimate << std::flush;
  return 0;
}

}  // namespace
}  // namespace waggle

int main(int argc, char** argv) {
  return std::visit([](const auto& command) { return waggle::Do(command); }, waggle::ParseCommand(argc, argv));
}
