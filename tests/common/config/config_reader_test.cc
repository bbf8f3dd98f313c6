#include "common/config/config_reader.h"

#include <string>
#include <utility>
#include <vector>

#include "common/config/yaml_file.h"
#include "tests/common/config/sample_options.h"
#include "tests/support/config_text.h"

namespace waggle {
namespace {

using ::waggle::testing::ReadSection;
using ::waggle::testing::TrainOptions;

struct Outcome {
  TrainOptions options;
  std::string errors;
};

Outcome Read(const std::string& yaml) {
  Outcome outcome;
  outcome.errors = std::string(ReadSection("train", yaml, &outcome.options).message());
  return outcome;
}

TEST_CASE("Values are read", "[unit]") {
  const Outcome outcome = Read(
      "# A comment.\n"
      "train:\n"
      "  batch_size: +256\n"
      "  learning_rate: 1\n"
      "  target: 1.5e2\n"
      "  clip: False\n"
      "  name: '12'\n"
      "  mode: \"vanilla\"\n"
      "  layers:\n"
      "    - type: conv\n"
      "    - {units: [1, 2]}\n");
  CHECK(outcome.errors.empty());
  CHECK(outcome.options.batch_size == 256);
  CHECK(outcome.options.learning_rate == 1.0);
  CHECK(outcome.options.target == 150.0);
  CHECK_FALSE(outcome.options.clip);
  CHECK(outcome.options.name == "12");
  CHECK(outcome.options.mode == "vanilla");
  REQUIRE(outcome.options.layers.size() == 2);
  CHECK(outcome.options.layers[0].type == "conv");
  CHECK(outcome.options.layers[1].units == std::vector<int64_t>{1, 2});
}

TEST_CASE("A whole number may be written with an exponent", "[unit]") {
  const Outcome outcome = Read("train: {mode: double, batch_size: 1.5e3, layers: [{units: [1e3, 2.0]}]}");
  CHECK(outcome.errors.empty());
  CHECK(outcome.options.batch_size == 1500);
  REQUIRE(outcome.options.layers.size() == 1);
  CHECK(outcome.options.layers[0].units == std::vector<int64_t>{1000, 2});
}

struct WideOptions {
  int64_t seed = 0;
  std::string color = "red";
  void Visit(ConfigVisitor& visitor) {
    visitor.Int("seed", &seed, In(0, INT64_MAX));
    visitor.CheckedString(
        "color", &color, [](const std::string& text) { return text == "red" || text == "blue"; }, "red or blue");
  }
  static absl::Status Validate() { return absl::OkStatus(); }
};

std::string ReadWide(const std::string& yaml, WideOptions* options) {
  return std::string(ReadSection("wide", "wide: {" + yaml + "}", options).message());
}

TEST_CASE("Numbers are read to the last digit, and a message names the largest range", "[unit]") {
  for (const int64_t seed : {int64_t{9007199254740993}, int64_t{INT64_MAX}}) {
    WideOptions options;
    CHECK(ReadWide("seed: " + std::to_string(seed), &options).empty());
    CHECK(options.seed == seed);
  }
  WideOptions options;
  CHECK(ReadWide("seed: 9223372036854775808", &options) ==
        "x.yaml:1: wide.seed: got the number 9223372036854775808; wanted an integer in [0, 9223372036854775807]");
}

TEST_CASE("Text that can be checked by itself is checked, whatever else is wrong", "[unit]") {
  WideOptions options;
  CHECK(ReadWide("color: blue", &options).empty());
  CHECK(options.color == "blue");
  CHECK(ReadWide("color: rde, seed: -1, colour: red", &options) ==
        "x.yaml:1: wide.seed: got the number -1; wanted an integer in [0, 9223372036854775807]\n"
        "x.yaml:1: wide.color: got \"rde\"; wanted red or blue\n"
        "x.yaml:1: wide.colour: unknown key; did you mean \"color\"?");
  CHECK(options.color == "blue");
  CHECK(ReadWide("color: 3", &options) ==
        "x.yaml:1: wide.color: got the number 3; wanted text; put it in quotes if it is meant");
}

TEST_CASE("An error in a file names the place, the value and the wanted values", "[unit]") {
  struct Case {
    std::string yaml;
    std::string errors;
  };
  const std::string m = "train:\n  mode: double\n";
  const std::vector<Case> cases = {
      {m + "  batch_size: 3.7\n", "x.yaml:3: train.batch_size: got the number 3.7; wanted an integer in [1, 4096]"},
      {m + "  batch_size: \"128\"\n",
       "x.yaml:3: train.batch_size: got the text \"128\"; wanted an integer in [1, 4096]"},
      {m + "  batch_size: 0x10\n", "x.yaml:3: train.batch_size: got \"0x10\"; wanted an integer in [1, 4096]"},
      {m + "  batch_size: 99999999999999999999\n",
       "x.yaml:3: train.batch_size: got the number 99999999999999999999; wanted an integer in [1, 4096]"},
      {m + "  batch_size:\n", "x.yaml:3: train.batch_size: got nothing; wanted an integer in [1, 4096]"},
      {m + "  batch_size: [1]\n", "x.yaml:3: train.batch_size: got a list; wanted an integer in [1, 4096]"},
      {m + "  learning_rate: .nan\n", "x.yaml:3: train.learning_rate: got the number .nan; wanted a number in [0, 1]"},
      {m + "  learning_rate: 1e999\n",
       "x.yaml:3: train.learning_rate: got the number 1e999; wanted a number in [0, 1]"},
      {m + "  target: {a: 1}\n", "x.yaml:3: train.target: got a mapping; wanted a number in [-1000000000, 1000000000]"},
      {m + "  clip: yes\n", "x.yaml:3: train.clip: got \"yes\"; wanted true or false"},
      {m + "  clip: \"true\"\n", "x.yaml:3: train.clip: got the text \"true\"; wanted true or false"},
      {m + "  name: 1.10\n", "x.yaml:3: train.name: got the number 1.10; wanted text; put it in quotes if it is meant"},
      {m + "  name: null\n", "x.yaml:3: train.name: got nothing; wanted text"},
      {"train:\n  mode: doubel\n",
       "x.yaml:2: train.mode: got \"doubel\"; wanted one of vanilla, double; did you mean \"double\"?"},
      {"{}", "x.yaml:1: train.mode: is missing; wanted one of vanilla, double"},
      {m + "  layers:\n    - mlp\n", "x.yaml:4: train.layers[0]: got \"mlp\"; wanted a mapping of keys"},
      {m + "  layers:\n    - units: [64, x]\n",
       "x.yaml:4: train.layers[0].units[1]: got \"x\"; wanted an integer in [1, 4096]"},
      {m + "  layers:\n    - units: 64\n",
       "x.yaml:4: train.layers[0].units: got the number 64; wanted a list, such as [64, 64], each an integer in [1, "
       "4096]"},
      {m + "  layers:\n    - type: mlp\n    - typ: mlp\n",
       "x.yaml:5: train.layers[1].typ: unknown key; did you mean \"type\"?"},
      {m + "  layers:\n    - {}\n    - units: []\n", "x.yaml:5: train.layers[1].units: at least one is wanted"},
      {m + "  zzz: 1\n",
       "x.yaml:3: train.zzz: unknown key; known: batch_size, learning_rate, target, clip, name, mode, layers"},
      {m + "trian: {}\n", "x.yaml:3: trian: unknown key; did you mean \"train\"?"},
      {m + "train: {}\n", "x.yaml:3: train: given twice; first at x.yaml:1"},
      {"train: 3\n", "x.yaml:1: train: got the number 3; wanted a mapping of keys"},
      {"train:\n", "x.yaml:1: train: got nothing; wanted a mapping of keys"},
      {m + "  name: " + std::string(80, 'x') + "\n  clip: " + std::string(80, 'x') + "\n",
       "x.yaml:4: train.clip: got \"" + std::string(57, 'x') + "...\"; wanted true or false"},
  };
  for (const Case& one : cases) {
    INFO(one.yaml);
    CHECK(Read(one.yaml).errors == one.errors);
  }
}

// Words without a space.
struct Words {
  std::vector<std::string> words = {"default"};
  void Visit(ConfigVisitor& visitor) {
    visitor.TextList(
        "words", &words, [](const std::string& word) { return word.find(' ') == std::string::npos; }, "a word");
  }
  absl::Status Validate() const { return absl::OkStatus(); }
};

std::pair<Words, std::string> ReadWords(const std::string& yaml) {
  Words words;
  const absl::Status read = testing::ReadFields(yaml, &words);
  return {words, std::string(read.message())};
}

TEST_CASE("A list of texts is read whole, and a wrong element is named", "[unit]") {
  CHECK(ReadWords("words: [a, \"b,c\", 'd']").first.words == std::vector<std::string>{"a", "b,c", "d"});
  CHECK(ReadWords("words: []").first.words.empty());
  CHECK(ReadWords("{}").first.words == std::vector<std::string>{"default"});
  CHECK(ReadWords("words: a").second == "x.yaml:1: words: got \"a\"; wanted a list, each a word");
  CHECK(ReadWords("words: [a, 7]").second == "x.yaml:1: words[1]: got the number 7; wanted a word");
  CHECK(ReadWords("words: [a, [b]]").second == "x.yaml:1: words[1]: got a list; wanted a word");
  CHECK(ReadWords("words: [\"b c\"]").second == "x.yaml:1: words[0]: got the text \"b c\"; wanted a word");
  Words written;
  written.words = {"a", "b,[c]", "", "true", "\"#"};
  CHECK(ReadWords(testing::Printed(written)).first.words == written.words);
}

// Real numbers of at most 1.
struct Numbers {
  std::vector<double> numbers = {0.5};
  void Visit(ConfigVisitor& visitor) { visitor.DoubleList("numbers", &numbers, In(-1, 1)); }
  static absl::Status Validate() { return absl::OkStatus(); }
};

TEST_CASE("A list of real numbers is read whole, and a wrong element is named", "[unit]") {
  const auto read = [](const std::string& yaml) {
    Numbers numbers;
    const absl::Status status = testing::ReadFields(yaml, &numbers);
    return std::make_pair(numbers.numbers, std::string(status.message()));
  };
  CHECK(read("numbers: [1, -0.25]").first == std::vector<double>{1, -0.25});
  CHECK(read("{}").first == std::vector<double>{0.5});
  CHECK(read("numbers: 1").second == "x.yaml:1: numbers: got the number 1; wanted a list, each a number in [-1, 1]");
  CHECK(read("numbers: [0, 2]").second == "x.yaml:1: numbers[1]: got the number 2; wanted a number in [-1, 1]");
  Numbers written;
  written.numbers = {0.1, -1};
  CHECK(read(testing::Printed(written)).first == written.numbers);
}

TEST_CASE("A document that is not a mapping is refused", "[unit]") {
  for (const char* yaml : {"", "# Only a comment.\n", "---\n", "null"}) {
    INFO(yaml);
    CHECK(Read(yaml).errors.find("x.yaml:1: got nothing; wanted a mapping of sections") == 0);
  }
  CHECK(Read("hello").errors.find("x.yaml:1: got \"hello\"; wanted a mapping of sections") == 0);
  CHECK(Read("- 1").errors.find("x.yaml:1: got a list; wanted a mapping of sections") == 0);
}

TEST_CASE("All errors of a file are reported at once, in its order", "[unit]") {
  CHECK(Read("tarin: {}\n"
             "train:\n"
             "  bach_size: 3\n"
             "  clip: maybe\n"
             "  batch_size: 0\n"
             "  clip: true\n"
             "  mode: triple\n")
            .errors ==
        "x.yaml:1: tarin: unknown key; did you mean \"train\"?\n"
        "x.yaml:3: train.bach_size: unknown key; did you mean \"batch_size\"?\n"
        "x.yaml:4: train.clip: got \"maybe\"; wanted true or false\n"
        "x.yaml:5: train.batch_size: got the number 0; wanted an integer in [1, 4096]\n"
        "x.yaml:6: train.clip: given twice; first at x.yaml:4\n"
        "x.yaml:7: train.mode: got \"triple\"; wanted one of vanilla, double");
}

TEST_CASE("A problem that Validate finds is reported for each line of its message", "[unit]") {
  CHECK(Read("train:\n  mode: double\n  name: noclip\n  batch_size: 7\n").errors ==
        "x.yaml:1: train: clip and name contradict each other\n"
        "x.yaml:4: train.batch_size: 7 is odd; wanted an even number");
}

struct OpenOptions {
  std::string name = "x";
  void Visit(ConfigVisitor& visitor) {
    visitor.String("name", &name);
    visitor.AllowOtherKeys();
  }
  absl::Status Validate() const { return absl::OkStatus(); }
};

TEST_CASE("A section that allows other keys takes each only once", "[unit]") {
  OpenOptions options;
  CHECK(ReadSection("open", "open:\n  a: 1\n  b: 2\n  b: 3\n", &options).message() ==
        "x.yaml:4: open.b: given twice; first at x.yaml:3");
}

TEST_CASE("A problem with a path is reported at the nearest place that the file has", "[unit]") {
  const YamlNode root = testing::ValueOf(ParseYaml("a:\n  b: 1\n  c:\n    - x: 1\n    - y: 2\n", "x.yaml"));
  ConfigErrors errors;
  ConfigReader reader(root, &errors);
  reader.Report("a.b", "one");
  reader.Report("a.c[1].y", "two");
  reader.Report("a.z", "three");
  reader.Report("q", "four");
  CHECK(errors.ToStatus().message() ==
        "x.yaml:1: a.z: three\nx.yaml:1: q: four\nx.yaml:2: a.b: one\n"
        "x.yaml:5: a.c[1].y: two");
}

// Sections in a section; the outer one checks the inner ones.
struct Inner {
  int64_t size = 1;

  void Visit(ConfigVisitor& visitor) { visitor.Int("size", &size, In(0, 100)); }
  static absl::Status Validate() { return absl::OkStatus(); }
};
struct Outer {
  Inner inner;

  void Visit(ConfigVisitor& visitor) { visitor.Section("inner", &inner); }
  absl::Status Validate() const {
    return inner.size < 10 ? absl::OkStatus() : absl::InvalidArgumentError("inner.size: is 10 or more");
  }
};

std::string OuterErrors(const std::string& yaml, const std::vector<std::pair<std::string, std::string>>& overrides) {
  YamlNode root = testing::ValueOf(ParseYaml(yaml, "x.yaml"));
  ConfigErrors errors;
  ApplyOverrides(overrides, &root, &errors);
  Outer outer;
  ConfigReader reader(root, &errors);
  reader.Section("outer", &outer);
  reader.Finish();
  return std::string(errors.ToStatus().message());
}

TEST_CASE("An outer section's error about an inner field is reported at that field", "[unit]") {
  CHECK(OuterErrors("outer:\n  inner:\n    size: 10\n", {}) == "x.yaml:3: outer.inner.size: is 10 or more");
  CHECK(OuterErrors("outer:\n  inner:\n    size: 1\n", {{"outer.inner.size", "11"}}) ==
        "--set outer.inner.size=11: outer.inner.size: is 10 or more");
}

TEST_CASE("An unknown key is answered with the inner section that has it", "[unit]") {
  CHECK(OuterErrors("outer:\n  size: 3\n", {}) == "x.yaml:2: outer.size: unknown key; did you mean \"inner.size\"?");
}

struct Sampler {
  std::string kind = "fifo";
  double exponent = 0.6;

  void Visit(ConfigVisitor& visitor) {
    visitor.Choice("kind", &kind, {"fifo", "prioritized"});
    if (visitor.Applies("exponent", kind == "prioritized", "means nothing to fifo; wanted none")) {
      visitor.Double("exponent", &exponent, In(0, 1));
    }
  }
  absl::Status Validate() const { return absl::OkStatus(); }
};

TEST_CASE("A choice may be a word that YAML takes for something else", "[unit]") {
  struct Switch {
    std::string vector = "auto";
    void Visit(ConfigVisitor& visitor) { visitor.Choice("vector", &vector, {"auto", "true", "false"}); }
    absl::Status Validate() const { return absl::OkStatus(); }
  };
  const auto read = [](const std::string& yaml) {
    Switch given;
    const absl::Status status = testing::ReadFields(yaml, &given);
    return status.ok() ? given.vector : std::string(status.message());
  };
  CHECK(read("vector: true") == "true");
  CHECK(read("vector: 'false'") == "false");
  CHECK_THAT(read("vector: 1"), Catch::Contains("vector: got the number 1; wanted one of auto, true, false"));
}

TEST_CASE("A key that means nothing beside the others is refused whatever its value, and not printed", "[unit]") {
  const auto read = [](const std::string& yaml, Sampler* sampler) {
    return std::string(ReadSection("sampler", yaml, sampler).message());
  };
  Sampler sampler;
  for (const char* value : {"0.6", "0.7", "much", "null"}) {
    CHECK(read(std::string("sampler:\n  exponent: ") + value, &sampler) ==
          "x.yaml:2: sampler.exponent: means nothing to fifo; wanted none");
  }
  CHECK(testing::Printed(sampler) == "kind: fifo\n");
  CHECK(read("sampler: {kind: prioritized, exponent: 0.5}", &sampler).empty());
  CHECK(sampler.exponent == 0.5);
  // The choice beside which it would have a meaning may be misspelt.
  CHECK(read("sampler: {kind: prioritised, exponent: 0.5}", &sampler).find("exponent") == std::string::npos);
  // Keys that an earlier version has printed are passed over.
  Sampler stored;
  const YamlNode root = testing::ValueOf(ParseYaml("sampler: {exponent: 0.7, exponnet: 1}", "x.yaml"));
  ConfigErrors errors;
  ConfigReader reader(root, &errors, KeysWithoutMeaning::kPassedOver);
  reader.Section("sampler", &stored);
  CHECK(stored.exponent == 0.6);
  CHECK(errors.ToStatus().message() == "x.yaml:1: sampler.exponnet: unknown key; did you mean \"exponent\"?");
  CHECK(testing::Printed(sampler) == "kind: prioritized\nexponent: 0.5\n");
}

TEST_CASE("a key's earlier name is refused with the present name, and is never suggested", "[unit]") {
  struct Options {
    double rate = 0;
    void Visit(ConfigVisitor& visitor) {
      visitor.Double("target_rate", &rate, In(0, 1));
      visitor.Renamed("rate", "target_rate");
    }
    absl::Status Validate() const { return absl::OkStatus(); }
  };
  const auto errors_of = [](const std::string& yaml) {
    Options options;
    return std::string(ReadSection("train", yaml, &options).message());
  };
  CHECK(errors_of("train: {target_rate: 0.5}").empty());
  CHECK(errors_of("train: {rate: 0.5}") == "x.yaml:1: train.rate: unknown key; it is now called \"target_rate\"");
  CHECK_THAT(errors_of("train: {rte: 0.5}"), !Catch::Contains("\"rate\""));
}

TEST_CASE("An absent optional section does not need its required keys", "[unit]") {
  const auto errors_of = [](const std::string& yaml) {
    TrainOptions options;  // Its mode is required.
    return std::string(testing::ReadYaml(yaml, [&](ConfigReader& reader) {
                         if (reader.IsGiven("train", false)) {
                           reader.Section("train", &options);
                         }
                       }).message());
  };
  CHECK(errors_of("{}").empty());
  CHECK_THAT(errors_of("train: {clip: true}"), Catch::Contains("mode"));
}

}  // namespace
}  // namespace waggle
