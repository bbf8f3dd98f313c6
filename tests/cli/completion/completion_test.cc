#include "cli/completion/completion.h"

#include <string>
#include <vector>

#include "cli/command_line_parts.h"
#include "cli/completion/scripts.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::ValueOf;

const FlagFacts* FindFlag(const VerbFacts& verb, const std::string& name) {
  for (const FlagFacts& flag : verb.flags) {
    for (const std::string& own : flag.names) {
      if (own == name) {
        return &flag;
      }
    }
  }
  return nullptr;
}

TEST_CASE("The facts of verbs are those of their command lines", "[unit]") {
  const std::vector<VerbFacts> verbs = AllVerbFacts();
  std::vector<std::string> seen;
  for (const VerbFacts& verb : verbs) {
    seen.push_back(verb.name);
    INFO(verb.name);
    CHECK(!verb.description.empty());
    CHECK(FindFlag(verb, "--help") != nullptr);
    if (verb.name == "list") {
      const FlagFacts* const state = FindFlag(verb, "--state");
      REQUIRE(state != nullptr);
      CHECK_THAT(state->choices, Catch::VectorContains(std::string("queued")));
      CHECK(FindFlag(verb, "--json")->type.empty());
      CHECK(FindFlag(verb, "--param-server")->variable == "WAGGLE_PARAM_SERVER");
    }
    if (verb.name == "run") {
      CHECK(verb.flags[1].names.empty());
      CHECK(verb.flags[1].type == "FILE");
      CHECK_FALSE(verb.flags[1].required);  // It may be left out with --resume.
      CHECK(FindFlag(verb, "--set")->repeats);
      CHECK_FALSE(FindFlag(verb, "--seed")->repeats);
      CHECK(KindOf("run", verb.flags[1]) == WordKind::kExperiment);
      CHECK(KindOf("run", *FindFlag(verb, "--output-dir")) == WordKind::kFolder);
      CHECK(KindOf("run", *FindFlag(verb, "--seed")) == WordKind::kOther);
    }
  }
  for (const char* const name : {"configs", "run", "completion", "status", "why", "replay export", "replay import"}) {
    CHECK_THAT(seen, Catch::VectorContains(std::string(name)));
  }
}

TEST_CASE("Each shell has a script with every verb", "[unit]") {
  for (const std::string& shell : CompletionShells()) {
    const std::string script = ValueOf(CompletionScript(shell, AllVerbFacts()));
    INFO(shell);
    for (const FirstWord& first : FirstWords(AllVerbFacts())) {
      CHECK_THAT(script, Catch::Contains(first.word));
    }
    for (const char* const place : {"@VERBS@", "@SECOND_WORDS@", "@VALUES@", "@WORDS@", "@FLAGS@", "@ARGUMENTS@"}) {
      CHECK_THAT(script, !Catch::Contains(place));  // All are filled in.
    }
  }
  REQUIRE_CODE(CompletionScript("tcsh", {}), absl::StatusCode::kInvalidArgument);
}

TEST_CASE("Words with quotes stay words in every shell", "[unit]") {
  FlagFacts flag;
  flag.names = {"--it's"};
  flag.description = "It's [a]: flag. More";
  const std::vector<VerbFacts> verbs = {{"do", "Does it's work. More.", {flag}}};
  CHECK_THAT(ValueOf(CompletionScript("bash", verbs)), Catch::Contains("'--it'\\''s'"));
  CHECK_THAT(ValueOf(CompletionScript("zsh", verbs)), Catch::Contains("'--it'\\''s[It'\\''s \\[a\\]\\: flag]'"));
  CHECK_THAT(ValueOf(CompletionScript("fish", verbs)), Catch::Contains("-d 'It\\'s [a]: flag'"));
}

TEST_CASE("The manual page has every verb and flag", "[unit]") {
  const std::string page = CommandManPage(AllVerbFacts());
  CHECK_THAT(page, Catch::StartsWith(".TH \"WAGGLE\" 1 "));
  for (const VerbFacts& verb : AllVerbFacts()) {
    CHECK_THAT(page, Catch::Contains(".SS \"waggle " +
                                     (verb.name == "serve-environment" ? "serve\\-environment" : verb.name) + "\""));
  }
  CHECK_THAT(page, Catch::Contains("\\fB\\-\\-replay\\-servers\\fR \\fIN\\fR\n"));
}

}  // namespace
}  // namespace waggle
