#pragma once

#include <cstdint>
#include <string>

namespace waggle {

// Which episodes of an environment become files that show them.
struct VideoOptions {
  std::string folder;  // Made where it is missing. Each episode becomes a file, episode-0 and so on, replaced if there.
  int64_t episodes = 1;  // The first so many that begin.
};

}  // namespace waggle
