#pragma once

#include <vector>

#include "common/base/metrics/order_figures.h"
#include "common/base/metrics/prometheus_text.h"
#include "replay_server/storage/journal.h"
#include "replay_server/store/replay_store.h"

namespace waggle {

// The exported figures among a replay server's own (ReplayServer::Start).
std::vector<ExportedFigure> ReplayFigures();

// Writes for how long requests wait, and the state of the disk. `journal` may be null.
void WriteReplayWaits(const ReplayStore& store, const Journal* journal, PrometheusText* text);

}  // namespace waggle
