#pragma once

#include <vector>

#include "common/base/metrics/order_figures.h"

namespace waggle {

// The exported figures of a learner.
std::vector<ExportedFigure> LearnerFigures();

}  // namespace waggle
