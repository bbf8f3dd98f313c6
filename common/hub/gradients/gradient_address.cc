#include "common/hub/gradients/gradient_address.h"

#include <vector>

namespace waggle {

std::string GradientAddress(const Assignment& assignment, int64_t reducers, int64_t failed) {
  if (reducers == 0) {
    return assignment.learners.empty() ? std::string() : assignment.learners.front();
  }
  std::vector<std::string> known;
  for (const std::string& address : assignment.reducers) {
    if (!address.empty()) {
      known.push_back(address);
    }
  }
  return known.empty() ? std::string() : known[static_cast<size_t>(assignment.index + failed) % known.size()];
}

}  // namespace waggle
