#pragma once

#include <fstream>
#include <iterator>
#include <string>

namespace waggle::testing {

// All of a file; empty if there is none.
inline std::string Contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
}

}  // namespace waggle::testing
