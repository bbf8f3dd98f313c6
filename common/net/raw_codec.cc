#include "common/net/raw_codec.h"

#include <grpcpp/support/slice.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/reason.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

constexpr uint64_t kDataTag = (kDataFieldNumber << 3) | 2;  // Wire type 2: length-delimited.

void AppendVarint(uint64_t value, std::string* out) {
  while (value >= 0x80) {
    out->push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out->push_back(static_cast<char>(value));
}

// Shares the bytes' owner until gRPC has sent them.
grpc::Slice BorrowedSlice(const ByteSlice& slice) {
  auto owner = std::make_unique<std::shared_ptr<const void>>(slice.owner);
  return grpc::Slice(
      const_cast<char*>(slice.data), slice.size,
      [](void* shared) { delete static_cast<std::shared_ptr<const void>*>(shared); }, owner.release());
}

// Reads on through the slices of a buffer.
class Cursor {
 public:
  explicit Cursor(const std::vector<grpc::Slice>* slices) : slices_(*slices) {
    for (const grpc::Slice& slice : slices_) {
      left_ += slice.size();
    }
    SkipEmpty();
  }

  bool AtEnd() const { return slice_ == slices_.size(); }

  // Appends the bytes read to `copy` as well.
  absl::Status ReadVarint(uint64_t* value, std::string* copy) {
    *value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (AtEnd()) {
        return absl::InvalidArgumentError("the message ends in the middle of a field");
      }
      const uint8_t byte = slices_[slice_].begin()[offset_];
      Advance(1);
      copy->push_back(static_cast<char>(byte));
      *value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if ((byte & 0x80) == 0) {
        return absl::OkStatus();
      }
    }
    return absl::InvalidArgumentError("a varint has more than ten bytes");
  }

  absl::Status CheckLeft(uint64_t size) const {
    return size <= left_ ? absl::OkStatus()
                         : absl::InvalidArgumentError(
                               absl::StrCat("a field is ", size - left_, " bytes longer than the message"));
  }

  // Calls `take(begin, size)` for each run of the next `size` bytes. CheckLeft comes first.
  template <class Take>
  void Read(uint64_t size, const Take& take) {
    while (size > 0) {
      const uint64_t available = slices_[slice_].size() - offset_;
      const size_t run = static_cast<size_t>(available < size ? available : size);
      take(reinterpret_cast<const char*>(slices_[slice_].begin()) + offset_, run);
      size -= run;
      Advance(run);
    }
  }

 private:
  void Advance(size_t size) {
    offset_ += size;
    left_ -= size;
    SkipEmpty();
  }

  void SkipEmpty() {
    while (slice_ < slices_.size() && offset_ == slices_[slice_].size()) {
      ++slice_;
      offset_ = 0;
    }
  }

  const std::vector<grpc::Slice>& slices_;
  size_t slice_ = 0;
  size_t offset_ = 0;
  uint64_t left_ = 0;
};

// The bytes of a field after its tag, or after its length if it is length-delimited. Appends the length to `header`
// too.
absl::Status FieldSize(uint64_t tag, Cursor* cursor, std::string* header, uint64_t* size) {
  switch (tag & 7) {
    case 0: {
      uint64_t ignored = 0;
      *size = 0;
      return cursor->ReadVarint(&ignored, header);
    }
    case 1:
      *size = 8;
      return absl::OkStatus();
    case 2:
      return cursor->ReadVarint(size, header);
    case 5:
      *size = 4;
      return absl::OkStatus();
    default:
      return absl::InvalidArgumentError(absl::StrCat("a field has wire type ", tag & 7, ", which is not in use"));
  }
}

}  // namespace

grpc::ByteBuffer EncodeMessage(const google::protobuf::MessageLite& header, const ByteSlices& data) {
  std::string data_front;
  if (data.size() > 0) {
    AppendVarint(kDataTag, &data_front);
    AppendVarint(data.size(), &data_front);
  }
  const size_t header_size = header.ByteSizeLong();
  grpc::Slice front(header_size + data_front.size());
  auto* const bytes = const_cast<uint8_t*>(front.begin());  // Not shared before it is in the buffer.
  header.SerializeWithCachedSizesToArray(bytes);
  std::memcpy(bytes + header_size, data_front.data(), data_front.size());
  std::vector<grpc::Slice> slices;
  slices.reserve(1 + data.slices().size());
  slices.push_back(std::move(front));
  for (const ByteSlice& slice : data.slices()) {
    if (slice.size > 0) {
      slices.push_back(BorrowedSlice(slice));
    }
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

namespace {

absl::Status Decode(const grpc::ByteBuffer& buffer, size_t max_header_bytes, google::protobuf::MessageLite* header,
                    ByteSlices* data) {
  const auto slices = std::make_shared<std::vector<grpc::Slice>>();  // Keeps the bytes of `data` alive.
  if (!buffer.Dump(slices.get()).ok()) {
    return absl::InvalidArgumentError("the message could not be read");
  }
  Cursor cursor(slices.get());
  *data = ByteSlices();
  std::string fields;
  while (!cursor.AtEnd()) {
    uint64_t tag = 0;
    const size_t before = fields.size();
    WAGGLE_RETURN_IF_ERROR(cursor.ReadVarint(&tag, &fields));
    uint64_t size = 0;
    WAGGLE_RETURN_IF_ERROR(FieldSize(tag, &cursor, &fields, &size));
    WAGGLE_RETURN_IF_ERROR(cursor.CheckLeft(size));
    if (tag == kDataTag) {
      fields.resize(before);
      *data = ByteSlices();  // The last one of a repeated singular field counts, as in protobuf.
      cursor.Read(size, [&slices, data](const char* begin, size_t run) { data->Append({begin, run, slices}); });
      continue;
    }
    if (size > max_header_bytes || fields.size() + size > max_header_bytes) {
      return WithReason(reasons::kMessageTooLarge,
                        absl::ResourceExhaustedError(absl::StrCat("the message has more than ", max_header_bytes,
                                                                  " bytes beside its data, which is the most")));
    }
    cursor.Read(size, [&fields](const char* begin, size_t run) { fields.append(begin, run); });
  }
  if (!header->ParseFromString(fields)) {
    return absl::InvalidArgumentError(absl::StrCat("the bytes are no ", header->GetTypeName()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status DecodeMessage(const grpc::ByteBuffer& buffer, size_t max_header_bytes,
                           google::protobuf::MessageLite* header, ByteSlices* data) {
  return WithReason(reasons::kMalformedMessage, Decode(buffer, max_header_bytes, header, data));
}

}  // namespace waggle
