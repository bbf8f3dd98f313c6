#include "common/metrics/tensorboard_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/base/status_macros.h"
#include "common/metrics/crc32c.h"

namespace waggle {
namespace {

constexpr size_t kMaxPendingBytes = 64 << 10;

template <class T>
void AppendRaw(T value, std::string* out) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out->append(bytes, sizeof(T));
}

// These few messages are encoded by hand: they have not changed since 2015, and so the metrics library needs no
// Protocol Buffers.

void AppendVarint(uint64_t number, std::string* out) {
  while (number >= 0x80) {
    out->push_back(static_cast<char>(number | 0x80));
    number >>= 7;
  }
  out->push_back(static_cast<char>(number));
}

enum WireType { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5 };

void AppendKey(int field, WireType type, std::string* out) {
  AppendVarint(static_cast<uint64_t>(field << 3 | type), out);
}

void AppendBytes(int field, absl::string_view bytes, std::string* out) {
  AppendKey(field, kLengthDelimited, out);
  AppendVarint(bytes.size(), out);
  absl::StrAppend(out, bytes);
}

// tensorflow.Event { double wall_time = 1; int64 step = 2; } without its content.
std::string EventAt(double wall_time_seconds, int64_t step) {
  std::string event;
  AppendKey(1, kFixed64, &event);
  AppendRaw(wall_time_seconds, &event);
  AppendKey(2, kVarint, &event);
  AppendVarint(static_cast<uint64_t>(step), &event);
  return event;
}

// A TFRecord: the length, its checksum, the bytes, their checksum.
void AppendRecord(absl::string_view bytes, std::string* out) {
  std::string length;
  AppendRaw(static_cast<uint64_t>(bytes.size()), &length);
  absl::StrAppend(out, length);
  AppendRaw(MaskedCrc32c(length), out);
  absl::StrAppend(out, bytes);
  AppendRaw(MaskedCrc32c(bytes), out);
}

std::string HostName() {
  char name[256] = {};
  // The last byte stays 0 if a name is cut off.
  return gethostname(name, sizeof(name) - 1) == 0 && name[0] != '\0' ? name : "localhost";
}

// The descriptor of a new file in the folder, and its path.
absl::StatusOr<int> OpenNew(const std::string& folder, std::string* path) {
  // TensorBoard reads the files of a folder in the order of their names, and knows them by "tfevents".
  const std::string stem = absl::StrFormat("%s/events.out.tfevents.%010d.%s.%d", folder,
                                           absl::ToUnixSeconds(absl::Now()), HostName(), getpid());
  for (int number = 0;; ++number) {
    const std::string name = absl::StrCat(stem, ".", number);
    const int descriptor = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (descriptor >= 0) {
      *path = name;
      return descriptor;
    }
    if (errno != EEXIST) {
      return absl::ErrnoToStatus(errno, absl::StrCat("cannot create ", name));
    }
  }
}

}  // namespace

TensorBoardWriter::TensorBoardWriter(const std::string& folder)
    : file_([folder](std::string* path) { return OpenNew(folder, path); }) {
  std::string event = EventAt(absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()), 0);
  AppendBytes(3, "brain.Event:2", &event);  // file_version
  std::string record;
  AppendRecord(event, &record);
  // An error here comes again with the first points, and is reported then.
  file_.Add(record).IgnoreError();
  Flush().IgnoreError();
}

absl::Status TensorBoardWriter::Append(int64_t step, double wall_time_seconds,
                                       const std::map<std::string, double>& values) {
  std::string records;
  for (const auto& [tag, value] : values) {
    std::string point;  // tensorflow.Summary.Value { string tag = 1; float simple_value = 2; }
    AppendBytes(1, tag, &point);
    AppendKey(2, kFixed32, &point);
    AppendRaw(static_cast<float>(value), &point);
    std::string summary;  // tensorflow.Summary { repeated Value value = 1; }
    AppendBytes(1, point, &summary);
    std::string event = EventAt(wall_time_seconds, step);
    AppendBytes(5, summary, &event);  // summary
    AppendRecord(event, &records);
  }
  WAGGLE_RETURN_IF_ERROR(file_.Add(records));
  return file_.kept_bytes() < kMaxPendingBytes ? absl::OkStatus() : Flush();
}

absl::Status TensorBoardWriter::Flush() {
  return file_.Flush();
}

}  // namespace waggle
