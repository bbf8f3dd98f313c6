#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/threads/stop_token.h"

namespace waggle {

// The folders of runs that a user names by a path here, or by the id of an experiment or a group. The files of an id
// are fetched from the hub into a temporary folder, which the destructor removes.
class NamedRuns {
 public:
  // kOne: a word stands for one experiment. kAll: it may stand for a group; members without files are left out.
  enum class Members { kOne, kAll };

  // A word that is a path here stands for it. Any other that may be an id is asked for at `param_server`, HOST:PORT; a
  // word that cannot be an id stays as it is. NOT_FOUND if no hub is given, or it does not know the id; other errors
  // are FetchRun's.
  static absl::StatusOr<std::unique_ptr<NamedRuns>> Find(const std::vector<std::string>& words,
                                                         const std::string& param_server, Members members,
                                                         const StopToken& stop);
  ~NamedRuns();
  NamedRuns(const NamedRuns&) = delete;
  NamedRuns& operator=(const NamedRuns&) = delete;

  const std::vector<std::string>& paths() const { return paths_; }
  // Ids of members that were left out.
  const std::vector<std::string>& left_out() const { return left_out_; }
  // True if files were fetched.
  bool any_fetched() const { return !temporary_.empty(); }

 private:
  NamedRuns() = default;
  absl::Status Add(const std::string& word, const std::string& param_server, Members members, const StopToken& stop);

  std::vector<std::string> paths_;
  std::vector<std::string> left_out_;
  std::string temporary_;  // The temporary folder; empty: there is none.
};

// True if `word` is no path here, so that NamedRuns would ask a hub.
bool NamesExperiment(const std::string& word);

}  // namespace waggle
