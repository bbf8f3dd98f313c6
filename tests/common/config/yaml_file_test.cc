#include "common/config/yaml_file.h"

#include <cstdio>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.h"

namespace waggle {
namespace {

using ::waggle::testing::ValueOf;

std::string ErrorOf(const std::string& yaml) {
  return std::string(ParseYaml(yaml, "x.yaml").status().message());
}

TEST_CASE("A document keeps its keys' order, lines, quotes and doubles", "[unit]") {
  const YamlNode root = ValueOf(ParseYaml("b: 1\na:\n  - x\n  - 'y'\nb: {}\n", "x.yaml"));
  REQUIRE(root.entries.size() == 3);
  CHECK(root.entries[0].key == "b");
  CHECK(root.entries[1].key == "a");
  CHECK(root.entries[2].position.DebugString() == "x.yaml:5");
  const YamlNode& list = root.Find("a")->value;
  REQUIRE(list.items.size() == 2);
  CHECK(list.items[0].text == "x");
  CHECK_FALSE(list.items[0].quoted);
  CHECK(list.items[1].quoted);
  CHECK(list.items[1].position.line == 4);
  CHECK(root.Find("c") == nullptr);
}

TEST_CASE("Invalid YAML is refused with its line", "[unit]") {
  CHECK(ErrorOf("a:\n  b: [1, 2\n").find("x.yaml:2: not valid YAML: ") == 0);
  const std::string tab = "not valid YAML: got a tab; wanted spaces, as tabs cannot indent";
  CHECK(ErrorOf("a: 1\n\tb: 2\n") == "x.yaml:2: " + tab);
  CHECK(ErrorOf("a:\n  b: 1\n  \tc: 2\n") == "x.yaml:3: " + tab);
  CHECK(ErrorOf("a: 1\nb: [\n\tc: : }\n").find("x.yaml:3: ") == 0);
  CHECK(ErrorOf("a: b: c\n\td: 2\n").find("tab") == std::string::npos);  // The mistake is before it.
  CHECK(ErrorOf("a: b: c\n").find("x.yaml:1: not valid YAML: ") == 0);
  CHECK(ErrorOf("a: 'x\n") == "x.yaml:1: not valid YAML: illegal EOF in scalar");
  CHECK(ErrorOf("a: \"x\nb: 2\n\n") == "x.yaml:2: not valid YAML: illegal EOF in scalar");
  CHECK(ErrorOf(std::string("a: 1\0b: 2", 9)) == "x.yaml: not valid YAML: byte 4 is zero; text is wanted");
}

TEST_CASE("Unsupported YAML is refused, with all problems at once", "[unit]") {
  CHECK(ErrorOf("a: &x 1\nb: *x\nc: !!int 3\n<<: {d: 1}\n? [1]\n: 2\n") ==
        "x.yaml:2: aliases (*name) are not supported; write the value out\n"
        "x.yaml:3: the tag tag:yaml.org,2002:int is not supported; leave it out\n"
        "x.yaml:4: merge keys (<<) are not supported; write the values out\n"
        "x.yaml:5: a key that is not a word is not supported");
  CHECK(ErrorOf("a: 1\n---\nb: 2\n") == "x.yaml:3: a second document begins; one is wanted");
}

TEST_CASE("Input made to exhaust the parser is refused", "[unit]") {
  CHECK(ErrorOf(std::string(100'000, '[')).find("x.yaml:1: not valid YAML: ") == 0);
  CHECK(ErrorOf(std::string(kMaxYamlBytes + 1, '#')) == "x.yaml: 1048577 bytes; at most 1048576 are wanted");
}

TEST_CASE("A file that cannot be read is named", "[unit]") {
  CHECK(ReadYamlFile("/no/such/file.yaml").status().code() == absl::StatusCode::kNotFound);
  CHECK(ReadYamlFile("/no/such/file.yaml").status().message() ==
        "/no/such/file.yaml: cannot open: No such file or directory");
  CHECK_FALSE(ReadYamlFile("/").ok());
  CHECK(ReadYamlFile("/dev/zero").status().message() == "/dev/zero: got more than 1048576 bytes; wanted at most that");
}

TEST_CASE("An override is split at its first equals sign", "[unit]") {
  CHECK(ValueOf(ParseOverride("a.b=c=d")) == std::pair<std::string, std::string>("a.b", "c=d"));
  CHECK(ValueOf(ParseOverride("a=")) == std::pair<std::string, std::string>("a", ""));
  for (const char* text : {"a.b", "=c", ""}) {
    CHECK(ParseOverride(text).status().message() ==
          std::string("got \"") + text + "\"; wanted KEY=VALUE, such as learner.batch_size=256");
  }
}

struct Applied {
  YamlNode root;
  std::string errors;
};

Applied Apply(const std::string& yaml, const std::vector<std::pair<std::string, std::string>>& overrides) {
  Applied applied = {ValueOf(ParseYaml(yaml, "x.yaml")), ""};
  ConfigErrors errors;
  ApplyOverrides(overrides, &applied.root, &errors);
  applied.errors = std::string(errors.ToStatus().message());
  return applied;
}

TEST_CASE("An override replaces a value and its origin", "[unit]") {
  const Applied applied = Apply("a:\n  b: 1\n", {{"a.b", "2"}, {"a.b", "[3, 'x']"}});
  CHECK(applied.errors.empty());
  const YamlNode& b = applied.root.Find("a")->value.Find("b")->value;
  REQUIRE(b.items.size() == 2);
  CHECK(b.items[0].text == "3");
  CHECK(b.items[1].quoted);
  CHECK(b.position.DebugString() == "--set a.b=[3, 'x']");
}

TEST_CASE("An override makes the absent parts of its path", "[unit]") {
  const Applied applied = Apply("", {{"a.b", "2"}, {"a.c", ""}});
  CHECK(applied.errors.empty());
  CHECK(applied.root.Find("a")->value.Find("b")->value.text == "2");
  CHECK(applied.root.Find("a")->value.Find("c")->value.kind == YamlNode::Kind::kNull);
}

TEST_CASE("An override reaches into lists by either notation, and may append", "[unit]") {
  const Applied applied = Apply("a: [{b: 1}]", {{"a.0.b", "2"}, {"a[1].b", "3"}, {"c[0]", "4"}});
  CHECK(applied.errors.empty());
  const YamlNode& a = applied.root.Find("a")->value;
  REQUIRE(a.items.size() == 2);
  CHECK(a.items[0].Find("b")->value.text == "2");
  CHECK(a.items[1].Find("b")->value.text == "3");
  CHECK(applied.root.Find("c")->value.items.at(0).text == "4");
}

TEST_CASE("An override that leads nowhere is reported and changes nothing", "[unit]") {
  const Applied applied =
      Apply("a: {b: 1, c: [1]}",
            {{"a.b.d", "1"}, {"a.c.2", "1"}, {"a.c.x", "1"}, {"a.0", "1"}, {"a..b", "1"}, {"a.n.0.1", "{"}});
  CHECK(applied.errors.find("--set a.b.d=1: a.b.d: cannot set \"d\" inside a single value\n"
                            "--set a.c.2=1: a.c.2: there is no element 2: the list has 1\n"
                            "--set a.c.x=1: a.c.x: cannot set \"x\" inside a list\n"
                            "--set a.0=1: a.0: cannot set \"0\" inside a mapping\n"
                            "--set a..b=1: a..b: a part of the key is empty; wanted KEY=VALUE, such as "
                            "learner.batch_size=256\n"
                            "--set a.n.0.1={: not valid YAML: ") == 0);
  CHECK(applied.root.Find("a")->value.entries.size() == 2);
}

}  // namespace
}  // namespace waggle
