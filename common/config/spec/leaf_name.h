#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace waggle {

// The part of a leaf's name that gives its purpose.
inline constexpr char kObservationRoot[] = "observation";
inline constexpr char kActionRoot[] = "action";
inline constexpr char kRewardRoot[] = "reward";
inline constexpr char kActionMaskRoot[] = "action_mask";

// The parts of a leaf's name, [AGENT/]ROOT[/PATH]: "agent_0/observation/arm/camera" has the agent "agent_0", the root
// "observation" and the path "arm/camera".
struct LeafName {
  std::string agent;  // Empty if agents are not told apart.
  std::string root;   // One of the four above.
  std::string path;   // Empty for a leaf that is the whole of its root.

  // The name again.
  std::string Join() const;

  friend bool operator==(const LeafName& a, const LeafName& b) {
    return a.agent == b.agent && a.root == b.root && a.path == b.path;
  }
};

// INVALID_ARGUMENT for a name of another form.
absl::StatusOr<LeafName> SplitLeafName(absl::string_view name);

}  // namespace waggle
