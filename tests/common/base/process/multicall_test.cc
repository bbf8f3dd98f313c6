#include "common/base/process/multicall.h"

#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace waggle {
namespace {

std::vector<std::string> g_called;  // The program that ran, and its words.

template <int kStatus>
int Record(int argc, char** argv) {
  g_called.assign(argv, argv + argc);
  g_called.insert(g_called.begin(), std::to_string(kStatus));
  return kStatus;
}

// The exit status of an executable that is the programs `one` and `two`.
int Run(std::vector<std::string> words) {
  g_called.clear();
  std::vector<char*> arguments;
  for (std::string& word : words) {
    arguments.push_back(word.data());
  }
  return RunProgram({{"one", &Record<1>}, {"two", &Record<3>}}, static_cast<int>(words.size()), arguments.data());
}

using Words = std::vector<std::string>;

TEST_CASE("An executable of several programs is the one that its name or its first argument says", "[unit]") {
  CHECK(Run({"one", "--flag"}) == 1);
  CHECK(g_called == Words{"1", "one", "--flag"});
  CHECK(Run({"/usr/bin/two"}) == 3);
  CHECK(g_called == Words{"3", "/usr/bin/two"});
  CHECK(Run({"/usr/bin/one", "two", "one"}) == 3);
  CHECK(g_called == Words{"3", "two", "one"});
  CHECK(Run({"worker", "one"}) == 1);
  CHECK(g_called == Words{"1", "one"});
}

TEST_CASE("An executable of several programs refuses another name", "[unit]") {
  CHECK(Run({}) == 2);
  CHECK(Run({"worker"}) == 2);
  CHECK(Run({"worker", "--one", "one"}) == 2);
  CHECK(Run({"oneandtwo", "x/two"}) == 2);
  CHECK(g_called.empty());
}

}  // namespace
}  // namespace waggle
