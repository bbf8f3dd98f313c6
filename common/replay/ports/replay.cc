#include "common/replay/ports/replay.h"

namespace waggle {

const void* SampledBatch::Data(absl::string_view field) const {
  if (layout == nullptr || bytes == nullptr) {
    return nullptr;
  }
  const absl::StatusOr<const BatchField*> found = layout->Find(field);
  return found.ok() ? bytes.get() + (*found)->offset : nullptr;
}

}  // namespace waggle
