#pragma once

#include <cstdint>
#include <string>

#include "actor/environments/pictures/picture.h"

namespace waggle {

// A picture for a terminal with colours, at most `columns` characters wide and `lines` lines high; each line ends with
// a line break. A character shows two places, one above the other, by the colours of a half block and its background.
std::string TerminalPicture(const Picture& picture, int64_t columns, int64_t lines);

}  // namespace waggle
