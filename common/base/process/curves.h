#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

// The curves of runs as a picture, and their comparison. Python scripts make them; they are in share/waggle beside the
// folder of the executables.

namespace waggle {

// A script's exit status if neither its Python nor the system's has the package that it needs.
inline constexpr int kNoPlotter = 3;

// The command that draws the curves of the runs in these folders to the file `out`; if that is empty, the script
// chooses. All curves, or only the returns'. NOT_FOUND, with the package to install, if the script or Python is
// missing.
absl::StatusOr<std::vector<std::string>> PlotCommand(const std::string& binary_folder,
                                                     const std::vector<std::string>& runs, const std::string& out,
                                                     bool returns_only);

// The command that compares the settings of these runs: docs/compare.md. NOT_FOUND as above.
absl::StatusOr<std::vector<std::string>> CompareCommand(const std::string& binary_folder,
                                                        const std::vector<std::string>& runs, const std::string& by,
                                                        bool json);

// Draws the curves of a run that is over to curves.png in its folder; the script's output is appended to the file
// `log`. An error says why there are none. Ends the drawing if it takes longer than `timeout`. `wait` is called again
// and again: it waits for the given time or less, and returns true if the drawing must end. Call from a thread that
// outlives the call.
absl::Status DrawCurves(const std::string& binary_folder, const std::string& run_folder, const std::string& log,
                        const std::function<bool(absl::Duration)>& wait, absl::Duration timeout);

}  // namespace waggle
