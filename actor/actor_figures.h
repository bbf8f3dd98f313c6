#pragma once

#include <vector>

#include "common/base/metrics/order_figures.h"

namespace waggle {

// The exported figures of an actor and of an evaluator.
std::vector<ExportedFigure> ActorFigures();
std::vector<ExportedFigure> EvaluatorFigures();

}  // namespace waggle
