#include "common/base/process/flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/base/build_info.h"
#include "common/base/byte_size.h"
#include "common/base/host_port.h"
#include "common/base/nearest_name.h"
#include "common/base/process/flag_facts.h"
#include "common/base/process/man_page.h"
#include "common/base/whole_number.h"

namespace waggle {
namespace {

constexpr int kUsageError = 2;

// CLI11 takes an empty string for "valid", and names the flag before the message.
std::string CheckAddress(const std::string& address, bool allow_port_zero) {
  const absl::Status status = ValidateHostPort(address, allow_port_zero);
  return std::string(status.message());
}

// Completes the message about an unknown flag.
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

[[noreturn]] void Refuse(const std::string& flag, const std::string& got, absl::string_view wanted) {
  throw CLI::ValidationError(flag, absl::StrCat("got \"", absl::CHexEscape(got), "\"; wanted ", wanted));
}

// Takes values as typed text: CLI11's own message about a wrong value names neither the flag nor the wanted values.
CLI::Option* AddTextFlag(CLI::App* app, const std::string& name, const std::string& type,
                         const std::string& description, std::function<void(const std::string&)> take) {
  return app->add_option_function<std::string>(name, std::move(take), description)->type_name(type);
}

int64_t ReadInteger(const std::string& flag, const std::string& text, int64_t smallest, int64_t largest) {
  const std::optional<int64_t> number = ParseWholeNumber(text);
  if (!number.has_value() || *number < smallest || *number > largest) {
    Refuse(flag, text, absl::StrCat("a whole number from ", smallest, " to ", largest));
  }
  return *number;
}

}  // namespace

std::shared_ptr<CLI::App> NewCommandLine(const std::string& description, const std::string& program) {
  return std::make_shared<CLI::App>(description, program);
}

CLI::Option* AddSwitch(CLI::App* app, const std::string& name, bool* given, const std::string& description) {
  return app->add_flag(name, *given, description);
}

CLI::Option* AddAddressFlag(CLI::App* app, const std::string& name, std::string* value,
                            const std::string& description) {
  return app->add_option(name, *value, description)
      ->check([](const std::string& address) { return std::string(ValidateReachable(address).message()); })
      ->type_name("HOST:PORT");
}

CLI::Option* AddServingFlag(CLI::App* app, const std::string& name, std::string* value,
                            const std::string& description) {
  return app->add_option(name, *value, description)
      ->check([](const std::string& address) { return CheckAddress(address, /*allow_port_zero=*/true); })
      ->type_name("HOST:PORT");
}

void SetRequired(CLI::Option* option, bool required) {
  option->required(required);
}

void SetNeeds(CLI::Option* option, CLI::Option* other) {
  option->needs(other);
}

void SetExcludes(CLI::Option* option, CLI::Option* other) {
  option->excludes(other);
}

void SetReplaces(CLI::Option* option, CLI::Option* other) {
  // CLI11 parses before it looks for missing options.
  option->trigger_on_parse()->each([other](const std::string&) { other->required(false); });
}

CLI::Option* AddIntegerFlag(CLI::App* app, const std::string& name, std::optional<int64_t>* value, int64_t smallest,
                            int64_t largest, const std::string& description) {
  return AddTextFlag(app, name, "N", description,
                     [=](const std::string& text) { *value = ReadInteger(name, text, smallest, largest); });
}

CLI::Option* AddIntegerFlag(CLI::App* app, const std::string& name, int64_t* value, int64_t smallest, int64_t largest,
                            const std::string& description) {
  return AddTextFlag(app, name, "N", description,
                     [=](const std::string& text) { *value = ReadInteger(name, text, smallest, largest); })
      ->default_str(absl::StrCat(*value));
}

CLI::Option* AddSecondsFlag(CLI::App* app, const std::string& name, double* value, const std::string& description) {
  return AddTextFlag(app, name, "SECONDS", description,
                     [=](const std::string& text) {
                       double seconds = 0;
                       if (!absl::SimpleAtod(text, &seconds) || !std::isfinite(seconds) || seconds < 0) {
                         Refuse(name, text, "a number of seconds, such as 300 or 0.5, of at least 0");
                       }
                       *value = seconds;
                     })
      ->default_str(absl::StrCat(*value));
}

CLI::Option* AddBytesFlag(CLI::App* app, const std::string& name, int64_t* value, int64_t smallest,
                          const std::string& description) {
  return AddTextFlag(app, name, "BYTES", description, [=](const std::string& text) {
    const absl::StatusOr<int64_t> bytes = ParseByteSize(text);
    if (!bytes.ok()) {
      throw CLI::ValidationError(name, std::string(bytes.status().message()));
    }
    if (*bytes < smallest) {
      Refuse(name, text, absl::StrCat("at least ", smallest, " bytes; a unit can be given, as in 512MiB or 4G"));
    }
    *value = *bytes;
  });
}

CLI::Option* AddPathFlag(CLI::App* app, const std::string& name, std::string* value, const std::string& type,
                         const std::string& description) {
  return AddTextFlag(app, name, type, description, [=](const std::string& text) {
    if (text.empty()) {
      Refuse(name, text, type == "DIR" ? "a folder" : "a file");
    }
    *value = text;
  });
}

CLI::Option* AddWordFlag(CLI::App* app, const std::string& name, std::vector<std::string> words, size_t default_word,
                         std::function<void(size_t)> take, const std::string& description) {
  const std::string type = absl::StrJoin(words, "|");
  const std::string shown = words[default_word];
  return AddTextFlag(app, name, type, description,
                     [name, words = std::move(words), take = std::move(take)](const std::string& text) {
                       const auto found = std::find(words.begin(), words.end(), text);
                       if (found == words.end()) {
                         Refuse(name, text, absl::StrCat("one of ", absl::StrJoin(words, ", ")));
                       }
                       take(static_cast<size_t>(found - words.begin()));
                     })
      ->default_str(shown);
}

void AddCommonFlags(CLI::App* app, LogOptions* log) {
  app->add_option_function<std::string>(
         "--log-level",
         [log](const std::string& name) {
           const absl::StatusOr<LogLevel> parsed = ParseLogLevel(name);
           if (!parsed.ok()) {
             throw CLI::ValidationError("--log-level", std::string(parsed.status().message()));
           }
           log->level = *parsed;
         },
         "The least important lines to log: debug, info (the default), warning or error")
      ->type_name("LEVEL");
  AddChoiceFlag<LogFormat>(app, "--log-format", &log->format, {{"text", LogFormat::kText}, {"json", LogFormat::kJson}},
                           "The form of log lines: text for people, or one JSON object a line")
      ->envname("WAGGLE_LOG_FORMAT");
  app->set_version_flag("--version", absl::StrCat("waggle ", kVersion), "Print the version and exit");
}

CLI::Option* AddParamServerFlag(CLI::App* app, std::string* address) {
  return app
      ->add_option("--param-server", *address, "The parameter server, which gives this process all other addresses")
      ->envname("WAGGLE_PARAM_SERVER")
      ->check([](const std::string& value) { return CheckAddress(value, /*allow_port_zero=*/false); })
      ->type_name("HOST:PORT")
      ->required();
}

CLI::Option* AddMetricsFlag(CLI::App* app, std::string* address) {
  return AddServingFlag(app, "--metrics-listen", address,
                        "Serve figures for Prometheus (/metrics) and health (/healthz, /readyz) by HTTP at this "
                        "address; port 0 takes a free port. By default neither is served");
}

CLI::Option* AddListenFlag(CLI::App* app, std::string* address) {
  const bool required = address->empty();
  return app
      ->add_option("--listen", *address,
                   "The address to serve at; port 0 takes a free port; 0.0.0.0 or [::] is every address of the "
                   "machine, IPv4 and IPv6")
      ->check([](const std::string& value) { return CheckAddress(value, /*allow_port_zero=*/true); })
      ->type_name("HOST:PORT")
      ->capture_default_str()
      ->required(required);
}

std::optional<int> ParseCommandLine(CLI::App* app, int argc, const char* const* argv) {
  if (argc == 2 && std::string(argv[1]) == "--help-man") {  // For packages; the help does not show it.
    std::cout << ProgramManPage(app->get_name(), app->get_description(), FlagsOf(*app)) << std::flush;
    return 0;
  }
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
