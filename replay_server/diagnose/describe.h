#pragma once

#include "replay_server/table/disk_picture.h"
#include "replay_server/table/table.h"
#include "waggle/v1/replay.pb.h"

namespace waggle {

v1::TableInfo Describe(const Table& table);
v1::StorageInfo Describe(const DiskPicture& disk);

}  // namespace waggle
