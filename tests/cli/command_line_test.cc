#include "cli/command_line.h"

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace waggle {
namespace {

using Overrides = std::vector<std::pair<std::string, std::string>>;

Command Parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "waggle");
  return ParseCommand(static_cast<int>(arguments.size()), arguments.data());
}

PrintAndExit Printed(const std::vector<const char*>& arguments) {
  const Command command = Parse(arguments);
  REQUIRE(std::holds_alternative<PrintAndExit>(command));
  return std::get<PrintAndExit>(command);
}

TEST_CASE("run takes a file and its flags", "[unit]") {
  const Command command = Parse(
      {"run", "x.yaml", "--set", "a.b=c", "--actors", "3", "--set=d=[1, 2]", "--seed", "7", "--output-dir", "out"});
  REQUIRE(std::holds_alternative<RunFlags>(command));
  const RunFlags& flags = std::get<RunFlags>(command);
  CHECK(flags.file == "x.yaml");
  CHECK(flags.output_dir == "out");
  CHECK(flags.overrides ==
        Overrides{{"a.b", "c"}, {"d", "[1, 2]"}, {"actor.processes", "3"}, {"experiment.seed", "7"}});
}

TEST_CASE("check takes a file and overrides", "[unit]") {
  const Command command = Parse({"check", "--set", "a=1", "x.yaml"});
  REQUIRE(std::holds_alternative<CheckFlags>(command));
  CHECK(std::get<CheckFlags>(command).file == "x.yaml");
  CHECK(std::get<CheckFlags>(command).overrides == Overrides{{"a", "1"}});
}

TEST_CASE("status takes an address from its flag or from the environment", "[unit]") {
  setenv("WAGGLE_PARAM_SERVER", "hive:1", 1);
  const Command from_environment = Parse({"status", "--json"});
  const Command from_flag = Parse({"status", "--param-server", "hive:2"});
  unsetenv("WAGGLE_PARAM_SERVER");
  REQUIRE(std::holds_alternative<StatusFlags>(from_environment));
  CHECK(std::get<StatusFlags>(from_environment).param_server == "hive:1");
  CHECK(std::get<StatusFlags>(from_environment).json);
  REQUIRE(std::holds_alternative<StatusFlags>(from_flag));
  CHECK(std::get<StatusFlags>(from_flag).param_server == "hive:2");
  CHECK_FALSE(std::get<StatusFlags>(from_flag).json);
}

TEST_CASE("Help and version go to the standard output, for every verb", "[unit]") {
  for (const std::vector<const char*>& arguments : std::vector<std::vector<const char*>>{
           {"--help"}, {"-h"}, {"help"}, {"--version"}, {"run", "--help"}, {"status", "--help"}, {"check", "--help"}}) {
    const PrintAndExit printed = Printed(arguments);
    CHECK(printed.status == 0);
    CHECK_FALSE(printed.text.empty());
  }
  CHECK(Printed({"--version"}).text.find("waggle ") == 0);
  CHECK(Printed({"run", "--help"}).text.find("--output-dir DIR") != std::string::npos);
}

TEST_CASE("Wrong usage is answered in one helpful line, and with 2", "[unit]") {
  struct Case {
    std::vector<const char*> arguments;
    std::string text;
  };
  unsetenv("WAGGLE_PARAM_SERVER");
  const std::vector<Case> cases = {
      {{}, "waggle: a verb is missing; wanted one of run, status, check; see waggle --help\n"},
      {{"rnu"},
       "waggle: there is no verb \"rnu\"; did you mean \"run\"?; wanted one of run, status, check; see waggle "
       "--help\n"},
      {{"run"}, "waggle run: FILE is required; see waggle run --help\n"},
      {{"run", "a", "b"}, "waggle run: one argument too many: b; see waggle run --help\n"},
      {{"run", "a", "--actor", "3"},
       "waggle run: there is no flag --actor; did you mean \"--actors\"?; see waggle run --help\n"},
      {{"check", "a", "--set", "b"},
       "waggle check: --set: got \"b\"; wanted KEY=VALUE, such as learner.batch_size=256; see waggle check --help\n"},
      {{"status"}, "waggle status: --param-server is required; see waggle status --help\n"},
  };
  for (const Case& one : cases) {
    const PrintAndExit printed = Printed(one.arguments);
    CHECK(printed.status == 2);
    CHECK(printed.text == one.text);
  }
  for (const std::vector<const char*>& arguments :
       std::vector<std::vector<const char*>>{{"run", "a", "--actors", "many"},
                                             {"run", "a", "--seed"},
                                             {"run", "a", "--set"},
                                             {"status", "--param-server", "nowhere"}}) {
    CHECK(Printed(arguments).status == 2);
  }
}

}  // namespace
}  // namespace waggle
