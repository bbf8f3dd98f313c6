#include "common/metrics/tensorboard_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
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

// The few messages there are are encoded by hand: they have not changed since 2015, and the library of the metrics
// needs no Protocol Buffers that way.

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

// tensorflow.Event { double wall_time = 1; int64 step = 2; } without what happened.
std::string EventAt(double wall_time_seconds, int64_t step) {
  std::string event;
  AppendKey(1, kFixed64, &event);
  AppendRaw(wall_time_seconds, &event);
  AppendKey(2, kVarint, &event);
  AppendVarint(static_cast<uint64_t>(step), &event);
  return event;
}

// A TFRecord: the length, its checksum, the bytes, theirs.
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
  // The last byte stays 0 where a name is cut off.
  return gethostname(name, sizeof(name) - 1) == 0 && name[0] != '\0' ? name : "localhost";
}

}  // namespace

absl::StatusOr<std::unique_ptr<TensorBoardWriter>> TensorBoardWriter::Create(const std::string& folder) {
  const absl::Time now = absl::Now();
  // TensorBoard reads the files of a folder in the order of their names, and knows them by "tfevents".
  const std::string stem =
      absl::StrFormat("%s/events.out.tfevents.%010d.%s.%d", folder, absl::ToUnixSeconds(now), HostName(), getpid());
  for (int number = 0;; ++number) {
    const std::string path = absl::StrCat(stem, ".", number);
    const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (descriptor < 0 && errno == EEXIST) {
      continue;
    }
    if (descriptor < 0) {
      return absl::ErrnoToStatus(errno, absl::StrCat("cannot create ", path));
    }
    std::unique_ptr<TensorBoardWriter> writer(new TensorBoardWriter(path, descriptor));
    std::string event = EventAt(absl::ToDoubleSeconds(now - absl::UnixEpoch()), 0);
    AppendBytes(3, "brain.Event:2", &event);  // file_version
    std::string record;
    AppendRecord(event, &record);
    WAGGLE_RETURN_IF_ERROR(writer->file_.Add(record));
    // What fails here fails again with the first points, and is told then.
    writer->Flush().IgnoreError();
    return writer;
  }
}

absl::Status TensorBoardWriter::Scalar(absl::string_view tag, int64_t step, double wall_time_seconds, double value) {
  std::string point;  // tensorflow.Summary.Value { string tag = 1; float simple_value = 2; }
  AppendBytes(1, tag, &point);
  AppendKey(2, kFixed32, &point);
  AppendRaw(static_cast<float>(value), &point);
  std::string summary;  // tensorflow.Summary { repeated Value value = 1; }
  AppendBytes(1, point, &summary);
  std::string event = EventAt(wall_time_seconds, step);
  AppendBytes(5, summary, &event);  // summary
  std::string record;
  AppendRecord(event, &record);
  WAGGLE_RETURN_IF_ERROR(file_.Add(record));
  return file_.kept_bytes() < kMaxPendingBytes ? absl::OkStatus() : Flush();
}

absl::Status TensorBoardWriter::Flush() {
  return file_.Flush();
}

}  // namespace waggle
