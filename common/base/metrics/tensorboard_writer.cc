#include "common/base/metrics/tensorboard_writer.h"

#include <unistd.h>

#include <cstring>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/base/file.h"
#include "common/base/metrics/crc32c.h"
#include "common/base/status_macros.h"
#include "tensorboard/event.pb.h"

namespace waggle {
namespace {

constexpr size_t kMaxPendingBytes = 64 << 10;

template <class T>
void AppendRaw(T value, std::string* out) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out->append(bytes, sizeof(T));
}

// A TFRecord: the length, its checksum, the bytes, theirs.
void AppendRecord(const tensorboard::Event& event, std::string* out) {
  const std::string bytes = event.SerializeAsString();
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

absl::StatusOr<File> CreateIn(const std::string& folder) {
  // TensorBoard reads the files of a folder in the order of their names, and knows them by "tfevents".
  const std::string stem = absl::StrFormat("%s/events.out.tfevents.%010d.%s.%d", folder,
                                           absl::ToUnixSeconds(absl::Now()), HostName(), getpid());
  for (int number = 0;; ++number) {
    absl::StatusOr<File> file = File::Create(absl::StrCat(stem, ".", number));
    if (!absl::IsAlreadyExists(file.status())) {
      return file;
    }
  }
}

}  // namespace

TensorBoardWriter::TensorBoardWriter(const std::string& folder) : file_([folder] { return CreateIn(folder); }) {
  tensorboard::Event event;
  event.set_wall_time(absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()));
  event.set_step(0);
  event.set_file_version("brain.Event:2");
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
    tensorboard::Event event;
    event.set_wall_time(wall_time_seconds);
    event.set_step(step);
    tensorboard::Summary::Value* const point = event.mutable_summary()->add_value();
    point->set_tag(tag);
    point->set_simple_value(static_cast<float>(value));
    AppendRecord(event, &records);
  }
  WAGGLE_RETURN_IF_ERROR(file_.Add(records));
  return file_.kept_bytes() < kMaxPendingBytes ? absl::OkStatus() : Flush();
}

absl::Status TensorBoardWriter::Flush() {
  return file_.Flush();
}

}  // namespace waggle
