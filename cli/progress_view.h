#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cli/run_facts.h"

namespace waggle {

// What a progress view says beside the facts.
struct ProgressContext {
  std::string experiment;
  std::string output_folder;
  std::optional<double> target_return;
  absl::Duration elapsed;
};

// The live block: one line a stage, each cut to `width` columns. Colours only where `color`.
std::vector<std::string> RenderBlock(const RunFacts& facts, const ProgressContext& context, size_t width, bool color);

// The same on one line, for logs.
std::string RenderLine(const RunFacts& facts, const ProgressContext& context);

// "evaluation: mean 412.5 of 475 wanted over 20 episodes (210 to 500), after 5200 learner steps".
std::string RenderEvaluation(const v1::Evaluation& evaluation, std::optional<double> target_return);

// Prints progress to the standard output: on a terminal as a block that is redrawn in place, otherwise as one line
// every two seconds. Not thread-safe.
class ProgressPrinter {
 public:
  // Looks at what the standard output is, and at NO_COLOR.
  ProgressPrinter();
  // For tests and other outputs: writes to a file descriptor, which outlives this.
  ProgressPrinter(int file_descriptor, bool terminal, bool color);

  // Shows how the run stands.
  void Update(const RunFacts& facts, const ProgressContext& context);
  // Prints a line that stays, above the block.
  void Event(const std::string& line);

 private:
  void Write(const std::string& text) const;
  std::string EraseBlock();

  const int file_;
  const bool terminal_;
  const bool color_;
  std::vector<std::string> block_;                   // As drawn last.
  absl::Duration next_line_ = absl::ZeroDuration();  // Elapsed time at which the next plain line is due.
};

}  // namespace waggle
