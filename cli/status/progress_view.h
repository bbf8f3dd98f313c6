#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cli/status/run_facts.h"

namespace waggle {

// The parts of a progress view beside the facts.
struct ProgressContext {
  std::string experiment;
  std::string output_folder;
  std::optional<double> target_return;
  absl::Duration elapsed;  // By the wall clock; decides when the next plain line is due.
  std::string outcome;     // Set once it is decided, even if the hub does not know it: "interrupted". Empty until then.
};

// The live block: one line per stage, each cut to `width` columns, in colour if `color`.
std::vector<std::string> RenderBlock(const RunFacts& facts, const ProgressContext& context, size_t width, bool color);

// The same on one line, for logs.
std::string RenderLine(const RunFacts& facts, const ProgressContext& context);

// "mean 1.0 inserted, 3.0 sampled, 4.0 learned from; max 9.0; 3-4: 90%, 5-8: 10%": policy lags, as far as known.
std::string RenderLag(const RunFacts& facts);

// "evaluation: mean 412.5 of 475 wanted over 20 episodes (210 to 500), after 5200 learner steps".
std::string RenderEvaluation(const v1::Evaluation& evaluation, std::optional<double> target_return);

// Prints progress to the standard output: on a terminal as a block that is redrawn in place, otherwise as one line
// every two seconds. Not thread-safe.
class ProgressPrinter {
 public:
  // Checks the kind of the standard output, and NO_COLOR.
  ProgressPrinter();
  // For tests and other outputs. The file descriptor must outlive this.
  ProgressPrinter(int file_descriptor, bool terminal, bool color);

  // Shows the run's state.
  void Update(const RunFacts& facts, const ProgressContext& context);
  // Shows the last state, even if no line is due.
  void Last(const RunFacts& facts, const ProgressContext& context);
  // Prints a line that stays, above the block.
  void Event(const std::string& line);
  // The outcome that blocks show from now on.
  void SetOutcome(const std::string& outcome);
  // Call this when the terminal's size has changed.
  void Redraw();
  // True if a write failed. For callers whose only output this is.
  bool failed() const { return failed_; }

 private:
  struct Shown {
    RunFacts facts;
    ProgressContext context;
  };
  struct Size {
    size_t columns;
    size_t rows;
  };

  void Write(const std::string& text);
  Size TerminalSize() const;
  // Return the text that removes the block, and the text that draws the current one.
  std::string Erase();
  std::string Draw();

  const int file_;
  bool failed_ = false;
  const bool terminal_;
  const bool color_;
  std::optional<Shown> shown_;
  std::vector<size_t> drawn_;                        // The length of each line of the block on the terminal.
  absl::Duration next_line_ = absl::ZeroDuration();  // Elapsed time at which the next plain line is due.
};

}  // namespace waggle
