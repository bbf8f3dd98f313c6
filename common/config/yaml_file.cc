#include "common/config/yaml_file.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <exception>
#include <sstream>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/base/file.h"

namespace waggle {
namespace {

// Builds the tree from the parser's events. The parser's own node type hides what matters here: quotes, aliases and the
// lines of keys.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(const std::string& origin, bool has_lines) : origin_(origin), has_lines_(has_lines) {}

  YamlNode& root() { return root_; }
  ConfigErrors& errors() { return errors_; }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { Leaf(Node(YamlNode::Kind::kNull, mark)); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    errors_.Add(Position(mark), "", "aliases (*name) are not supported; write the value out");
    Leaf(Node(YamlNode::Kind::kNull, mark));
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t, const std::string& value) override {
    RefuseTag(mark, tag);
    YamlNode node = Node(YamlNode::Kind::kScalar, mark);
    node.text = value;
    node.quoted = tag == "!";
    Leaf(std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    RefuseTag(mark, tag);
    open_.push_back({Node(YamlNode::Kind::kList, mark), {}, false});
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t, YAML::EmitterStyle::value) override {
    RefuseTag(mark, tag);
    open_.push_back({Node(YamlNode::Kind::kMapping, mark), {}, false});
  }
  void OnMapEnd() override { Close(); }

 private:
  struct Open {
    YamlNode node;
    YamlEntry entry;  // Mappings: the entry whose value comes next.
    bool has_key = false;
  };

  SourcePosition Position(const YAML::Mark& mark) const { return {origin_, has_lines_ ? mark.line + 1 : 0}; }

  YamlNode Node(YamlNode::Kind kind, const YAML::Mark& mark) const {
    YamlNode node;
    node.kind = kind;
    node.position = Position(mark);
    return node;
  }

  void RefuseTag(const YAML::Mark& mark, const std::string& tag) {
    // "?" and "!" stand for a plain and a quoted scalar without a tag.
    if (!tag.empty() && tag != "?" && tag != "!") {
      errors_.Add(Position(mark), "", absl::StrCat("the tag ", tag, " is not supported; leave it out"));
    }
  }

  void Close() {
    YamlNode node = std::move(open_.back().node);
    open_.pop_back();
    Leaf(std::move(node));
  }

  void Leaf(YamlNode node) {
    if (open_.empty()) {
      // The parser places the null of an empty document after its end.
      if (node.kind != YamlNode::Kind::kNull) {
        root_ = std::move(node);
      }
      return;
    }
    Open& parent = open_.back();
    if (parent.node.kind == YamlNode::Kind::kList) {
      parent.node.items.push_back(std::move(node));
    } else if (!parent.has_key) {
      parent.has_key = true;
      parent.entry = YamlEntry();
      parent.entry.position = node.position;
      if (node.kind != YamlNode::Kind::kScalar) {
        errors_.Add(node.position, "", "a key that is not a word is not supported");
      } else if (node.text == "<<") {
        errors_.Add(node.position, "", "merge keys (<<) are not supported; write the values out");
      }
      parent.entry.key = std::move(node.text);
    } else {
      parent.has_key = false;
      // The parser places the null after "key:" at whatever comes next.
      if (node.kind == YamlNode::Kind::kNull) {
        node.position = parent.entry.position;
      }
      parent.entry.value = std::move(node);
      parent.node.entries.push_back(std::move(parent.entry));
    }
  }

  const std::string origin_;
  const bool has_lines_;
  std::vector<Open> open_;
  YamlNode root_;
  ConfigErrors errors_;
};

// The number, from 1, of the first line that a tab indents, among the first `lines` lines; 0 if there is no such line.
int TabbedLine(const std::string& text, int lines) {
  int number = 0;
  for (const absl::string_view line : absl::StrSplit(text, absl::MaxSplits('\n', lines))) {
    ++number;
    const absl::string_view indent = line.substr(0, line.find_first_not_of(" \t"));
    if (number <= lines && indent.size() < line.size() && absl::StrContains(indent, '\t')) {
      return number;
    }
  }
  return 0;
}

absl::Status ParseInto(const std::string& text, const std::string& origin, TreeBuilder* builder, bool has_lines) {
  try {
    // yaml-cpp 0.7 takes the end of the input for a missing closing quote where white space precedes it, and swallows
    // the rest of the file in silence; without that white space it reports the error.
    std::istringstream input(std::string(absl::StripTrailingAsciiWhitespace(text)));
    YAML::Parser parser(input);
    parser.HandleNextDocument(*builder);
    TreeBuilder second(origin, has_lines);
    if (parser.HandleNextDocument(second)) {
      builder->errors().Add(second.root().position, "", "a second document begins; one is wanted");
    }
    return absl::OkStatus();
  } catch (const YAML::Exception& error) {
    const int line = error.mark.is_null() ? 0 : error.mark.line + 1;
    const int tabbed = TabbedLine(text, line);  // The parser's own words do not name the tab.
    const SourcePosition position = {origin, !has_lines ? 0 : tabbed > 0 ? tabbed : line};
    return absl::InvalidArgumentError(
        absl::StrCat(position.DebugString(),
                     ": not valid YAML: ", tabbed > 0 ? "got a tab; wanted spaces, as tabs cannot indent" : error.msg));
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat(origin, ": not valid YAML: ", error.what()));
  }
}

absl::StatusOr<YamlNode> ParseText(const std::string& text, const std::string& origin, bool has_lines) {
  if (text.size() > kMaxYamlBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(origin, ": ", text.size(), " bytes; at most ", kMaxYamlBytes, " are wanted"));
  }
  // The parser takes a zero byte for the end of its input and would ignore the rest in silence.
  if (const size_t zero = text.find('\0'); zero != std::string::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat(origin, ": not valid YAML: byte ", zero, " is zero; text is wanted"));
  }
  TreeBuilder builder(origin, has_lines);
  builder.root().position = {origin, has_lines ? 1 : 0};
  absl::Status parsed = ParseInto(text, origin, &builder, has_lines);
  if (!parsed.ok()) {
    return parsed;
  }
  parsed = builder.errors().ToStatus();
  if (!parsed.ok()) {
    return parsed;
  }
  return std::move(builder.root());
}

}  // namespace

absl::StatusOr<YamlNode> ParseYaml(const std::string& text, const std::string& origin) {
  return ParseText(text, origin, true);
}

absl::StatusOr<std::string> ReadYamlFile(const std::string& path) {
  absl::StatusOr<std::string> text = ReadSmallFile(path, kMaxYamlBytes);
  if (absl::IsResourceExhausted(text.status())) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": got more than ", kMaxYamlBytes, " bytes; wanted at most that"));
  }
  return text;
}

absl::StatusOr<std::pair<std::string, std::string>> ParseOverride(absl::string_view text) {
  const size_t equals = text.find('=');
  if (equals == absl::string_view::npos || equals == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("got \"", text, "\"; wanted KEY=VALUE, such as learner.batch_size=256"));
  }
  return std::make_pair(std::string(text.substr(0, equals)), std::string(text.substr(equals + 1)));
}

namespace {

bool ParseIndex(const std::string& part, size_t* index) {
  if (part.empty() || part.size() > 6 || part.find_first_not_of("0123456789") != std::string::npos) {
    return false;
  }
  *index = std::stoul(part);
  return true;
}

// The element or entry `part` of `node`, made if it is absent. Null, with `problem` set, if there can be none.
YamlNode* Step(const std::string& part, const SourcePosition& position, YamlNode* node, std::string* problem) {
  size_t index = 0;
  const bool is_index = ParseIndex(part, &index);
  if (node->kind == YamlNode::Kind::kNull) {
    node->kind = is_index ? YamlNode::Kind::kList : YamlNode::Kind::kMapping;
    node->position = position;
  }
  if (node->kind == YamlNode::Kind::kList && is_index) {
    if (index > node->items.size()) {
      *problem = absl::StrCat("there is no element ", index, ": the list has ", node->items.size());
      return nullptr;
    }
    if (index == node->items.size()) {
      node->items.emplace_back();
      node->items.back().position = position;
    }
    return &node->items[index];
  }
  if (node->kind == YamlNode::Kind::kMapping && !is_index) {
    for (YamlEntry& entry : node->entries) {
      if (entry.key == part) {
        return &entry.value;
      }
    }
    node->entries.push_back({part, position, YamlNode()});
    node->entries.back().value.position = position;
    return &node->entries.back().value;
  }
  const char* got = node->kind == YamlNode::Kind::kScalar ? "a single value"
                    : node->kind == YamlNode::Kind::kList ? "a list"
                                                          : "a mapping";
  *problem = absl::StrCat("cannot set \"", part, "\" inside ", got);
  return nullptr;
}

void ApplyOverride(const std::string& path, const std::string& value, const std::string& flag, YamlNode* root,
                   ConfigErrors* errors) {
  const SourcePosition position = {absl::StrCat(flag, path, "=", value), 0};
  absl::StatusOr<YamlNode> parsed = ParseText(value, position.origin, false);
  if (!parsed.ok()) {
    const std::string message(parsed.status().message());
    errors->Add(position, "", message.substr(position.origin.size() + 2));
    return;
  }
  const std::vector<std::string> parts = absl::StrSplit(absl::StrReplaceAll(path, {{"[", "."}, {"]", ""}}), '.');
  YamlNode changed = *root;  // A copy, so that a path that leads nowhere leaves nothing behind.
  YamlNode* node = &changed;
  for (const std::string& part : parts) {
    std::string problem = "a part of the key is empty; wanted KEY=VALUE, such as learner.batch_size=256";
    node = part.empty() ? nullptr : Step(part, position, node, &problem);
    if (node == nullptr) {
      errors->Add(position, path, problem);
      return;
    }
  }
  *node = std::move(*parsed);
  *root = std::move(changed);
}

}  // namespace

void ApplyOverrides(const std::vector<std::pair<std::string, std::string>>& overrides, YamlNode* root,
                    ConfigErrors* errors, const std::string& flag) {
  for (const auto& [path, value] : overrides) {
    ApplyOverride(path, value, flag, root, errors);
  }
}

}  // namespace waggle
