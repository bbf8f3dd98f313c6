#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/run/output_folder.h"

// The curves of runs as a picture. A Python script draws them, which lies in share/waggle beside the folder of the
// executables.

namespace waggle {

// The script's exit status where its Python, and that of the system, have no matplotlib.
inline constexpr int kNoPlotter = 3;

// The command that draws the curves of the runs in these folders to the file `out`; where that is empty, the script
// chooses. All curves, or those of the returns alone. NOT_FOUND, saying what to install, where the script or Python is
// missing.
absl::StatusOr<std::vector<std::string>> PlotCommand(const std::string& binary_folder,
                                                     const std::vector<std::string>& runs, const std::string& out,
                                                     bool returns_only);

// Draws those of a run that is over into its folder, and returns in a line what came of it. Kills the drawing where it
// takes longer than `timeout`, or where one of the signals comes that the signalfd `signals` is for; SIGCHLD has to be
// among them. Call from the main thread.
std::string DrawCurves(const std::string& binary_folder, const OutputFolder& folder, int signals,
                       absl::Duration timeout);

}  // namespace waggle
