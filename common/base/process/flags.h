#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/log.h"
#include "common/base/log_format.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

// Flags that several executables share, so that they look and fail alike. They are built on CLI11, whose header costs a
// file ten seconds: this header does not include it.

namespace waggle {

// A command line with no flag but --help.
std::shared_ptr<CLI::App> NewCommandLine(const std::string& description, const std::string& program);

// Adds --log-level debug|info|warning|error, --log-format text|json, which WAGGLE_LOG_FORMAT can replace, and
// --version. `log` does not change if a flag is not given. All targets here must outlive the parsing.
void AddCommonFlags(CLI::App* app, LogOptions* log);

// Adds --metrics-listen HOST:PORT, for a Monitor (monitor.h); port 0 takes a free one. Empty if it is not given.
CLI::Option* AddMetricsFlag(CLI::App* app, std::string* address);

// Adds --param-server HOST:PORT, which WAGGLE_PARAM_SERVER can replace; one of the two is required.
CLI::Option* AddParamServerFlag(CLI::App* app, std::string* address);

// Adds --listen HOST:PORT; port 0 takes a free one. `address` holds the default. The flag is required if that is empty.
CLI::Option* AddListenFlag(CLI::App* app, std::string* address);

// Flags with a value, by its kind. A wrong value ends the parsing with "--NAME: got "…"; wanted …". Each function
// returns the option, so that callers can add to it.

// A flag without a value. `given` becomes true if the flag is given.
CLI::Option* AddSwitch(CLI::App* app, const std::string& name, bool* given, const std::string& description);

// A HOST:PORT that other processes can connect to. `value` does not change if the flag is not given.
CLI::Option* AddAddressFlag(CLI::App* app, const std::string& name, std::string* value, const std::string& description);
// A HOST:PORT to serve at, as that of AddListenFlag. `value` does not change if the flag is not given.
CLI::Option* AddServingFlag(CLI::App* app, const std::string& name, std::string* value, const std::string& description);

// A whole number in the forms of ParseWholeNumber, such as 1e9. `value` does not change if the flag is not given; the
// help shows no default.
CLI::Option* AddIntegerFlag(CLI::App* app, const std::string& name, std::optional<int64_t>* value, int64_t smallest,
                            int64_t largest, const std::string& description);
// The same; `value` holds the default, which the help shows.
CLI::Option* AddIntegerFlag(CLI::App* app, const std::string& name, int64_t* value, int64_t smallest, int64_t largest,
                            const std::string& description);

// A finite number of seconds, at least 0, such as 0.5. `value` holds the default, which the help shows.
CLI::Option* AddSecondsFlag(CLI::App* app, const std::string& name, double* value, const std::string& description);

// At least `smallest` bytes, in the forms of ParseByteSize. `value` does not change if the flag is not given.
CLI::Option* AddBytesFlag(CLI::App* app, const std::string& name, int64_t* value, int64_t smallest,
                          const std::string& description);

// A file or a folder, as `type` ("FILE", "DIR") says. It must not be empty, as an unset variable of a script would be.
// It need not exist.
CLI::Option* AddPathFlag(CLI::App* app, const std::string& name, std::string* value, const std::string& type,
                         const std::string& description);

// One of these words; `take` gets its index among them. The help shows the default.
CLI::Option* AddWordFlag(CLI::App* app, const std::string& name, std::vector<std::string> words, size_t default_word,
                         std::function<void(size_t)> take, const std::string& description);
// The same for values with names. `value` holds the default, which is one of them.
template <class T>
CLI::Option* AddChoiceFlag(CLI::App* app, const std::string& name, T* value,
                           const std::vector<std::pair<std::string, T>>& choices, const std::string& description) {
  std::vector<std::string> words;
  size_t default_word = 0;
  for (const auto& [word, choice] : choices) {
    default_word = choice == *value ? words.size() : default_word;
    words.push_back(word);
  }
  return AddWordFlag(
      app, name, std::move(words), default_word, [value, choices](size_t word) { *value = choices[word].second; },
      description);
}

// Relations of an option: it is required or not; it needs another option; it excludes another option; or it makes
// another, required option optional.
void SetRequired(CLI::Option* option, bool required);
void SetNeeds(CLI::Option* option, CLI::Option* other);
void SetExcludes(CLI::Option* option, CLI::Option* other);
void SetReplaces(CLI::Option* option, CLI::Option* other);

// Parses the command line. Returns nothing if the program shall go on; otherwise the exit status: 0 after --help or
// --version; 2 for a wrong command line, with one line on the standard error stream that names the flag.
std::optional<int> ParseCommandLine(CLI::App* app, int argc, const char* const* argv);

}  // namespace waggle
