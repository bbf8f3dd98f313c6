#include "common/base/process/man_page.h"

#include <string>

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("A manual page has what its program takes, and roff takes no text for a request", "[unit]") {
  FlagFacts flag;
  flag.names = {"-l", "--listen"};
  flag.type = "HOST:PORT";
  flag.description = ".first line \\ of";
  flag.default_value = "127.0.0.1:0";
  flag.variable = "LISTEN";
  flag.required = true;
  FlagFacts word;
  word.type = "FILE";
  word.description = "Files";
  word.repeats = true;
  const std::string page = ProgramManPage("my-server", "Serves. Well.", {flag, word});
  CHECK_THAT(page, Catch::StartsWith(".TH \"MY\\-SERVER\" 1 \"20"));
  CHECK_THAT(page, Catch::Contains("\nmy\\-server \\- Serves\n"));
  CHECK_THAT(page, Catch::Contains(
                       "\n\\fBmy\\-server\\fR \\fB\\-l\\fR, \\fB\\-\\-listen\\fR \\fIHOST:PORT\\fR [\\fIflags\\fR] "
                       "[\\fIFILE\\fR ...]\n"));
  CHECK_THAT(page,
             Catch::Contains("\n\\&.first line \\e of. The default is 127.0.0.1:0. The environment variable LISTEN "
                             "replaces it.\n"));
}

TEST_CASE("A first sentence ends at the first full stop before a space", "[unit]") {
  CHECK(FirstSentence("Runs a 0.5 s test. More.") == "Runs a 0.5 s test");
  CHECK(FirstSentence("One.") == "One");
  CHECK(FirstSentence("").empty());
}

}  // namespace
}  // namespace waggle
