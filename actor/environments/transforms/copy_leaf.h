#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "actor/environments/transforms/environment_transform.h"
#include "common/config/config_visitor.h"

namespace waggle {

// The settings of `copy`.
struct CopySettings {
  std::string observation;           // A leaf's name; empty: the only one.
  std::string as = "untransformed";  // The path of the copy: observation/untransformed.

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const;
};

// Shows an observation leaf a second time, under another name; later transforms change the copy only if they name it.
// The copy is the last observation. A leaf `observation`, which must be the only one, becomes
// `observation/observation`. No row is copied.
class CopyLeaf : public EnvironmentTransform {
 public:
  using Settings = CopySettings;
  static absl::Status Change(const Settings& settings, TransformedSpec* spec);

  CopyLeaf(const Settings& settings, TransformParts parts);

  absl::StatusOr<ReadyLanes> Recv(int64_t at_least, const StopToken& stop) override;

 private:
  size_t copied_ = 0;
  std::array<std::vector<void*>, 2> pointers_;  // They alternate, as in ReadyRows.
  size_t current_ = 0;
};

}  // namespace waggle
