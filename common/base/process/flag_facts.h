#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace waggle {

// A flag, or an argument without a flag, of a command line: for manual pages and for the completion of shells.
struct FlagFacts {
  std::vector<std::string> names;    // "-h", "--help". Empty for an argument.
  std::string type;                  // Its value, as the help says it: "FILE", "N", "any|queued". Empty for a switch.
  std::vector<std::string> choices;  // The values of a type such as "any|queued".
  std::string description;
  std::string default_value;  // Empty: none is shown.
  std::string variable;       // The environment variable that replaces it. Empty: none.
  bool required = false;
  bool repeats = false;  // It takes any number of values, or may be given again.
};

std::vector<FlagFacts> FlagsOf(const CLI::App& app);

// The first sentence of a description, without the full stop.
std::string FirstSentence(const std::string& description);

}  // namespace waggle
