#pragma once

#include <cstdint>
#include <string>

namespace waggle {

// The episodes of an environment that become films.
struct VideoOptions {
  std::string
      folder;  // Made if missing. Each episode becomes a file, episode-0 and so on; existing files are replaced.
  int64_t episodes = 1;  // The first ones that begin.
};

}  // namespace waggle
