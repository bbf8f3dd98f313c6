#pragma once

#include <fstream>
#include <iterator>
#include <string>

namespace waggle::testing {

// The contents of a file; empty if it does not exist.
inline std::string Contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
}

}  // namespace waggle::testing
