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

namespace CLI {
class App;
class Option;
}  // namespace CLI

// The flags that several executables share, so that they look and fail alike. They use CLI11, whose header costs a file
// ten seconds: this header and files that need no more than it do without.

namespace waggle {

// A command line with no flags yet except --help.
std::shared_ptr<CLI::App> NewCommandLine(const std::string& description, const std::string& program);

// Adds --log-level debug|info|warning|error and --version. `level` does not change if the flag is not given; it must
// outlive the parsing, like all targets here.
void AddCommonFlags(CLI::App* app, LogLevel* level);

// Adds --param-server HOST:PORT, which WAGGLE_PARAM_SERVER replaces; one of the two is required.
CLI::Option* AddParamServerFlag(CLI::App* app, std::string* address);

// Adds --listen HOST:PORT; port 0 takes a free one. `address` holds the default; required if that is empty.
CLI::Option* AddListenFlag(CLI::App* app, std::string* address);

// Flags with a value, by its kind. A wrong value ends the parsing with "--NAME: got "…"; wanted …". Each returns the
// option for further settings.

// A flag without a value: `given` becomes true if it is there.
CLI::Option* AddSwitch(CLI::App* app, const std::string& name, bool* given, const std::string& description);

// A HOST:PORT that others can connect to. `value` does not change if the flag is not given.
CLI::Option* AddAddressFlag(CLI::App* app, const std::string& name, std::string* value, const std::string& description);

// A whole number in ParseWholeNumber's form: 1e9 is one. `value` does not change if the flag is not given; the help
// shows no default.
CLI::Option* AddIntegerFlag(CLI::App* app, const std::string& name, std::optional<int64_t>* value, int64_t smallest,
                            int64_t largest, const std::string& description);
// The same, but `value` holds the default, which the help shows.
CLI::Option* AddIntegerFlag(CLI::App* app, const std::string& name, int64_t* value, int64_t smallest, int64_t largest,
                            const std::string& description);

// A finite number of seconds, such as 0.5, from 0 on. `value` holds the default, which the help shows.
CLI::Option* AddSecondsFlag(CLI::App* app, const std::string& name, double* value, const std::string& description);

// Bytes in ParseByteSize's form, at least `smallest`. `value` does not change if the flag is not given.
CLI::Option* AddBytesFlag(CLI::App* app, const std::string& name, int64_t* value, int64_t smallest,
                          const std::string& description);

// A file or a folder, named by `type` ("FILE", "DIR"): not empty, as an unset variable of a script would be. It need
// not exist.
CLI::Option* AddPathFlag(CLI::App* app, const std::string& name, std::string* value, const std::string& type,
                         const std::string& description);

// One of these words; `take` gets its index. The help shows the default's.
CLI::Option* AddWordFlag(CLI::App* app, const std::string& name, std::vector<std::string> words, size_t default_word,
                         std::function<void(size_t)> take, const std::string& description);
// The same for values that have a word each. `value` holds the default, which is one of them.
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

// Conditions on an option beside its value: it must be given or need not be; it needs another; it excludes another; or
// another, required one need not be given beside it.
void SetRequired(CLI::Option* option, bool required);
void SetNeeds(CLI::Option* option, CLI::Option* other);
void SetExcludes(CLI::Option* option, CLI::Option* other);
void SetReplaces(CLI::Option* option, CLI::Option* other);

// Parses the command line. Returns nothing if the program must go on; otherwise the exit status: 0 after --help or
// --version; 2 for a wrong command line, with one line on the standard error stream that names the flag.
std::optional<int> ParseCommandLine(CLI::App* app, int argc, const char* const* argv);

}  // namespace waggle
