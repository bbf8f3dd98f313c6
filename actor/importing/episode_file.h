#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "actor/importing/episode_source.h"

namespace waggle {

// Opens a replay file of recorded episodes, as `waggle record` and `waggle import` write it. Errors as of
// ReplayFileReader::Open; INVALID_ARGUMENT, when read, if its rows are not one stream.
absl::StatusOr<std::unique_ptr<EpisodeSource>> OpenEpisodeFile(const std::string& path);

}  // namespace waggle
