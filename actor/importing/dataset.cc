#include "actor/importing/dataset.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "actor/environments/external/external_spec.h"
#include "actor/environments/open_environment.h"
#include "actor/importing/episode_file.h"
#include "actor/importing/temporary_files.h"
#include "actor/writing/trajectory_writer.h"
#include "common/base/annotate.h"
#include "common/base/process/child_process.h"
#include "common/base/process/find_program.h"
#include "common/base/status_macros.h"
#include "common/base/stopwatch.h"
#include "common/base/tensor/dtype.h"

namespace waggle {
namespace {

constexpr char kMinari[] = "minari:";
constexpr int64_t kMostBlockRows = 4096;
constexpr absl::Duration kPollEvery = absl::Milliseconds(20);
constexpr absl::Duration kLongestCleanUp = absl::Seconds(5);

// The rows that Python has written: see _episodes.py.
class ConvertedEpisodes final : public EpisodeSource {
 public:
  ConvertedEpisodes(std::string name, std::ifstream file) : name_(std::move(name)), file_(std::move(file)) {}

  absl::Status ReadHeader() {
    std::string line;
    std::getline(file_, line);
    const nlohmann::json header = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!file_ || !header.is_object() || !header.contains("name") || !header["name"].is_string() ||
        !header.contains("spec")) {
      return absl::InternalError("its conversion has no header");
    }
    WAGGLE_ASSIGN_OR_RETURN(const ExternalSpec spec,
                            ParseExternalSpec(header["spec"].dump(), header["name"].get<std::string>()));
    environment_ = spec.environment;
    columns_ = StreamColumns(*environment_, {});
    begin_ = file_.tellg();
    return absl::OkStatus();
  }

  const std::string& name() const override { return name_; }
  const std::vector<ArraySpec>& columns() const override { return columns_; }
  const std::optional<EnvironmentSpec>& environment() const override { return environment_; }

  absl::StatusOr<std::optional<RecordedRows>> Next() override {
    RecordedRows rows;
    file_.read(reinterpret_cast<char*>(&rows.rows), sizeof(rows.rows));
    if (!file_ || rows.rows < 0 || rows.rows > kMostBlockRows) {
      return absl::InternalError(absl::StrCat(name_, ": its conversion has no end"));
    }
    if (rows.rows == 0) {
      return std::optional<RecordedRows>();
    }
    arrays_.resize(columns_.size());
    for (size_t i = 0; i < columns_.size(); ++i) {
      arrays_[i].resize(static_cast<size_t>(rows.rows * columns_[i].NumBytes()));
      file_.read(arrays_[i].data(), static_cast<std::streamsize>(arrays_[i].size()));
      rows.columns.push_back(arrays_[i].data());
    }
    if (!file_) {
      return absl::InternalError(absl::StrCat(name_, ": its conversion was cut off"));
    }
    return rows;
  }

  absl::Status Rewind() override {
    file_.clear();
    file_.seekg(begin_);
    return file_ ? absl::OkStatus() : absl::InternalError(absl::StrCat(name_, ": its conversion cannot be read again"));
  }

 private:
  const std::string name_;
  std::ifstream file_;
  std::ifstream::pos_type begin_;
  std::vector<ArraySpec> columns_;
  std::optional<EnvironmentSpec> environment_;
  std::vector<std::string> arrays_;
};

nlohmann::json BoundsJson(const std::vector<double>& bounds) {
  nlohmann::json json = nlohmann::json::array();
  for (const double bound : bounds) {
    json.push_back(std::isfinite(bound) ? nlohmann::json(bound) : nlohmann::json(bound > 0 ? "inf" : "-inf"));
  }
  return json;
}

nlohmann::json LeavesJson(const std::vector<SpaceLeaf>& leaves) {
  nlohmann::json json = nlohmann::json::array();
  for (const SpaceLeaf& leaf : leaves) {
    json.push_back({{"name", leaf.array.name},
                    {"kind", Name(leaf.kind)},
                    {"dtype", std::string(DTypeName(leaf.array.dtype))},
                    {"shape", leaf.array.shape},
                    {"num_values", leaf.num_values},
                    {"low", BoundsJson(leaf.low)},
                    {"high", BoundsJson(leaf.high)}});
  }
  return json;
}

// The rows as ConvertedEpisodes reads them; none without a source.
absl::Status WriteRows(EpisodeSource* source, const EnvironmentSpec& environment, const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  nlohmann::json rewards = nlohmann::json::array();
  for (const ArraySpec& reward : environment.rewards) {
    rewards.push_back({{"name", reward.name}, {"shape", reward.shape}});
  }
  const nlohmann::json spec = {{"observations", LeavesJson(environment.observations)},
                               {"actions", LeavesJson(environment.actions)},
                               {"rewards", rewards},
                               {"max_episode_steps", environment.max_episode_steps}};
  file << nlohmann::json({{"name", environment.name}, {"spec", spec}}).dump() << "\n";
  const auto write_count = [&file](int64_t rows) { file.write(reinterpret_cast<const char*>(&rows), sizeof(rows)); };
  while (true) {
    std::optional<RecordedRows> rows;
    if (source != nullptr) {
      WAGGLE_ASSIGN_OR_RETURN(rows, source->Next());
    }
    write_count(rows.has_value() ? rows->rows : 0);
    if (!rows.has_value()) {
      file.close();
      return file ? absl::OkStatus() : absl::UnavailableError(absl::StrCat(path, ": cannot be written"));
    }
    for (const ArraySpec& column : StreamColumns(environment, {})) {
      const auto found = std::find(source->columns().begin(), source->columns().end(), column);
      file.write(rows->columns[static_cast<size_t>(found - source->columns().begin())], rows->rows * column.NumBytes());
    }
  }
}

// Runs Python with these arguments until it ends. INVALID_ARGUMENT with what it says if it fails.
absl::Status RunPython(const std::string& name, const std::vector<std::string>& arguments, const TemporaryFiles& files,
                       const StopToken& stop) {
  absl::StatusOr<std::string> python = FindProgram(name);
  if (!python.ok()) {
    return Annotate(python.status(), "environment.python");
  }
  ChildOptions child_options;
  child_options.command = {*std::move(python), EnvironmentPackage()};
  child_options.command.insert(child_options.command.end(), arguments.begin(), arguments.end());
  child_options.log_path = files.File("log");
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<ChildProcess> child, ChildProcess::Spawn(child_options));
  while (!child->Poll().has_value()) {
    if (stop.WaitFor(kPollEvery)) {
      child->Signal(SIGINT);  // So that it removes what it has begun to write.
      for (const Stopwatch watch; !child->Poll().has_value() && watch.Elapsed() < kLongestCleanUp;) {
        absl::SleepFor(kPollEvery);
      }
      return absl::CancelledError("the conversion was stopped");
    }
  }
  if (!child->Poll()->ok()) {
    std::stringstream told;
    told << std::ifstream(child_options.log_path).rdbuf();
    const std::string message(absl::StripAsciiWhitespace(told.str()));
    return absl::InvalidArgumentError(message.empty() ? absl::StrCat("python ", child->Poll()->DebugString())
                                                      : message);
  }
  return absl::OkStatus();
}

}  // namespace

bool IsDataset(const std::string& name) {
  std::error_code unknown;
  return absl::StartsWith(name, kMinari) || absl::EndsWith(name, ".npz") || absl::EndsWith(name, ".hdf5") ||
         std::filesystem::is_directory(name, unknown);
}

std::string MinariFolder(const std::string& name) {
  return absl::StartsWith(name, kMinari) ? name.substr(sizeof(kMinari) - 1) : "";
}

absl::StatusOr<std::unique_ptr<EpisodeSource>> OpenDataset(const DatasetOptions& options, const StopToken& stop) {
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<TemporaryFiles> files, TemporaryFiles::Create());
  const std::string rows = files->File("rows");
  std::vector<std::string> arguments = {"import", options.path, rows};
  if (options.drop_last) {
    arguments.push_back("--drop-last");
  }
  WAGGLE_RETURN_IF_ERROR(RunPython(options.python, arguments, *files, stop));
  auto episodes = std::make_unique<ConvertedEpisodes>(options.path, std::ifstream(rows, std::ios::binary));
  WAGGLE_RETURN_IF_ERROR(episodes->ReadHeader());
  return episodes;
}

absl::Status CheckMinari(const EnvironmentSpec& environment, const std::string& folder, const std::string& python,
                         const StopToken& stop) {
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<TemporaryFiles> files, TemporaryFiles::Create());
  WAGGLE_RETURN_IF_ERROR(WriteRows(nullptr, environment, files->File("rows")));
  return RunPython(python, {"check-export", files->File("rows"), folder}, *files, stop);
}

absl::Status WriteMinari(EpisodeSource* source, const std::string& folder, const std::string& python,
                         const StopToken& stop) {
  if (!source->environment().has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(source->name(), ": does not say what its environment is"));
  }
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<TemporaryFiles> files, TemporaryFiles::Create());
  WAGGLE_RETURN_IF_ERROR(WriteRows(source, *source->environment(), files->File("rows")));
  return RunPython(python, {"export", files->File("rows"), folder}, *files, stop);
}

absl::StatusOr<std::unique_ptr<EpisodeSource>> OpenEpisodes(const DatasetOptions& options, const StopToken& stop) {
  return IsDataset(options.path) ? OpenDataset(options, stop) : OpenEpisodeFile(options.path);
}

}  // namespace waggle
