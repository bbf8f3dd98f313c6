#pragma once

#include <optional>
#include <string>

#include "common/base/log.h"

namespace CLI {
class App;
}  // namespace CLI

// The flags that several executables share, so that they look and fail alike. They stand on CLI11; whoever has flags of
// its own includes CLI/CLI.hpp and adds them to the same App.

namespace waggle {

// Adds --log-level debug|info|warning|error and --version. `level` is left alone where the flag is not given; it must
// outlive the parsing, as all targets here must.
void AddCommonFlags(CLI::App* app, LogLevel* level);

// Adds --param-server HOST:PORT, which WAGGLE_PARAM_SERVER replaces; one of the two must be there.
void AddParamServerFlag(CLI::App* app, std::string* address);

// Adds --listen HOST:PORT, where port 0 takes a free one. `address` holds the default; required if that is empty.
void AddListenFlag(CLI::App* app, std::string* address);

// Parses the command line. Returns nothing if the program is to go on; otherwise the exit status: 0 after --help or
// --version, 2, with one line on the standard error stream that names the flag, for a wrong command line.
std::optional<int> ParseCommandLine(CLI::App* app, int argc, const char* const* argv);

}  // namespace waggle
