#include "cli/status/loop_text.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/human_text.h"

namespace waggle {

std::string NumberOrDash(std::optional<double> value) {
  return value.has_value() ? ShortNumber(*value) : "-";
}

std::string ShareOrDash(std::optional<double> share) {
  return share.has_value() ? absl::StrFormat("%.0f %%", 100 * std::clamp(*share, 0.0, 1.0)) : "-";
}

std::string LoopText(const LoopFigures& loop) {
  std::string text = absl::StrCat("environment ", NumberOrDash(loop.env_steps), " steps/s -> actor ");
  if (loop.actors_push) {
    absl::StrAppend(&text, NumberOrDash(loop.gradients_pushed), " gradients/s -> learner ");
  } else {
    absl::StrAppend(&text, NumberOrDash(loop.items_inserted), " items/s -> replay ", NumberOrDash(loop.items_sampled),
                    " items/s -> learner ");
  }
  absl::StrAppend(&text, NumberOrDash(loop.weights_published), " weights/s -> hub ", NumberOrDash(loop.weights_pulled),
                  " weights/s -> actor");
  return text;
}

}  // namespace waggle
