#pragma once

#include <string>
#include <vector>

namespace waggle {

// A file of the web page, compiled into the program: see cmake/EmbedFiles.cmake.
struct WebAsset {
  std::string path;          // "/app.js".
  std::string content_type;  // "text/javascript; charset=utf-8".
  std::string text;
};

const std::vector<WebAsset>& WebAssets();

}  // namespace waggle
