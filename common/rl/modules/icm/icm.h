#pragma once

#include "common/rl/modules/intrinsic/definition.h"

namespace waggle {

// The intrinsic curiosity module (Pathak et al. 2017, arXiv 1705.05363): a bonus for steps whose outcome a forward
// model does not yet predict, in features that tell which action was taken.
struct IcmOptions : public NoveltyOptions {};

inline constexpr char kIcmFeatures[] = "icm_features";
inline constexpr char kIcmInverse[] = "icm_inverse";
inline constexpr char kIcmForward[] = "icm_forward";

}  // namespace waggle
