#pragma once

#include <string>

#include "common/hub/summary/bottleneck.h"

namespace waggle {

// "environment 16.2k steps/s -> actor 16.2k items/s -> replay 259k items/s -> learner 12.0 weights/s -> hub 30.0
// weights/s -> actor". A pure function.
std::string LoopText(const LoopFigures& loop);

// "1.23M", or "-" if it is not known; "12 %".
std::string NumberOrDash(std::optional<double> value);
std::string ShareOrDash(std::optional<double> share);

}  // namespace waggle
