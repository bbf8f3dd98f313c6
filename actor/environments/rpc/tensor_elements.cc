#include "actor/environments/rpc/tensor_elements.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/check.h"

namespace waggle {
namespace {

// Calls `take` with the elements of a Tensor or a TensorSpec::Value and their number; with none for other payloads.
template <class Message, class Take>
auto WithPayload(const Message& message, const Take& take) {
  const auto bytes = [&take](const std::string& array, auto type) {
    return take(reinterpret_cast<const decltype(type)*>(array.data()), static_cast<int64_t>(array.size()));
  };
  const auto numbers = [&take](const auto& array) { return take(array.data(), static_cast<int64_t>(array.size())); };
  switch (message.payload_case()) {
    case Message::kFloats:
      return numbers(message.floats().array());
    case Message::kDoubles:
      return numbers(message.doubles().array());
    case Message::kInt8S:
      return bytes(message.int8s().array(), int8_t{});
    case Message::kInt32S:
      return numbers(message.int32s().array());
    case Message::kInt64S:
      return numbers(message.int64s().array());
    case Message::kUint8S:
      return bytes(message.uint8s().array(), uint8_t{});
    case Message::kUint32S:
      return numbers(message.uint32s().array());
    case Message::kUint64S:
      return numbers(message.uint64s().array());
    default:
      break;
  }
  if constexpr (std::is_same_v<Message, dm::Tensor>) {
    if (message.payload_case() == dm::Tensor::kBools) {
      return numbers(message.bools().array());
    }
  }
  return take(static_cast<const float*>(nullptr), int64_t{0});
}

// Calls `take` with the field of a Tensor or a TensorSpec::Value that has elements of this type.
template <class Message, class Take>
void WithField(dm::DataType type, Message* message, const Take& take) {
  switch (type) {
    case dm::FLOAT:
      return take(message->mutable_floats()->mutable_array());
    case dm::DOUBLE:
      return take(message->mutable_doubles()->mutable_array());
    case dm::INT8:
      return take(message->mutable_int8s()->mutable_array(), int8_t{});
    case dm::INT32:
      return take(message->mutable_int32s()->mutable_array());
    case dm::INT64:
      return take(message->mutable_int64s()->mutable_array());
    case dm::UINT8:
      return take(message->mutable_uint8s()->mutable_array(), uint8_t{});
    case dm::UINT32:
      return take(message->mutable_uint32s()->mutable_array());
    case dm::UINT64:
      return take(message->mutable_uint64s()->mutable_array());
    default:
      break;
  }
  if constexpr (std::is_same_v<Message, dm::Tensor>) {
    if (type == dm::BOOL) {
      return take(message->mutable_bools()->mutable_array());
    }
  }
  WAGGLE_CHECK(false, "a tensor's type has been checked");
}

// Resizes a field to `size` zeros unless it has that size, and returns its elements.
struct Elements {
  int64_t size;

  template <class T>
  T* operator()(google::protobuf::RepeatedField<T>* field) const {
    if (field->size() != size) {
      field->Resize(static_cast<int>(size), T{});
    }
    return field->mutable_data();
  }
  template <class T>
  T* operator()(std::string* field, T) const {
    field->resize(static_cast<size_t>(size));
    return reinterpret_cast<T*>(field->data());
  }
};

template <class Take>
void WithDType(DType dtype, const Take& take) {
  switch (dtype) {
    case DType::kBool:
      return take(bool{});
    case DType::kUint8:
      return take(uint8_t{});
    case DType::kInt8:
      return take(int8_t{});
    case DType::kInt16:
      return take(int16_t{});
    case DType::kInt32:
      return take(int32_t{});
    case DType::kInt64:
      return take(int64_t{});
    case DType::kFloat32:
      return take(float{});
    case DType::kFloat64:
      return take(double{});
    default:
      WAGGLE_CHECK(false, "an array's type has been checked");
  }
}

// False: the target cannot hold it.
template <class To, class From>
bool Convert(From from, int64_t start, To* to) {
  if constexpr (std::is_floating_point_v<To>) {
    *to = static_cast<To>(from);
    return true;
  } else if constexpr (std::is_floating_point_v<From>) {
    return false;
  } else {
    if (std::is_same_v<From, uint64_t> && static_cast<uint64_t>(from) > std::numeric_limits<int64_t>::max()) {
      return false;
    }
    // A peer may send any number, which must not overflow.
    const auto value = static_cast<int64_t>(static_cast<uint64_t>(from) - static_cast<uint64_t>(start));
    *to = static_cast<To>(value);
    return static_cast<int64_t>(*to) == value;
  }
}

int64_t StartOf(absl::Span<const int64_t> starts, int64_t element) {
  return starts.empty() ? 0 : starts[starts.size() == 1 ? 0 : static_cast<size_t>(element) % starts.size()];
}

template <class T>
T Saturated(double value) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(value);
  } else {
    // The limits of 64 bits are not exact as doubles: a value that is not below the rounded limit exceeds it.
    if (value >= static_cast<double>(std::numeric_limits<T>::max())) {
      return std::numeric_limits<T>::max();
    }
    return value <= static_cast<double>(std::numeric_limits<T>::min()) ? std::numeric_limits<T>::min()
                                                                       : static_cast<T>(value);
  }
}

std::string ShapeText(const dm::Tensor& tensor) {
  const int shown = std::min(tensor.shape_size(), 8);
  return absl::StrCat("[", absl::StrJoin(tensor.shape().begin(), tensor.shape().begin() + shown, ", "),
                      shown < tensor.shape_size() ? ", …" : "", "]");
}

}  // namespace

std::string TypeName(dm::DataType type) {
  const std::string& name = dm::DataType_Name(type);
  return name.empty() ? absl::StrCat(static_cast<int>(type)) : name;
}

dm::DataType TypeOf(const dm::Tensor& tensor) {
  return static_cast<dm::DataType>(tensor.payload_case());  // The protocol has the same numbers for both.
}

bool IsNumeric(dm::DataType type) {
  return type >= dm::FLOAT && type <= dm::UINT64;
}

bool IsInteger(dm::DataType type) {
  return type >= dm::INT8 && type <= dm::UINT64;
}

int64_t PayloadSize(const dm::Tensor& tensor) {
  switch (tensor.payload_case()) {
    case dm::Tensor::kStrings:
      return tensor.strings().array_size();
    case dm::Tensor::kProtos:
      return tensor.protos().array_size();
    default:
      return WithPayload(tensor, [](const auto*, int64_t size) { return size; });
  }
}

int64_t MaxWireBytes(dm::DataType type, int64_t elements) {
  constexpr int64_t kAround = 128;
  switch (type) {
    case dm::INT8:
    case dm::UINT8:
    case dm::BOOL:
      return kAround + elements;
    case dm::FLOAT:
      return kAround + 4 * elements;
    case dm::DOUBLE:
      return kAround + 8 * elements;
    default:
      return kAround + 10 * elements;  // A negative number of 32 bits takes as many as one of 64.
  }
}

absl::Status CheckTensor(const dm::Tensor& tensor, dm::DataType type, absl::Span<const int64_t> shape) {
  if (TypeOf(tensor) != type) {
    return absl::InvalidArgumentError(
        absl::StrCat("got elements of type ", TypeName(TypeOf(tensor)), "; wanted ", TypeName(type)));
  }
  const int64_t size = PayloadSize(tensor);
  int64_t elements = 1;
  bool same = static_cast<size_t>(tensor.shape_size()) == shape.size();
  int negative = 0;
  for (size_t i = 0; i < shape.size() && same; ++i) {
    const int32_t got = tensor.shape(static_cast<int>(i));
    negative += got < 0 ? 1 : 0;
    // One element leaves nothing to deduce: the dimension is 1.
    same = got < 0 ? size != 1 || shape[i] == 1 : got == shape[i];
    elements *= shape[i];
  }
  if (!same || negative > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("got the shape ", ShapeText(tensor), "; wanted [", absl::StrJoin(shape, ", "), "]"));
  }
  if (size != elements && size != 1) {
    return absl::InvalidArgumentError(absl::StrCat("got ", size, " elements; wanted ", elements, ", or one for all"));
  }
  return absl::OkStatus();
}

absl::Status ReadElements(const dm::Tensor& tensor, int64_t first, int64_t count, DType dtype,
                          absl::Span<const int64_t> starts, void* out) {
  bool fits = true;
  WithPayload(tensor, [&](const auto* payload, int64_t size) {
    using From = std::decay_t<decltype(*payload)>;
    WithDType(dtype, [&](auto to) {
      using To = decltype(to);
      auto* const target = static_cast<To*>(out);
      if constexpr (std::is_same_v<To, From>) {
        if (size > 1 && starts.empty()) {
          std::memcpy(target, payload + first, static_cast<size_t>(count) * sizeof(To));
          return;
        }
      }
      for (int64_t i = 0; i < count; ++i) {
        fits = Convert<To>(payload[size == 1 ? 0 : first + i], StartOf(starts, i), target + i) && fits;
      }
    });
  });
  return fits ? absl::OkStatus()
              : absl::InvalidArgumentError(absl::StrCat("got an element out of range; wanted ", DTypeName(dtype)));
}

void InitTensor(dm::DataType type, absl::Span<const int64_t> shape, dm::Tensor* tensor) {
  tensor->Clear();
  int64_t elements = 1;
  for (const int64_t dimension : shape) {
    tensor->add_shape(static_cast<int32_t>(dimension));
    elements *= dimension;
  }
  WithField(type, tensor, [elements](auto* field, auto... byte) { Elements{elements}(field, byte...); });
}

void WriteElements(DType dtype, const void* data, dm::DataType type, int64_t first, int64_t count,
                   absl::Span<const int64_t> starts, dm::Tensor* tensor) {
  const int64_t size = PayloadSize(*tensor);
  WithField(type, tensor, [&](auto* field, auto... byte) {
    auto* const target = Elements{size}(field, byte...) + first;
    using To = std::decay_t<decltype(*target)>;
    WithDType(dtype, [&](auto from) {
      using From = decltype(from);
      const auto* const source = static_cast<const From*>(data);
      if (std::is_same_v<To, From> && starts.empty()) {
        std::memcpy(target, source, static_cast<size_t>(count) * sizeof(To));
        return;
      }
      for (int64_t i = 0; i < count; ++i) {
        if constexpr (std::is_floating_point_v<From>) {
          target[i] = static_cast<To>(source[i]);
        } else {
          target[i] = static_cast<To>(static_cast<int64_t>(source[i]) + StartOf(starts, i));
        }
      }
    });
  });
}

absl::Status ReadBounds(const dm::TensorSpec::Value& value, int64_t elements, std::vector<double>* bounds) {
  bounds->clear();
  const int64_t count = WithPayload(value, [](const auto*, int64_t size) { return size; });
  if (count != 0 && count != 1 && count != elements) {
    return absl::InvalidArgumentError(
        absl::StrCat("got ", count, " bounds; wanted none, one, or one for each of ", elements, " elements"));
  }
  WithPayload(value, [bounds](const auto* payload, int64_t size) { bounds->assign(payload, payload + size); });
  return absl::OkStatus();
}

void WriteBounds(dm::DataType type, absl::Span<const double> bounds, dm::TensorSpec::Value* value) {
  WithField(type, value, [&bounds](auto* field, auto... byte) {
    auto* const target = Elements{static_cast<int64_t>(bounds.size())}(field, byte...);
    using To = std::decay_t<decltype(*target)>;
    std::transform(bounds.begin(), bounds.end(), target, [](double bound) { return Saturated<To>(bound); });
  });
}

}  // namespace waggle
