#pragma once

#include "replay_server/diagnose/explain.h"
#include "waggle/v1/replay.pb.h"

namespace waggle {

v1::TableExplanation ToProto(const TablePicture& picture, const Explanation& explanation);

}  // namespace waggle
