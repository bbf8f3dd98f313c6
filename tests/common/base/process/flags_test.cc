#include "common/base/process/flags.h"

#include <stdlib.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.h"

namespace waggle {
namespace {

// A command line like the executables'.
struct Parsed {
  explicit Parsed(std::vector<const char*> arguments) {
    CLI::App app("a test", "waggle-test");
    AddCommonFlags(&app, &log);
    AddParamServerFlag(&app, &param_server);
    AddListenFlag(&app, &listen);
    AddMetricsFlag(&app, &metrics);
    arguments.insert(arguments.begin(), "waggle-test");
    std::ostringstream captured_errors;
    std::ostringstream captured_output;
    std::streambuf* const errors_before = std::cerr.rdbuf(captured_errors.rdbuf());
    std::streambuf* const output_before = std::cout.rdbuf(captured_output.rdbuf());
    exit = ParseCommandLine(&app, static_cast<int>(arguments.size()), arguments.data());
    std::cerr.rdbuf(errors_before);
    std::cout.rdbuf(output_before);
    errors = captured_errors.str();
    output = captured_output.str();
  }

  LogOptions log;
  std::string param_server;
  std::string listen = "127.0.0.1:0";
  std::string metrics;
  std::optional<int> exit;
  std::string errors;
  std::string output;
};

TEST_CASE("A flag can replace another that is required", "[unit]") {
  unsetenv("WAGGLE_PARAM_SERVER");
  for (const bool given : {false, true}) {
    const std::shared_ptr<CLI::App> app = NewCommandLine("a test", "waggle-test");
    std::string address, path;
    CLI::Option* const server = AddParamServerFlag(app.get(), &address);
    SetReplaces(AddPathFlag(app.get(), "--from", &path, "FILE", "A file"), server);
    const char* const arguments[] = {"waggle-test", "--from=x"};
    CHECK(ParseCommandLine(app.get(), given ? 2 : 1, arguments).has_value() != given);
  }
}

TEST_CASE("Flags are read, and the parameter server's also from the environment", "[unit]") {
  unsetenv("WAGGLE_PARAM_SERVER");
  const Parsed flags({"--param-server", "h:7000", "--log-level=debug", "--listen", "0.0.0.0:0"});
  CHECK_FALSE(flags.exit.has_value());
  CHECK(flags.param_server == "h:7000");
  CHECK(flags.log.level == LogLevel::kDebug);
  CHECK(flags.listen == "0.0.0.0:0");

  setenv("WAGGLE_PARAM_SERVER", "e:7001", 1);
  CHECK(Parsed({}).param_server == "e:7001");
  CHECK(Parsed({"--param-server", "h:7000"}).param_server == "h:7000");
  setenv("WAGGLE_PARAM_SERVER", "nowhere", 1);
  CHECK(Parsed({}).exit == 2);
  unsetenv("WAGGLE_PARAM_SERVER");
}

TEST_CASE("The form of the log is read, also from the environment, and metrics are served only if asked for",
          "[unit]") {
  unsetenv("WAGGLE_LOG_FORMAT");
  const Parsed none({"--param-server", "h:7000"});
  CHECK(none.log.format == LogFormat::kText);
  CHECK(none.metrics.empty());
  const Parsed flags({"--param-server", "h:7000", "--log-format", "json", "--metrics-listen", "0.0.0.0:9600"});
  CHECK_FALSE(flags.exit.has_value());
  CHECK(flags.log.format == LogFormat::kJson);
  CHECK(flags.metrics == "0.0.0.0:9600");
  setenv("WAGGLE_LOG_FORMAT", "json", 1);
  CHECK(Parsed({"--param-server", "h:7000"}).log.format == LogFormat::kJson);
  CHECK(Parsed({"--param-server", "h:7000", "--log-format", "text"}).log.format == LogFormat::kText);
  setenv("WAGGLE_LOG_FORMAT", "xml", 1);
  const Parsed wrong({"--param-server", "h:7000"});
  CHECK(wrong.exit == 2);
  CHECK_THAT(wrong.errors, Catch::Contains("--log-format") && Catch::Contains("\"xml\""));
  unsetenv("WAGGLE_LOG_FORMAT");
}

TEST_CASE("A wrong command line gives one line with the mistake, and exit status 2", "[unit]") {
  unsetenv("WAGGLE_PARAM_SERVER");
  const std::pair<std::vector<const char*>, const char*> cases[] = {
      {{}, "--param-server is required"},
      {{"--param-server", "h:0"}, "\"h:0\" is not an address"},
      {{"--param-server"}, "--param-server"},
      {{"--param-server", "h:1", "--param-server", "h:2"}, "--param-server"},
      {{"--param-server", "h:1", "--lisen", "x:1"}, "did you mean \"--listen\"?"},
      {{"--param-server", "h:1", "stray"}, "stray"},
  };
  for (const auto& [arguments, message] : cases) {
    const Parsed flags(arguments);
    CHECK(flags.exit == 2);
    CHECK_THAT(flags.errors, Catch::StartsWith("waggle-test: ") && Catch::Contains(message) &&
                                 Catch::EndsWith("; see waggle-test --help\n"));
    CHECK(std::count(flags.errors.begin(), flags.errors.end(), '\n') == 1);
  }
}

TEST_CASE("Help and version go to the standard output", "[unit]") {
  const Parsed version({"--version"});
  CHECK(version.exit == 0);
  CHECK_THAT(version.output, Catch::StartsWith("waggle "));
  const Parsed help({"--help"});
  CHECK(help.exit == 0);
  CHECK_THAT(help.output, Catch::Contains("--param-server HOST:PORT") && Catch::Contains("WAGGLE_PARAM_SERVER"));
  CHECK(help.errors.empty());
}

}  // namespace
}  // namespace waggle
