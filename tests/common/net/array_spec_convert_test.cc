#include "common/net/array_spec_convert.h"

#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::ValueOf;

TEST_CASE("Every spec survives the wire", "[unit]") {
  for (int dtype = 0; dtype < 32; ++dtype) {
    if (!IsDType(dtype)) {
      continue;
    }
    const ArraySpec scalar{"a/b.c-d_1", static_cast<DType>(dtype), {}};
    const ArraySpec array{"x", static_cast<DType>(dtype), {0, 3, 1}};
    CHECK(ValueOf(FromProto(ToProto(scalar))) == scalar);
    CHECK(ValueOf(FromProto(ToProto(array))) == array);
  }
}

TEST_CASE("An invalid spec is refused", "[unit]") {
  const v1::ArraySpec good = ToProto(ArraySpec{"x", DType::kFloat32, {2}});
  v1::ArraySpec bad = good;
  bad.clear_name();
  CHECK(FromProto(bad).status().code() == absl::StatusCode::kInvalidArgument);
  bad = good;
  bad.set_dtype(v1::DATA_TYPE_UNSPECIFIED);
  CHECK(FromProto(bad).status().code() == absl::StatusCode::kInvalidArgument);
  bad = good;
  bad.set_dtype(static_cast<v1::DataType>(256 + 9));  // float32 if it were cut to a byte.
  CHECK_THAT(std::string(FromProto(bad).status().message()), Catch::Contains("265 is not an element type"));
  bad = good;
  bad.add_shape(-1);
  CHECK(FromProto(bad).status().code() == absl::StatusCode::kInvalidArgument);
  bad = good;
  bad.add_shape(int64_t{1} << 62);
  bad.add_shape(int64_t{1} << 62);
  CHECK(FromProto(bad).status().code() == absl::StatusCode::kInvalidArgument);

  google::protobuf::RepeatedPtrField<v1::ArraySpec> list;
  *list.Add() = good;
  CHECK(ValueOf(FromProto(list)).size() == 1);
  *list.Add() = bad;
  CHECK(FromProto(list).status().code() == absl::StatusCode::kInvalidArgument);
}

TEST_CASE("A list of more specs than a row may have columns is refused unread", "[unit]") {
  google::protobuf::RepeatedPtrField<v1::ArraySpec> list;
  for (int i = 0; i <= kMaxColumns; ++i) {
    list.Add();
  }
  CHECK_THAT(std::string(FromProto(list).status().message()), Catch::Contains("there are 257 columns"));
}

}  // namespace
}  // namespace waggle
