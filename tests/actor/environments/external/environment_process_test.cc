#include "actor/environments/external/environment_process.h"

#include <poll.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

EnvironmentProcessOptions Running(const std::vector<std::string>& command) {
  EnvironmentProcessOptions options;
  options.command = command;
  options.scheme = "corridor";
  options.options_json = "{}";
  options.environment_name = "Corridor";
  options.group_lanes = {2, 1};
  return options;
}

// Receives until `done` or an error.
template <class Done>
absl::Status ReceiveUntil(EnvironmentProcess* process, std::vector<size_t>* groups, const Done& done) {
  while (!done()) {
    pollfd polled = {process->descriptor(), POLLIN, 0};
    REQUIRE(poll(&polled, 1, 30'000) == 1);
    if (const absl::Status status = process->Receive(groups); !status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

TEST_CASE("A process opens its environment and runs groups on request", "[unit]") {
  const auto process = ValueOf(EnvironmentProcess::Start(Running({WAGGLE_CORRIDOR})));
  std::vector<size_t> done;
  REQUIRE_OK(ReceiveUntil(process.get(), &done, [&] { return process->ready(); }));
  CHECK(process->spec()->environment.name == "Corridor");
  REQUIRE(process->groups().size() == 2);
  process->groups()[1].commands[0] = LaneCommand::kReset;
  REQUIRE_OK(process->Run(1));
  REQUIRE_OK(ReceiveUntil(process.get(), &done, [&] { return !done.empty(); }));
  CHECK(done == std::vector<size_t>{1});
  CHECK(process->groups()[1].step_types[0] == static_cast<int32_t>(StepType::kFirst));
}

// The error of a shell script that writes to the socket.
absl::Status ErrorOf(const std::string& script) {
  const auto process = EnvironmentProcess::Start(Running({"/bin/sh", "-c", script}));
  if (!process.ok()) {  // It may end before it is told to open the environment.
    return process.status();
  }
  std::vector<size_t> done;
  return ReceiveUntil(process->get(), &done, [] { return false; });
}

TEST_CASE("A wrong message of a process is an error", "[unit]") {
  CHECK(absl::IsUnavailable(ErrorOf("exit 3")));
  // A message of 4 GiB.
  CHECK(absl::IsInternal(ErrorOf("printf '\\101\\000\\000\\000\\377\\377\\377\\377' >&3; sleep 60")));
  // DONE, READY and a message of unknown kind, none of them requested.
  CHECK(absl::IsInternal(ErrorOf("printf '\\103\\000\\000\\000\\000\\000\\000\\000' >&3; sleep 60")));
  CHECK(absl::IsInternal(ErrorOf("printf '\\102\\000\\000\\000\\000\\000\\000\\000' >&3; sleep 60")));
  CHECK(absl::IsInternal(ErrorOf("printf '\\377\\000\\000\\000\\000\\000\\000\\000' >&3; sleep 60")));
  // A spec that is not JSON.
  CHECK(absl::IsInternal(ErrorOf("printf '\\101\\000\\000\\000\\002\\000\\000\\000{x' >&3; sleep 60")));
  // Half a message.
  CHECK(absl::IsUnavailable(ErrorOf("printf '\\101\\000' >&3")));
}

TEST_CASE("An error message of the process is returned, with its traceback", "[unit]") {
  // ERROR, with 44 and then 38 bytes of JSON.
  const absl::Status told = ErrorOf(
      "printf '\\104\\000\\000\\000\\054\\000\\000\\000{\"message\":\"no\",\"final\":true,\"traceback\":\"\"}' >&3; "
      "sleep 60");
  CHECK(absl::IsInvalidArgument(told));
  CHECK(told.message() == "no");
  const absl::Status later = ErrorOf(
      "printf '\\104\\000\\000\\000\\046\\000\\000\\000{\"message\":\"bad\",\"traceback\":\"line 7\"}' >&3; sleep 60");
  CHECK(absl::IsInternal(later));
  CHECK_THAT(std::string(later.message()), Catch::Contains("line 7"));
}

}  // namespace
}  // namespace waggle::testing
