#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace waggle {

// The place at which a piece of configuration was written.
struct SourcePosition {
  std::string origin;  // A file's name, or "--set a.b=c".
  int line = 0;        // From 1; 0 if the origin has no lines.

  // "configs/x.yaml:12".
  std::string DebugString() const { return line > 0 ? absl::StrCat(origin, ":", line) : origin; }
};

struct YamlEntry;

// A YAML document as it was written: nothing is interpreted, and keys that are given twice are there twice. A value;
// copies are deep.
struct YamlNode {
  enum class Kind { kNull, kScalar, kList, kMapping };
  Kind kind = Kind::kNull;
  SourcePosition position;
  std::string text;                // kScalar.
  bool quoted = false;             // kScalar: in quotes or a block, so text whatever it looks like.
  std::vector<YamlNode> items;     // kList.
  std::vector<YamlEntry> entries;  // kMapping, in the order of the file.

  // The first entry with this key, or null.
  const YamlEntry* Find(const std::string& key) const;
};

struct YamlEntry {
  std::string key;
  SourcePosition position;  // The key's.
  YamlNode value;
};

inline const YamlEntry* YamlNode::Find(const std::string& key) const {
  for (const YamlEntry& entry : entries) {
    if (entry.key == key) {
      return &entry;
    }
  }
  return nullptr;
}

}  // namespace waggle
