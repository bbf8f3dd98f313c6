#pragma once

#include <string>

#include "actor/evaluation/saved_evaluation.h"

namespace waggle {

// What `waggle evaluate` prints, with the line break at its end.
std::string SavedEvaluationText(const SavedEvaluation& evaluation);
std::string SavedEvaluationJson(const SavedEvaluation& evaluation);

}  // namespace waggle
