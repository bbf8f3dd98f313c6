#include "common/config/plan/acting_head.h"

#include "common/config/plan/head_kinds.h"

namespace waggle {

const HeadPlan* ActingHead(const NetworkNeed& need, const NetworkPlan& network) {
  const HeadPlan* found = nullptr;
  for (const HeadPlan& head : network.heads) {
    const bool acts = need.acting_head.empty() ? GivesChoicesValues(head.kind) || GivesPolicy(head.kind)
                                               : head.name == need.acting_head;
    if (acts && found != nullptr) {
      return nullptr;
    }
    found = acts ? &head : found;
  }
  return found;
}

}  // namespace waggle
