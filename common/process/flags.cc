#include "common/process/flags.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/build_info.h"
#include "common/base/host_port.h"
#include "common/base/nearest_name.h"

namespace waggle {
namespace {

constexpr int kUsageError = 2;

// CLI11 takes an empty string for "valid", and names the flag before the message.
std::string CheckAddress(const std::string& address, bool allow_port_zero) {
  const absl::Status status = ValidateHostPort(address, allow_port_zero);
  return std::string(status.message());
}

// Completes the message about a flag that does not exist.
std::string NearestFlag(const CLI::App& app, int argc, const char* const* argv) {
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      known.push_back(absl::StrCat("--", name));
    }
  }
  for (int i = 1; i < argc; ++i) {
    const std::string flag = std::string(argv[i]).substr(0, std::string(argv[i]).find('='));
    if (absl::StartsWith(flag, "--") && app.get_option_no_throw(flag) == nullptr) {
      return DidYouMean(flag, known);
    }
  }
  return "";
}

}  // namespace

void AddCommonFlags(CLI::App* app, LogLevel* level) {
  app->add_option_function<std::string>(
         "--log-level",
         [level](const std::string& name) {
           const absl::StatusOr<LogLevel> parsed = ParseLogLevel(name);
           if (!parsed.ok()) {
             throw CLI::ValidationError("--log-level", std::string(parsed.status().message()));
           }
           *level = *parsed;
         },
         "The least important lines that are written: debug, info (the default), warning or error")
      ->type_name("LEVEL");
  app->set_version_flag("--version", absl::StrCat("waggle ", kVersion), "Print the version and exit");
}

void AddParamServerFlag(CLI::App* app, std::string* address) {
  app->add_option("--param-server", *address, "Where the parameter server is: all else is learned from it")
      ->envname("WAGGLE_PARAM_SERVER")
      ->check([](const std::string& value) { return CheckAddress(value, /*allow_port_zero=*/false); })
      ->type_name("HOST:PORT")
      ->required();
}

void AddListenFlag(CLI::App* app, std::string* address) {
  const bool required = address->empty();
  app->add_option("--listen", *address, "Where to serve; port 0 takes a free one")
      ->check([](const std::string& value) { return CheckAddress(value, /*allow_port_zero=*/true); })
      ->type_name("HOST:PORT")
      ->capture_default_str()
      ->required(required);
}

std::optional<int> ParseCommandLine(CLI::App* app, int argc, const char* const* argv) {
  try {
    app->parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::Success& done) {  // --help and --version.
    app->exit(done, std::cout, std::cerr);
    return 0;
  } catch (const CLI::ExtrasError& error) {
    std::cerr << app->get_name() << ": " << error.what() << NearestFlag(*app, argc, argv);
  } catch (const CLI::Error& error) {
    std::cerr << app->get_name() << ": " << absl::StrReplaceAll(error.what(), {{"\n", " "}});
  }
  std::cerr << "; see " << app->get_name() << " --help" << std::endl;
  return kUsageError;
}

}  // namespace waggle
