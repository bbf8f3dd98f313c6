#include "common/config/experiment/sections.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/config/config_reader.h"
#include "common/config/yaml_file.h"
#include "tests/support/config_text.h"

namespace waggle {
namespace {

// The section replay, or the errors in it.
absl::StatusOr<ReplayOptions> Replay(const std::string& yaml) {
  ReplayOptions replay;
  const absl::Status read = testing::ReadSection("replay", "replay: " + yaml + "\n", &replay);
  return read.ok() ? absl::StatusOr<ReplayOptions>(replay) : read;
}

std::string ReplayProblems(const std::string& yaml) {
  return std::string(Replay(yaml).status().message());
}

TEST_CASE("Keys of the replay section that mean nothing beside another are refused", "[unit]") {
  for (const char* good :
       {"{sampler: {kind: prioritized, priority_exponent: 1, uniform_share: 0.1}}",
        "{sampler: {kind: uniform, recent_share: 1, recent_items: 10, recent_decay: 0.99, recent_period: 10}}",
        "{sampler: {kind: lifo}, remover: {kind: prioritized, priority_exponent: 2}}",
        "{sampler: {kind: max_heap}, max_times_sampled: 3, rate_limiter: {samples_per_insert: 3}}",
        "{durability: log, log_sync: true, checkpoint_seconds: 5}", "{memory_limit: 1000}"}) {
    INFO(good);
    CHECK(ReplayProblems(good).empty());
  }
  const std::string means_nothing = ": means nothing to the sampler fifo; wanted kind: prioritized, or none";
  CHECK(ReplayProblems("{sampler: {kind: fifo, priority_exponent: 1, priority_epsilon: 1, independent_draws: true}}") ==
        "x.yaml:1: replay.sampler.priority_exponent" + means_nothing + "\nx.yaml:1: replay.sampler.priority_epsilon" +
            means_nothing + "\nx.yaml:1: replay.sampler.independent_draws" + means_nothing);
  CHECK(ReplayProblems("{sampler: {kind: fifo, uniform_share: 0.5}}") ==
        "x.yaml:1: replay.sampler.uniform_share" + means_nothing);
  CHECK(ReplayProblems("{sampler: {recent_items: 7}}") ==
        "x.yaml:1: replay.sampler.recent_items: means nothing while recent_share is 0; wanted a recent_share, or none");
  CHECK(ReplayProblems("{sampler: {independent_draws: true, without_replacement: true}}") ==
        "x.yaml:1: replay.sampler.independent_draws: means nothing without_replacement; wanted one of the two");
  CHECK(ReplayProblems("{remover: {priority_exponent: 2}}") ==
        "x.yaml:1: replay.remover.priority_exponent: means nothing to the remover fifo; wanted kind: prioritized, or "
        "none");
  CHECK(ReplayProblems("{checkpoint_seconds: 5}") ==
        "x.yaml:1: replay.checkpoint_seconds: means nothing with durability none; wanted checkpoint or log, or none");
  CHECK(ReplayProblems("{log_sync: true}") ==
        "x.yaml:1: replay.log_sync: means nothing with durability none; wanted log, or none");
  // Also at their defaults.
  const ReplayOptions defaults;
  for (const std::string& given : {
           absl::StrCat("sampler: {kind: fifo, priority_exponent: ", defaults.table.sampler.priority_exponent, "}"),
           absl::StrCat("sampler: {kind: uniform, uniform_share: 0}"),
           absl::StrCat("sampler: {kind: lifo, recent_share: 0}"),
           absl::StrCat("sampler: {recent_items: ", defaults.table.sampler.recent_items, "}"),
           absl::StrCat("remover: {priority_exponent: ", defaults.table.remover.priority_exponent, "}"),
           absl::StrCat("rate_limiter: {samples_per_insert: 0, error_buffer: 0}"),
           absl::StrCat("checkpoint_seconds: ", defaults.checkpoint_seconds),
           absl::StrCat("log_sync: false"),
       }) {
    INFO(given);
    CHECK_THAT(ReplayProblems("{" + given + "}"), Catch::Contains(": means nothing "));
  }
}

TEST_CASE("A replay section that could never work is refused", "[unit]") {
  CHECK(ReplayProblems("{max_times_sampled: 2, rate_limiter: {samples_per_insert: 3}}") ==
        "x.yaml:1: replay.max_times_sampled: 2 is less than rate_limiter.samples_per_insert, 3, which could never be "
        "reached, so actors and learner would wait for each other");
  CHECK(ReplayProblems("{rate_limiter: {samples_per_insert: 3, min_difference: 3}}") ==
        "x.yaml:1: replay.rate_limiter: has one of min_difference and max_difference; give both or neither");
  CHECK(absl::StrContains(ReplayProblems("{max_items: 3000000000}"), "x.yaml:1: replay.max_items: got "));
  CHECK(ReplayProblems("{compression: [{codec: zstd}]}") ==
        "x.yaml:1: replay.compression[0].column: is missing; wanted a column's name");
}

TEST_CASE("A ratio without bounds is given room for ten batches, or one for each of very many servers", "[unit]") {
  CHECK(testing::ValueOf(Replay("{}")).TableFor(100).rate_limiter.error_buffer == 0);
  CHECK(testing::ValueOf(Replay("{rate_limiter: {samples_per_insert: 4}}")).TableFor(100).rate_limiter.error_buffer ==
        1000);
  CHECK(testing::ValueOf(Replay("{servers: 40, rate_limiter: {samples_per_insert: 4}}"))
            .TableFor(100)
            .rate_limiter.error_buffer == 2080);
  CHECK(testing::ValueOf(Replay("{rate_limiter: {samples_per_insert: 4, error_buffer: 70}}"))
            .TableFor(100)
            .rate_limiter.error_buffer == 70);
  const ReplayOptions bounded =
      testing::ValueOf(Replay("{rate_limiter: {samples_per_insert: 4, min_difference: 0, max_difference: 300}}"));
  CHECK(bounded.TableFor(100).rate_limiter.error_buffer == 0);
  REQUIRE_OK(bounded.TableFor(100).CheckBatchSize(100));
}

// The errors for a section in which one key has this value.
template <class Options>
std::string ProblemsWith(const std::string& key, const std::string& value) {
  YamlNode root = testing::ValueOf(ParseYaml("section: {}\n", "x"));
  root.entries[0].value.entries.push_back({key, {}, {}});
  YamlNode& node = root.entries[0].value.entries[0].value;
  node.kind = YamlNode::Kind::kScalar;
  node.text = value;
  node.quoted = true;
  ConfigErrors errors;
  ConfigReader reader(root, &errors);
  Options options;
  reader.Section("section", &options);
  reader.Finish();
  return std::string(errors.ToStatus().message());
}

TEST_CASE("Devices are cpu, cuda or cuda with a number", "[unit]") {
  for (const char* good : {"cpu", "cuda", "cuda:0", "cuda:15"}) {
    CHECK(ProblemsWith<LearnerOptions>("device", good).empty());
  }
  for (const char* bad : {"", "gpu", "cuda:", "cuda:-1", "cuda:+1", "cuda:1234", "cuda: 1", "CPU"}) {
    INFO(bad);
    const std::string problem = std::string("section.device: got the text \"") + bad + "\"; wanted cpu, cuda or cuda:N";
    CHECK_THAT(ProblemsWith<ActorOptions>("device", bad), Catch::EndsWith(problem));
    CHECK_THAT(ProblemsWith<LearnerOptions>("device", bad), Catch::EndsWith(problem));
  }
}

TEST_CASE("In lock-step period_learner_steps takes the place of period_steps", "[unit]") {
  EvaluationOptions options;
  CHECK(options.StepsInLockStep() == 500);
  options.period_learner_steps = 30;
  CHECK(options.StepsInLockStep() == 30);
  options.enabled = false;
  CHECK(options.StepsInLockStep() == 0);
}

TEST_CASE("A run's name must be good for a folder", "[unit]") {
  CHECK(ProblemsWith<ExperimentOptions>("name", "pole.1").empty());
  for (const char* bad : {"", ".", "..", "a/b", ".hidden", "-x", "a b", "a\n"}) {
    INFO(bad);
    CHECK_THAT(ProblemsWith<ExperimentOptions>("name", bad), Catch::Contains("wanted 1 to 64 of the characters "));
  }
}

}  // namespace
}  // namespace waggle
