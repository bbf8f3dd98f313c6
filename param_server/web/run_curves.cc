#include "param_server/web/run_curves.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/file.h"

namespace waggle {
namespace {

constexpr size_t kPiece = size_t{256} << 10;
// Longer than any row that is written.
constexpr size_t kMaxRow = 4096;

struct Descriptor {
  explicit Descriptor(const std::string& path) : number(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~Descriptor() {
    if (number >= 0) {
      close(number);
    }
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  const int number;
};

}  // namespace

absl::Status MetricsFile::ReadOn() {
  const Descriptor file(path_);
  struct stat found = {};
  if (file.number < 0 || fstat(file.number, &found) != 0) {
    return FileError(errno, path_, "be read");
  }
  if (found.st_ino != inode_ || found.st_size < read_) {
    curves_.clear();
    read_ = 0;
    inode_ = found.st_ino;
  }
  std::string piece(kPiece, '\0');
  size_t left_over = 0;  // Bytes at the piece's begin, of a row that is not whole yet.
  size_t taken = 0;
  complete_ = false;
  while (taken < options_.max_bytes) {
    const ssize_t got = pread(file.number, piece.data() + left_over, piece.size() - left_over,
                              static_cast<off_t>(read_ + static_cast<int64_t>(left_over)));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return FileError(errno, path_, "be read");
    }
    if (got == 0) {
      complete_ = true;
      break;
    }
    const absl::string_view text(piece.data(), left_over + static_cast<size_t>(got));
    size_t begin = 0;
    for (size_t end = text.find('\n'); end != absl::string_view::npos; end = text.find('\n', begin)) {
      Take(text.substr(begin, end - begin));
      begin = end + 1;
    }
    left_over = text.size() - begin;
    if (left_over > kMaxRow) {  // No row of ours.
      begin = text.size();
      left_over = 0;
    }
    read_ += static_cast<int64_t>(begin);
    taken += begin;
    std::copy(piece.begin() + static_cast<ptrdiff_t>(begin), piece.begin() + static_cast<ptrdiff_t>(begin + left_over),
              piece.begin());
  }
  return absl::OkStatus();
}

void MetricsFile::Take(absl::string_view row) {
  const std::vector<absl::string_view> cells = absl::StrSplit(row, ',');
  double step = 0;
  double seconds = 0;
  double value = 0;
  if (cells.size() != 4 || !absl::SimpleAtod(cells[0], &step) || !absl::SimpleAtod(cells[1], &seconds) ||
      !absl::SimpleAtod(cells[3], &value) || !std::isfinite(value)) {
    return;  // The header, a gap (nan), or a damaged row.
  }
  const std::string name(cells[2]);
  auto curve = curves_.find(name);
  if (curve == curves_.end()) {
    if (curves_.size() >= options_.max_curves) {
      return;
    }
    curve = curves_.emplace(name, Curve(options_.max_points)).first;
  }
  curve->second.Add(step, seconds, value);
}

std::shared_ptr<RunCurves::Run> RunCurves::Find(const std::string& folder) {
  MutexLock lock(&mutex_);
  auto found = std::find_if(runs_.begin(), runs_.end(), [&folder](const auto& run) { return run.first == folder; });
  if (found == runs_.end()) {
    runs_.emplace_front(folder, std::make_shared<Run>(folder + "/metrics.csv", options_));
    if (runs_.size() > options_.max_runs) {
      runs_.pop_back();
    }
  } else {
    runs_.splice(runs_.begin(), runs_, found);
  }
  return runs_.front().second;
}

absl::StatusOr<RunCurves::Answer> RunCurves::Read(const std::string& folder, const std::set<std::string>& names) {
  const std::shared_ptr<Run> run = Find(folder);
  Answer answer;
  MutexLock lock(&run->mutex);
  if (const absl::Status read = run->file.ReadOn(); !read.ok()) {
    if (absl::IsNotFound(read)) {
      return answer;
    }
    return read;
  }
  answer.complete = run->file.complete();
  for (const auto& [name, curve] : run->file.curves()) {
    answer.names.push_back(name);
    if (names.count(name) > 0) {
      answer.curves[name] = curve.Points();
    }
  }
  return answer;
}

}  // namespace waggle
