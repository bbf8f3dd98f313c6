#include "replay_server/replay_flags.h"

#include <stdlib.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "common/base/process/flags.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

constexpr int64_t kMachine = int64_t{64} << 30;

struct Parsed {
  explicit Parsed(std::vector<std::string> arguments, int64_t machine_bytes = kMachine) {
    unsetenv("WAGGLE_PARAM_SERVER");
    AddReplayFlags(&app, machine_bytes, &flags);
    std::vector<const char*> argv = {"waggle-replay-server"};
    for (const std::string& argument : arguments) {
      argv.push_back(argument.c_str());
    }
    std::ostringstream captured;
    std::streambuf* const before = std::cerr.rdbuf(captured.rdbuf());
    exit = ParseCommandLine(&app, static_cast<int>(argv.size()), argv.data());
    std::cerr.rdbuf(before);
    errors = captured.str();
  }

  CLI::App app{"a test", "waggle-replay-server"};
  ReplayFlags flags;
  std::optional<int> exit;
  std::string errors;
};

TEST_CASE("Every flag of a replay server says of a wrong value what was got and what was wanted", "[unit]") {
  const std::string address = "is not an address: wanted HOST:PORT, such as 127.0.0.1:7000";
  const std::string path = "wanted a folder";
  const std::string file = "wanted a file";
  const std::string seconds = "wanted a number of seconds, such as 300 or 0.5, of at least 0";
  const std::string size = "wanted a number of bytes, such as 4294967296, 512MiB or 4G";
  const std::string least = "wanted at least 1048576 bytes; a unit can be given, as in 512MiB or 4G";
  const std::string tables = "wanted a whole number from 1 to 1000000";
  const std::string index = "wanted a whole number from 0 to 1023";
  const std::string policy = "wanted one of refuse, keep, replace";
  const std::string level = "is not a log level; known: debug, info, warning, error";
  const std::string format = "wanted one of text, json";
  const std::string huge = "99999999999999999999";
  // By flag: wrong values, and what is said of each.
  const std::map<std::string, std::vector<std::pair<std::string, std::string>>> cases = {
      {"--log-level", {{"loud", level}, {"", level}, {"1", level}, {"INFO", level}}},
      {"--log-format", {{"", format}, {"xml", format}, {"JSON", format}}},
      {"--metrics-listen", {{"", address}, {"here", address}, {"h:65536", address}, {":1", address}}},
      {"--listen", {{"", address}, {"here", address}, {"h:-1", address}, {"h:65536", address}, {":1", address}}},
      {"--advertise", {{"", address}, {"h", address}, {"h:0", address}, {"0.0.0.0:1", "wanted one that others can"}}},
      {"--param-server", {{"", address}, {"h", address}, {"h:0", address}, {"h:" + huge, address}}},
      {"--data-dir", {{"", path}}},
      {"--tls", {{"", path}}},
      {"--access", {{"", file}}},
      {"--token-file", {{"", file}}},
      {"--checkpoint-seconds",
       {{"", seconds},
        {"often", seconds},
        {"-1", seconds},
        {"5m", seconds},
        {"nan", seconds},
        {"inf", seconds},
        {"1e999", seconds}}},
      {"--memory-bytes",
       {{"", size},
        {"much", size},
        {"-5", size},
        {"4GB", size},
        {"1.5G", size},
        {huge, size},
        {"8388608T", size},
        {"0", least},
        {"1", least},
        {"1023K", least}}},
      {"--experiment-bytes", {{"", size}, {"much", size}, {"-5", size}, {"0", least}, {"1023K", least}}},
      {"--max-tables",
       {{"", tables}, {"few", tables}, {"-1", tables}, {"0", tables}, {"1000001", tables}, {huge, tables}}},
      {"--if-saved-differs", {{"", policy}, {"maybe", policy}, {"Keep", policy}, {"0", policy}}},
      {"--index", {{"", index}, {"first", index}, {"-1", index}, {"1024", index}, {"0.5", index}, {huge, index}}},
  };
  for (const auto& [flag, values] : cases) {
    for (const auto& [value, says] : values) {
      INFO(flag << " \"" << value << "\"");
      for (const std::vector<std::string>& arguments :
           std::vector<std::vector<std::string>>{{flag, value}, {flag + "=" + value}}) {
        const Parsed parsed(arguments);
        CHECK(parsed.exit == 2);
        if (arguments.size() == 1 && value.empty()) {  // "--flag=" is a flag without a value.
          CHECK_THAT(parsed.errors, Catch::StartsWith("waggle-replay-server: " + flag + ": 1 required "));
          continue;
        }
        CHECK_THAT(parsed.errors, Catch::StartsWith("waggle-replay-server: " + flag + ": ") &&
                                      Catch::Contains("\"" + value + "\"") && Catch::Contains(says) &&
                                      Catch::EndsWith("; see waggle-replay-server --help\n"));
        CHECK(std::count(parsed.errors.begin(), parsed.errors.end(), '\n') == 1);
      }
    }
    INFO(flag);
    CHECK(Parsed({flag}).exit == 2);  // Without a value.
    CHECK_THAT(Parsed({flag}).errors, Catch::Contains(flag));
  }
  // They take no value, or any text.
  const std::set<std::string> without_wrong_values = {"--help", "--version", "--insecure", "--server-name"};
  const Parsed none({});
  for (const CLI::Option* option : none.app.get_options()) {
    INFO(option->get_name());
    CHECK(without_wrong_values.count(option->get_name()) + cases.count(option->get_name()) == 1);
  }
}

TEST_CASE("A replay server's options are as its flags say", "[unit]") {
  const Parsed none({});
  REQUIRE_FALSE(none.exit.has_value());
  const ReplayServerOptions defaults = none.flags.ServerOptions();
  CHECK(defaults.listen == "127.0.0.1:0");
  CHECK(defaults.data_dir.empty());
  CHECK(defaults.checkpoint_period == absl::Minutes(5));
  CHECK(defaults.store.max_tables == 1024);
  CHECK(defaults.store.max_experiment_bytes == std::numeric_limits<int64_t>::max());
  CHECK_FALSE(none.flags.index.has_value());
  CHECK(defaults.store.saved == SavedPolicy::kRefuse);

  const Parsed all({"--listen",     "h:1",   "--advertise",          "h:2",     "--param-server",   "h:3",
                    "--data-dir",   "d",     "--checkpoint-seconds", "0.5",     "--memory-bytes",   "4G",
                    "--max-tables", "7",     "--if-saved-differs",   "replace", "--index",          "3",
                    "--log-level",  "debug", "--experiment-bytes",   "1G",      "--metrics-listen", "h:4",
                    "--log-format", "json"});
  REQUIRE_FALSE(all.exit.has_value());
  CHECK(all.flags.advertise == "h:2");
  CHECK(all.flags.param_server == "h:3");
  CHECK(all.flags.index == 3);
  CHECK(all.flags.log.level == LogLevel::kDebug);
  CHECK(all.flags.log.format == LogFormat::kJson);
  CHECK(all.flags.metrics_listen == "h:4");
  const ReplayServerOptions options = all.flags.ServerOptions();
  CHECK(options.listen == "h:1");
  CHECK(options.data_dir == "d");
  CHECK(options.checkpoint_period == absl::Milliseconds(500));
  CHECK(options.store.max_bytes == int64_t{4} << 30);
  CHECK(options.store.max_tables == 7);
  CHECK(options.store.max_experiment_bytes == int64_t{1} << 30);
  CHECK(options.store.saved == SavedPolicy::kReplace);
  REQUIRE_OK(options.store.Validate());

  CHECK(Parsed({"--checkpoint-seconds", "0"}).flags.ServerOptions().checkpoint_period == absl::InfiniteDuration());
  const ReplayServerOptions least = Parsed({"--memory-bytes", "1MiB"}).flags.ServerOptions();
  CHECK(least.store.max_bytes == kLeastTableBytes);
  REQUIRE_OK(least.store.Validate());
  REQUIRE_OK(least.service.Validate());
}

TEST_CASE("Each budget beside the tables has its part of --memory-bytes, up to its own default", "[unit]") {
  const ReplayServerOptions small = Parsed({"--memory-bytes", "1G"}).flags.ServerOptions();
  CHECK(small.service.max_insert_bytes == int64_t{64} << 20);
  CHECK(small.service.max_sample_bytes == int64_t{64} << 20);
  CHECK(small.service.max_lent_sample_bytes == int64_t{64} << 20);
  CHECK(small.service.max_kept_sample_bytes == int64_t{4} << 20);
  CHECK(small.store.known_writers.max_idle_writer_bytes == int64_t{32} << 20);
  for (const char* const bytes : {"1MiB", "1G"}) {
    const ReplayServerOptions options = Parsed({"--memory-bytes", bytes}).flags.ServerOptions();
    CHECK(options.store.writer.max_held_bytes == int64_t{64} << 20);
    CHECK(options.store.max_writer_bytes == int64_t{64} << 20);
  }
  const ReplayServerOptions plain;
  const ReplayServerOptions large = Parsed({"--memory-bytes", "1000G"}).flags.ServerOptions();
  CHECK(large.service.max_insert_bytes == plain.service.max_insert_bytes);
  CHECK(large.service.max_kept_sample_bytes == plain.service.max_kept_sample_bytes);
  CHECK(large.store.max_writer_bytes == plain.store.max_writer_bytes);
}

TEST_CASE("By default tables and the budgets beside them have four fifths of the machine", "[unit]") {
  for (const int64_t machine : {kMachine / 256, kMachine / 32, kMachine / 8, kMachine, 16 * kMachine}) {
    INFO(machine);
    const ReplayServerOptions options = Parsed({}, machine).flags.ServerOptions();
    CHECK(MemoryWarning(options, machine / 5 * 4).empty());
    CHECK_FALSE(MemoryWarning(options, machine / 100 * 79).empty());
  }
}

TEST_CASE("Memory that the machine has not is warned of", "[unit]") {
  CHECK(MemoryWarning(Parsed({}).flags.ServerOptions(), kMachine).empty());
  CHECK(MemoryWarning(Parsed({"--memory-bytes", "55G"}).flags.ServerOptions(), kMachine).empty());
  // It fits by itself, not with what is beside it.
  CHECK_THAT(MemoryWarning(Parsed({"--memory-bytes", "63G"}).flags.ServerOptions(), kMachine),
             Catch::StartsWith("--memory-bytes 67645734912, with ") && Catch::Contains("(68719476736 bytes)"));
  CHECK_FALSE(MemoryWarning(Parsed({"--memory-bytes", "8388607T"}).flags.ServerOptions(), kMachine).empty());
}

}  // namespace
}  // namespace waggle
