#include "common/config/spec/leaf_name.h"

#include <algorithm>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace waggle {
namespace {

bool IsRoot(absl::string_view part) {
  return part == kObservationRoot || part == kActionRoot || part == kRewardRoot || part == kActionMaskRoot;
}

}  // namespace

std::string LeafName::Join() const {
  return absl::StrCat(agent, agent.empty() ? "" : "/", root, path.empty() ? "" : "/", path);
}

absl::StatusOr<LeafName> SplitLeafName(absl::string_view name) {
  const std::vector<absl::string_view> parts = absl::StrSplit(name, '/');
  const size_t root = IsRoot(parts[0]) ? 0 : 1;
  if (root >= parts.size() || !IsRoot(parts[root]) || std::find(parts.begin(), parts.end(), "") != parts.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a leaf is named \"", absl::CHexEscape(name),
                     "\"; wanted [AGENT/]ROOT[/PATH] with ROOT one of observation, action, reward, action_mask"));
  }
  LeafName split;
  split.agent = std::string(root == 0 ? "" : parts[0]);
  split.root = std::string(parts[root]);
  split.path = absl::StrJoin(parts.begin() + static_cast<std::ptrdiff_t>(root) + 1, parts.end(), "/");
  return split;
}

}  // namespace waggle
