#include "actor/importing/dataset.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "actor/environments/external/external_spec.h"
#include "actor/environments/open_environment.h"
#include "actor/importing/episode_file.h"
#include "actor/writing/trajectory_writer.h"
#include "common/base/annotate.h"
#include "common/base/process/child_process.h"
#include "common/base/process/find_program.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

constexpr char kMinari[] = "minari:";
constexpr int64_t kMostBlockRows = 4096;
constexpr absl::Duration kPollEvery = absl::Milliseconds(20);

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

// Runs Python until it ends. Its messages go to the log.
absl::Status Convert(const DatasetOptions& options, const std::string& folder, const StopToken& stop) {
  absl::StatusOr<std::string> python = FindProgram(options.python);
  if (!python.ok()) {
    return Annotate(python.status(), "environment.python");
  }
  ChildOptions child_options;
  child_options.command = {*std::move(python), EnvironmentPackage(), "import", options.path,
                           absl::StrCat(folder, "/rows")};
  if (options.drop_last) {
    child_options.command.push_back("--drop-last");
  }
  child_options.log_path = absl::StrCat(folder, "/log");
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<ChildProcess> child, ChildProcess::Spawn(child_options));
  while (!child->Poll().has_value()) {
    if (stop.WaitFor(kPollEvery)) {
      return absl::CancelledError("the import was stopped");
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

absl::StatusOr<std::unique_ptr<EpisodeSource>> OpenDataset(const DatasetOptions& options, const StopToken& stop) {
  std::error_code failed;
  std::string folder = absl::StrCat(std::filesystem::temp_directory_path(failed).string(), "/waggle-import-XXXXXX");
  if (failed || mkdtemp(folder.data()) == nullptr) {
    return absl::ErrnoToStatus(errno, absl::StrCat("making the folder ", folder));
  }
  const absl::Cleanup remove = [&folder] {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  };
  WAGGLE_RETURN_IF_ERROR(Convert(options, folder, stop));
  auto episodes =
      std::make_unique<ConvertedEpisodes>(options.path, std::ifstream(absl::StrCat(folder, "/rows"), std::ios::binary));
  WAGGLE_RETURN_IF_ERROR(episodes->ReadHeader());
  return episodes;
}

absl::StatusOr<std::unique_ptr<EpisodeSource>> OpenEpisodes(const std::string& name, const std::string& python,
                                                            const StopToken& stop) {
  if (!IsDataset(name)) {
    return OpenEpisodeFile(name);
  }
  DatasetOptions options;
  options.path = name;
  options.python = python;
  return OpenDataset(options, stop);
}

}  // namespace waggle
