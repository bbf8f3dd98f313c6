#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "actor/importing/episode_source.h"
#include "common/base/threads/stop_token.h"
#include "common/config/spec/environment_spec.h"

namespace waggle {

struct DatasetOptions {
  // A folder of Minari, also with "minari:" before it, or an .npz or .hdf5 file with D4RL's arrays.
  std::string path;
  std::string python = "python3";  // An interpreter with gymnasium, and h5py for HDF5: a path, or a name in PATH.
  bool drop_last = false;          // Leaves out the last episode if it has no end.
};

// True if a name is that of a data set of another library, not of a replay file.
bool IsDataset(const std::string& name);

// Opens a data set. Python converts it to a file without a name among temporary files, which has all of its rows; this
// waits for it. INVALID_ARGUMENT, with Python's message, if it cannot be converted; CANCELLED after a stop.
absl::StatusOr<std::unique_ptr<EpisodeSource>> OpenDataset(const DatasetOptions& options, const StopToken& stop);

// Writes all episodes of a source to a new folder in Minari's layout, and waits for Python. `python` as above.
// INVALID_ARGUMENT if the source does not say what its environment is, and, with Python's message, if Minari cannot
// hold the episodes or the folder is there; CANCELLED after a stop. The folder appears once it is whole; nothing is
// left behind after an error.
absl::Status WriteMinari(EpisodeSource* source, const std::string& folder, const std::string& python,
                         const StopToken& stop);

// OK if WriteMinari can write this environment's episodes to the folder; its errors otherwise.
absl::Status CheckMinari(const EnvironmentSpec& environment, const std::string& folder, const std::string& python,
                         const StopToken& stop);

// The folder of "minari:FOLDER"; empty for other names.
std::string MinariFolder(const std::string& name);

// Opens a data set or a replay file. Errors as of OpenDataset and OpenEpisodeFile.
absl::StatusOr<std::unique_ptr<EpisodeSource>> OpenEpisodes(const DatasetOptions& options, const StopToken& stop);

}  // namespace waggle
