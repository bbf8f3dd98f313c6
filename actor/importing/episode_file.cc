#include "actor/importing/episode_file.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/tensor/byte_slices.h"
#include "common/replay/file/replay_file.h"

namespace waggle {
namespace {

class EpisodeFile final : public EpisodeSource {
 public:
  EpisodeFile(std::string path, std::unique_ptr<ReplayFileReader> reader)
      : path_(std::move(path)),
        reader_(std::move(reader)),
        columns_(reader_->config().signature),
        environment_(reader_->environment()) {}

  const std::string& name() const override { return path_; }
  const std::vector<ArraySpec>& columns() const override { return columns_; }
  const std::optional<EnvironmentSpec>& environment() const override { return environment_; }

  absl::StatusOr<std::optional<RecordedRows>> Next() override {
    WAGGLE_ASSIGN_OR_RETURN(const std::optional<InsertBlock> block, reader_->Next());
    if (!block.has_value()) {
      return std::optional<RecordedRows>();
    }
    RecordedRows rows;
    for (const ChunkInfo& chunk : block->chunks) {
      if (chunk.stream != 0 || chunk.first_row != next_row_) {
        return absl::InvalidArgumentError(absl::StrCat(path_, ": got row ", chunk.first_row, " of stream ",
                                                       chunk.stream, "; wanted row ", next_row_,
                                                       " of stream 0: a file of recorded episodes has one stream"));
      }
      rows.rows += chunk.rows;
      next_row_ += chunk.rows;
    }
    bytes_ = InOneRun(block->data);
    const char* column = bytes_.get();
    auto left = static_cast<int64_t>(block->data.size());
    for (const ArraySpec& spec : columns_) {
      if (rows.rows > 0 && spec.NumBytes() > left / rows.rows) {
        left = -1;
        break;
      }
      rows.columns.push_back(column);
      column += rows.rows * spec.NumBytes();
      left -= rows.rows * spec.NumBytes();
    }
    if (left != 0) {
      return absl::DataLossError(absl::StrCat(path_, ": a block has ", block->data.size(),
                                              " bytes; wanted as many as its ", rows.rows, " rows have"));
    }
    return rows;
  }

  absl::Status Rewind() override {
    WAGGLE_ASSIGN_OR_RETURN(reader_, ReplayFileReader::Open(path_));
    next_row_ = 0;
    return absl::OkStatus();
  }

 private:
  const std::string path_;
  std::unique_ptr<ReplayFileReader> reader_;
  const std::vector<ArraySpec> columns_;
  const std::optional<EnvironmentSpec> environment_;
  uint64_t next_row_ = 0;
  std::shared_ptr<const char> bytes_;  // The present rows'.
};

}  // namespace

absl::StatusOr<std::unique_ptr<EpisodeSource>> OpenEpisodeFile(const std::string& path) {
  WAGGLE_ASSIGN_OR_RETURN(std::unique_ptr<ReplayFileReader> reader, ReplayFileReader::Open(path));
  if (!reader->config().compression.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": got compressed columns; wanted a file of recorded episodes, which has none"));
  }
  return std::make_unique<EpisodeFile>(path, std::move(reader));
}

}  // namespace waggle
