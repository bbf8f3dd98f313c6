#pragma once

#include <string>

#include "actor/evaluation/saved_evaluation.h"

namespace waggle {

// The output of `waggle evaluate`, with a line break at its end.
std::string SavedEvaluationText(const SavedEvaluation& evaluation);
std::string SavedEvaluationJson(const SavedEvaluation& evaluation);

}  // namespace waggle
