#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/threads/mutex.h"
#include "param_server/web/curve.h"

namespace waggle {

struct RunCurvesOptions {
  size_t max_points = 300;              // In a curve.
  size_t max_curves = 250;              // In a run. The first names are kept.
  size_t max_runs = 12;                 // In memory. The one that was read longest ago is forgotten.
  size_t max_bytes = size_t{16} << 20;  // Read in one call, so that a long file does not hold a caller up.
};

// The curves of a run's metrics.csv, which grows: each call reads on where the last one ended. Not thread-safe.
class MetricsFile {
 public:
  MetricsFile(std::string path, const RunCurvesOptions& options) : path_(std::move(path)), options_(options) {}

  // Reads the new rows, at most about `max_bytes` of them. A file that was replaced is read anew. NOT_FOUND if there is
  // none. A row that cannot be read is left out.
  absl::Status ReadOn();
  // True if the last call has reached the end of the file.
  bool complete() const { return complete_; }
  const std::map<std::string, Curve>& curves() const { return curves_; }

 private:
  void Take(absl::string_view row);

  const std::string path_;
  const RunCurvesOptions options_;
  ino_t inode_ = 0;
  int64_t read_ = 0;  // Bytes, up to the end of a row.
  bool complete_ = false;
  std::map<std::string, Curve> curves_;
};

// The curves of several runs. Thread-safe; calls read files.
class RunCurves {
 public:
  explicit RunCurves(const RunCurvesOptions& options = {}) : options_(options) {}

  struct Answer {
    std::map<std::string, std::vector<Curve::Point>> curves;  // Those of the asked names that there are.
    std::vector<std::string> names;                           // All names.
    bool complete = true;                                     // False: ask again, as the file has more rows.
  };
  // The curves of FOLDER/metrics.csv; empty if there is no such file yet. Other errors name the file.
  absl::StatusOr<Answer> Read(const std::string& folder, const std::set<std::string>& names)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Run {
    Run(const std::string& path, const RunCurvesOptions& options) : file(path, options) {}
    Mutex mutex;  // Held while the file is read: calls for one run wait for each other.
    MetricsFile file ABSL_GUARDED_BY(mutex);
  };
  std::shared_ptr<Run> Find(const std::string& folder) ABSL_LOCKS_EXCLUDED(mutex_);

  const RunCurvesOptions options_;
  Mutex mutex_;
  // By folder, the one that was read last first.
  std::list<std::pair<std::string, std::shared_ptr<Run>>> runs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace waggle
