# Writes OUTPUT, a C++ source with the texts of FILES (separated by "|") as param_server/web/assets.h declares them:
#
#   cmake -DOUTPUT=assets.cc "-DFILES=a.html|b.js" -P EmbedFiles.cmake
set(type_html "text/html")
set(type_css "text/css")
set(type_js "text/javascript")
set(type_svg "image/svg+xml")
set(assets "")
string(REPLACE "|" ";" FILES "${FILES}")
foreach(file IN LISTS FILES)
  get_filename_component(name "${file}" NAME)
  get_filename_component(extension "${file}" LAST_EXT)
  string(SUBSTRING "${extension}" 1 -1 extension)
  if(NOT type_${extension})
    message(FATAL_ERROR "${name}: no content type is known for .${extension}")
  endif()
  file(READ "${file}" text)
  string(APPEND assets "      {\"/${name}\", \"${type_${extension}}; charset=utf-8\", R\"waggle(${text})waggle\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "// Written by cmake/EmbedFiles.cmake.
#include \"param_server/web/assets.h\"

namespace waggle {

const std::vector<WebAsset>& WebAssets() {
  static const auto* const assets = new std::vector<WebAsset>{
${assets}  };
  return *assets;
}

}  // namespace waggle
")
