#include "cli/replay/table_changes.h"

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/command_line.h"
#include "common/config/experiment/experiment.h"
#include "common/config/yaml_file.h"
#include "common/rl/algorithms/definitions.h"
#include "tests/support/catch.h"
#include "tests/support/replay_fixtures.h"

namespace waggle {
namespace {

using testing::SimpleTable;
using testing::ValueOf;

TEST_CASE("Named values change, and no others", "[unit]") {
  TableConfig config = SimpleTable("t");
  config.rate_limiter = {8, 10, 100};
  config.sampler.kind = SelectorKind::kPrioritized;
  const TableConfig changed = ValueOf(WithChanges(
      config, {{"rate_limiter.error_buffer", "200.5"}, {"max_items", "77"}, {"sampler.priority_exponent", "1"}}));
  CHECK(Differences(config, changed) == std::vector<std::string>{"max_items: 100000 and 77",
                                                                 "sampler.priority_exponent: 0.6 and 1",
                                                                 "rate_limiter.error_buffer: 100 and 200.5"});
}

TEST_CASE("Bounds of the limiter replace its error buffer, and can be removed", "[unit]") {
  TableConfig config = SimpleTable("t");
  config.rate_limiter = {8, 10, 100};
  const TableConfig bounded = ValueOf(WithChanges(config, {{"rate_limiter.error_buffer", "0"},
                                                           {"rate_limiter.min_difference", "-20"},
                                                           {"rate_limiter.max_difference", "90"}}));
  CHECK(bounded.rate_limiter.MinDifference() == -20);
  const TableConfig back = ValueOf(WithChanges(bounded, {{"rate_limiter.error_buffer", "100"},
                                                         {"rate_limiter.min_difference", "null"},
                                                         {"rate_limiter.max_difference", "null"}}));
  CHECK(Differences(back, config).empty());
}

// A table as `waggle run` creates it for an experiment that ships with Waggle.
TableConfig TableOfARun() {
  const Experiment experiment = ValueOf(LoadExperiment(absl::StrCat(WAGGLE_TEST_CONFIG_DIR, "/cartpole_apex_dqn.yaml"),
                                                       {}, BuiltinAlgorithmDefinitions()));
  TableConfig config = experiment.replay.TableFor(experiment.learner.batch_size);
  const TableConfig simple = SimpleTable("pole/transitions");
  config.name = simple.name;
  config.signature = simple.signature;
  config.view = simple.view;
  return config;
}

TEST_CASE("The examples of help and pages are valid changes, and do not stall the table", "[unit]") {
  std::vector<std::string> examples;
  const char* const help_arguments[] = {"waggle", "reconfigure", "--help"};
  SecurityOptions security;
  const Command help = ParseCommand(3, help_arguments, &security);
  for (const absl::string_view word : absl::StrSplit(std::get<PrintAndExit>(help).text, absl::ByAnyChar(" \n"))) {
    // NAME=server.waggle is a flag's default.
    if (absl::StrContains(word, "=") && !absl::StartsWith(word, "KEY=") && !absl::StartsWith(word, "NAME=")) {
      examples.emplace_back(word);
    }
  }
  REQUIRE(examples.size() == 1);
  for (const char* const page : {"replay_explain.md", "replay_files.md", "replay.md"}) {
    std::ifstream file(absl::StrCat(WAGGLE_TEST_DOCS_DIR, "/", page));
    REQUIRE(file.is_open());
    const std::string command = "$ waggle reconfigure pole/transitions ";
    for (std::string line; std::getline(file, line);) {
      if (absl::StartsWith(line, command)) {
        examples.push_back(line.substr(command.size()));
      }
    }
  }
  REQUIRE(examples.size() >= 3);
  for (const std::string& example : examples) {
    CAPTURE(example);
    std::vector<std::pair<std::string, std::string>> changes;
    for (const absl::string_view change : absl::StrSplit(example, ' ')) {
      changes.push_back(ValueOf(ParseOverride(std::string(change))));
    }
    const TableConfig table = TableOfARun();
    const TableConfig changed = ValueOf(WithChanges(table, changes));
    CHECK(!Differences(table, changed).empty());
    REQUIRE_OK(changed.CheckBatchSize(64));
  }
}

TEST_CASE("All problems of changes are reported at once", "[unit]") {
  const absl::Status status =
      WithChanges(SimpleTable("t"), {{"rate_limiter.max_diference", "9"}, {"seed", "4"}, {"max_items", "many"}})
          .status();
  REQUIRE_CODE(status, absl::StatusCode::kInvalidArgument);
  CHECK_THAT(std::string(status.message()), Catch::Contains("did you mean \"max_difference\"?") &&
                                                Catch::Contains("seed: ") && Catch::Contains("max_items") &&
                                                !Catch::Contains("--set"));  // This verb has no --set.
  REQUIRE_CODE(WithChanges(SimpleTable("t"), {{"rate_limiter.min_items", "200000"}}),
               absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace waggle
