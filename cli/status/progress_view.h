#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cli/status/run_facts.h"

namespace waggle {

// What a progress view says beside the facts.
struct ProgressContext {
  std::string experiment;
  std::string output_folder;
  std::optional<double> target_return;
  absl::Duration elapsed;  // By the wall clock: when the next plain line is due goes by it.
  std::string outcome;     // Once it is decided, which the hub may not know: "interrupted". Empty until then.
};

// The live block: one line a stage, each cut to `width` columns. Colours only where `color`.
std::vector<std::string> RenderBlock(const RunFacts& facts, const ProgressContext& context, size_t width, bool color);

// The same on one line, for logs.
std::string RenderLine(const RunFacts& facts, const ProgressContext& context);

// "mean 1.0 inserted, 3.0 sampled, 4.0 learned from; max 9.0; 3-4: 90%, 5-8: 10%": of policy lags, as far as known.
std::string RenderLag(const RunFacts& facts);

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
  // The same for the last time, whether a line is due or not.
  void Last(const RunFacts& facts, const ProgressContext& context);
  // Prints a line that stays, above the block.
  void Event(const std::string& line);
  // What blocks tell from now on as the outcome.
  void SetOutcome(const std::string& outcome);
  // To be called when the terminal's size has changed.
  void Redraw();
  // Whether something could not be written, for who tells nothing else.
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
  // The text that takes the block away, and the text that draws it as it should be now.
  std::string Erase();
  std::string Draw();

  const int file_;
  bool failed_ = false;
  const bool terminal_;
  const bool color_;
  std::optional<Shown> shown_;
  std::vector<size_t> drawn_;                        // Of the block that stands there: how long each line is.
  absl::Duration next_line_ = absl::ZeroDuration();  // Elapsed time at which the next plain line is due.
};

}  // namespace waggle
