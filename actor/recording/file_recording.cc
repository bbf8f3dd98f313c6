#include "actor/recording/file_recording.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "actor/importing/dataset.h"
#include "actor/importing/episode_file.h"
#include "actor/importing/temporary_files.h"
#include "actor/recording/episode_recorder.h"
#include "actor/writing/trajectory_writer.h"
#include "common/base/annotate.h"
#include "common/base/status_macros.h"
#include "common/replay/file/replay_file.h"

namespace waggle {
namespace {

// Appends blocks to a file. Nothing has to be acknowledged.
class FileSink final : public ReplayWriter {
 public:
  explicit FileSink(ReplayFileWriter* file) : file_(file) {}

  absl::Status Append(InsertBlock block, const StopToken& /*stop*/) override { return file_->Append(block); }
  absl::Status Flush(absl::Duration /*timeout*/) override { return absl::OkStatus(); }
  Stats stats() const override { return {}; }

 private:
  ReplayFileWriter* const file_;
};

}  // namespace

absl::StatusOr<EpisodeOutcomes> RecordToFile(const std::string& path, int64_t episodes, ActMode mode,
                                             VectorEnvironment* environment, Policy* policy, const StopToken& stop) {
  const int64_t steps = std::max<int64_t>(1, environment->spec().max_episode_steps);
  WAGGLE_ASSIGN_OR_RETURN(
      const std::unique_ptr<ReplayFileWriter> file,
      ReplayFileWriter::Create(path, RecordedTable(environment->spec()).table,
                               static_cast<uint64_t>(episodes) * static_cast<uint64_t>(steps), &environment->spec()));
  FileSink sink(file.get());
  WAGGLE_ASSIGN_OR_RETURN(EpisodeOutcomes outcomes, RecordEpisodes(episodes, mode, environment, policy, &sink, stop));
  WAGGLE_RETURN_IF_ERROR(file->Finish());
  return outcomes;
}

absl::StatusOr<EpisodeOutcomes> RecordToMinari(const std::string& folder, const std::string& python, int64_t episodes,
                                               ActMode mode, VectorEnvironment* environment, Policy* policy,
                                               const StopToken& stop) {
  WAGGLE_RETURN_IF_ERROR(CheckMinari(environment->spec(), folder, python, stop));  // Before hours of episodes.
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<TemporaryFiles> files, TemporaryFiles::Create());
  const std::string path = files->File("episodes.replay");
  WAGGLE_ASSIGN_OR_RETURN(EpisodeOutcomes outcomes, RecordToFile(path, episodes, mode, environment, policy, stop));
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<EpisodeSource> recorded, OpenEpisodeFile(path));
  WAGGLE_RETURN_IF_ERROR(WriteMinari(recorded.get(), folder, python, stop));
  return outcomes;
}

absl::StatusOr<RecordedCounts> CopyToFile(const std::vector<std::unique_ptr<EpisodeSource>>& sources,
                                          const std::string& path, const StopToken& stop) {
  const std::optional<EnvironmentSpec>& environment = sources.at(0)->environment();
  if (!environment.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(sources[0]->name(), ": does not say what its environment is"));
  }
  RecordedCounts total;
  for (const std::unique_ptr<EpisodeSource>& source : sources) {
    WAGGLE_RETURN_IF_ERROR(Annotate(CheckSource(*source, *environment), source->name()));
    const absl::StatusOr<RecordedCounts> counts = CheckEpisodes(source.get(), *environment, stop);
    WAGGLE_RETURN_IF_ERROR(Annotate(counts.status(), source->name()));
    total.episodes += counts->episodes;
    total.steps += counts->steps;
  }
  TrajectoryWriterOptions options;
  options.lanes = 1;
  options.environment = *environment;
  options.plans = {RecordedTable(*environment)};
  options.chunk_rows = kRecordedChunkRows;
  WAGGLE_ASSIGN_OR_RETURN(
      const std::unique_ptr<ReplayFileWriter> file,
      ReplayFileWriter::Create(path, options.plans[0].table, static_cast<uint64_t>(total.steps), &options.environment));
  FileSink sink(file.get());
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<TrajectoryWriter> writer, TrajectoryWriter::Create(options, &sink));
  for (const std::unique_ptr<EpisodeSource>& source : sources) {
    WAGGLE_RETURN_IF_ERROR(ImportEpisodes(source.get(), *environment, options.lanes, writer.get(), stop));
  }
  WAGGLE_RETURN_IF_ERROR(file->Finish());
  return total;
}

}  // namespace waggle
