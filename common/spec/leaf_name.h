#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace waggle {

// What a leaf of an environment is for: the part of its name that says so.
inline constexpr char kObservationRoot[] = "observation";
inline constexpr char kActionRoot[] = "action";
inline constexpr char kRewardRoot[] = "reward";
inline constexpr char kActionMaskRoot[] = "action_mask";

// The parts of a leaf's name, [AGENT/]ROOT[/PATH]: "agent_0/observation/arm/camera" is of agent "agent_0", of root
// "observation" and has the path "arm/camera".
struct LeafName {
  std::string agent;  // Empty where agents are not told apart.
  std::string root;   // One of the four above.
  std::string path;   // Empty for a leaf that is the whole of its root.

  // The name again.
  std::string Join() const;

  friend bool operator==(const LeafName& a, const LeafName& b) {
    return a.agent == b.agent && a.root == b.root && a.path == b.path;
  }
};

// INVALID_ARGUMENT for a name of no such form.
absl::StatusOr<LeafName> SplitLeafName(absl::string_view name);

}  // namespace waggle
