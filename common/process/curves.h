#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

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

// Draws those of a run that is over to curves.png in its folder; what the script says is appended to the file `log`. An
// error says why there are none. Ends the drawing if it takes longer than `timeout`. `wait` is called again and again:
// it returns after so long, or sooner, and whether the drawing must end. Call from a thread that outlives the call.
absl::Status DrawCurves(const std::string& binary_folder, const std::string& run_folder, const std::string& log,
                        const std::function<bool(absl::Duration)>& wait, absl::Duration timeout);

}  // namespace waggle
