#pragma once

#include "common/rl/modules/intrinsic/definition.h"

namespace waggle {

// Random network distillation (Burda et al. 2018, arXiv 1810.12894): a bonus for steps to observations whose features,
// of a network that keeps its random weights, another network does not yet predict.
struct RndOptions : public NoveltyOptions {};

inline constexpr char kRndTarget[] = "rnd_target";
inline constexpr char kRndPredictor[] = "rnd_predictor";

}  // namespace waggle
