#include "actor/environments/rpc/rpc_settings.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "actor/environments/rpc/tensor_elements.h"
#include "common/base/annotate.h"
#include "common/base/shown_text.h"
#include "common/base/status_macros.h"
#include "common/base/tensor/array_spec.h"

namespace waggle {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kMaxElements = 10'000;
constexpr size_t kMaxNameParts = 8;

absl::Status Wrong(const std::string& path, const Json& got, const char* wanted) {
  return absl::InvalidArgumentError(absl::StrCat(
      path, ": got ", got.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 100), "; wanted ", wanted));
}

dm::DataType TypeOfScalar(const Json& value) {
  switch (value.type()) {
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
      return dm::INT64;
    case Json::value_t::number_float:
      return dm::DOUBLE;
    case Json::value_t::boolean:
      return dm::BOOL;
    case Json::value_t::string:
      return dm::STRING;
    default:
      return dm::INVALID_DATA_TYPE;
  }
}

// Gathers the scalars of nested lists, which must all have the shape of the first ones.
absl::Status Flatten(const Json& value, const std::string& path, size_t depth, std::vector<int64_t>* shape,
                     std::vector<const Json*>* scalars) {
  if (!value.is_array()) {
    scalars->push_back(&value);
    return depth == shape->size() ? absl::OkStatus() : Wrong(path, value, "a list, as its neighbours");
  }
  if (scalars->empty()) {
    shape->push_back(static_cast<int64_t>(value.size()));
  }
  if (depth >= shape->size() || value.empty() || (*shape)[depth] != static_cast<int64_t>(value.size())) {
    return Wrong(path, value, "a list of its neighbours' length, with at least one element");
  }
  for (const Json& item : value) {
    WAGGLE_RETURN_IF_ERROR(Flatten(item, path, depth + 1, shape, scalars));
  }
  return absl::OkStatus();
}

absl::StatusOr<dm::Tensor> TensorOf(const Json& value, const std::string& path) {
  std::vector<int64_t> shape;
  std::vector<const Json*> scalars;
  WAGGLE_RETURN_IF_ERROR(Flatten(value, path, 0, &shape, &scalars));
  dm::DataType type = TypeOfScalar(*scalars[0]);
  for (const Json* scalar : scalars) {
    const dm::DataType own = TypeOfScalar(*scalar);
    if (type == dm::INT64 && own == dm::DOUBLE) {
      type = dm::DOUBLE;
    }
    if (own == dm::INVALID_DATA_TYPE || (own != type && !(type == dm::DOUBLE && own == dm::INT64))) {
      return Wrong(path, value, "a number, true, false, text, or a list of one of these");
    }
    // Larger numbers would become negative.
    if (scalar->is_number_unsigned() && type == dm::INT64 && scalar->get<uint64_t>() >> 63 != 0) {
      return Wrong(path, value, "whole numbers of 64 bits");
    }
  }
  dm::Tensor tensor;
  for (const int64_t dimension : shape) {
    tensor.add_shape(static_cast<int32_t>(dimension));
  }
  for (const Json* scalar : scalars) {
    switch (type) {
      case dm::INT64:
        tensor.mutable_int64s()->add_array(scalar->get<int64_t>());
        break;
      case dm::DOUBLE:
        tensor.mutable_doubles()->add_array(scalar->get<double>());
        break;
      case dm::BOOL:
        tensor.mutable_bools()->add_array(scalar->get<bool>());
        break;
      default:
        tensor.mutable_strings()->add_array(scalar->get<std::string>());
    }
  }
  return tensor;
}

absl::Status AddSettings(const Json& object, const std::string& path, const std::string& prefix,
                         RpcSettings* settings) {
  for (const auto& [key, value] : object.items()) {
    const std::string inner = absl::StrCat(path, ".", key);
    if (value.is_object()) {
      WAGGLE_RETURN_IF_ERROR(AddSettings(value, inner, absl::StrCat(prefix, key, "."), settings));
    } else {
      WAGGLE_ASSIGN_OR_RETURN((*settings)[absl::StrCat(prefix, key)], TensorOf(value, inner));
    }
  }
  return absl::OkStatus();
}

// A tensor's shape; one dimension may be deduced. Its elements are subtracted from `left`, the number still allowed.
absl::StatusOr<std::vector<int64_t>> ResolvedShape(const dm::Tensor& tensor, int64_t* left) {
  const int64_t size = PayloadSize(tensor);
  if (size < 1) {
    return absl::InvalidArgumentError("has no elements; wanted at least one");
  }
  std::vector<int64_t> shape(tensor.shape().begin(), tensor.shape().end());
  int64_t known = 1;
  int64_t* negative = nullptr;
  for (int64_t& dimension : shape) {
    if (dimension < 0 && negative != nullptr) {
      return absl::InvalidArgumentError("has two negative dimensions; wanted at most one");
    }
    negative = dimension < 0 ? &dimension : negative;
    if (dimension == 0) {
      return absl::InvalidArgumentError("has a dimension of 0; wanted at least one element");
    }
    known *= dimension < 0 ? 1 : dimension;
    if (known > *left || shape.size() > kMaxRank) {
      return absl::InvalidArgumentError(absl::StrCat("has more than ", kMaxRank, " dimensions or makes more than ",
                                                     kMaxElements, " elements in all settings, the most allowed"));
    }
  }
  if (negative != nullptr) {
    *negative = std::max<int64_t>(1, size / known);
    known *= *negative;
  }
  if (size != known && size != 1) {
    return absl::InvalidArgumentError(absl::StrCat("has ", size, " elements; wanted ", known, " for its shape"));
  }
  *left -= known;
  return shape;
}

absl::StatusOr<Json> ScalarOf(const dm::Tensor& tensor, int64_t index) {
  const dm::DataType type = TypeOf(tensor);
  if (PayloadSize(tensor) == 1) {
    index = 0;
  }
  if (type == dm::STRING) {
    return Json(tensor.strings().array(static_cast<int>(index)));
  }
  if (type == dm::BOOL) {
    return Json(tensor.bools().array(static_cast<int>(index)));
  }
  if (!IsNumeric(type)) {
    return absl::InvalidArgumentError(
        absl::StrCat("has elements of type ", TypeName(type), "; wanted numbers, bool or text"));
  }
  if (!IsInteger(type)) {
    double value = 0;
    WAGGLE_RETURN_IF_ERROR(ReadElements(tensor, index, 1, DType::kFloat64, {}, &value));
    return Json(value);
  }
  int64_t value = 0;
  WAGGLE_RETURN_IF_ERROR(ReadElements(tensor, index, 1, DType::kInt64, {}, &value));
  return Json(value);
}

absl::StatusOr<Json> JsonOf(const dm::Tensor& tensor, int64_t* left) {
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<int64_t> shape, ResolvedShape(tensor, left));
  int64_t next = 0;
  const std::function<absl::StatusOr<Json>(size_t)> build = [&](size_t depth) -> absl::StatusOr<Json> {
    if (depth == shape.size()) {
      return ScalarOf(tensor, next++);
    }
    Json list = Json::array();
    for (int64_t i = 0; i < shape[depth]; ++i) {
      WAGGLE_ASSIGN_OR_RETURN(Json item, build(depth + 1));
      list.push_back(std::move(item));
    }
    return list;
  };
  return build(0);
}

}  // namespace

absl::StatusOr<RpcSettings> SettingsFromJson(const std::string& json, const std::string& path) {
  const Json object = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) {
    return Wrong(path, object.is_discarded() ? Json(json) : object, "a mapping");
  }
  RpcSettings settings;
  WAGGLE_RETURN_IF_ERROR(AddSettings(object, path, "", &settings));
  return settings;
}

absl::StatusOr<std::string> SettingsToJson(const RpcSettings& settings) {
  Json object = Json::object();
  int64_t left = kMaxElements;
  for (const auto& [name, tensor] : settings) {
    const std::vector<std::string> parts = absl::StrSplit(name, '.');
    if (parts.size() > kMaxNameParts) {
      return absl::InvalidArgumentError(
          absl::StrCat(ShownText(name), ": has ", parts.size(), " parts; wanted at most ", kMaxNameParts));
    }
    Json* place = &object;
    for (const std::string& part : parts) {
      if (!place->is_null() && !place->is_object()) {
        return absl::InvalidArgumentError(
            absl::StrCat(ShownText(name), ": got a setting below another; wanted one of the two"));
      }
      place = &(*place)[part];
    }
    if (!place->is_null()) {
      return absl::InvalidArgumentError(
          absl::StrCat(ShownText(name), ": got a setting above others; wanted one of the two"));
    }
    absl::StatusOr<Json> value = JsonOf(tensor, &left);
    if (!value.ok()) {
      return Annotate(value.status(), ShownText(name));
    }
    *place = *std::move(value);
  }
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

absl::StatusOr<std::optional<int64_t>> TakeInteger(const char* name, int64_t least, int64_t most,
                                                   RpcSettings* settings) {
  const auto found = settings->find(name);
  if (found == settings->end()) {
    return std::optional<int64_t>();
  }
  const dm::Tensor tensor = found->second;
  settings->erase(found);
  int64_t value = 0;
  if (!IsInteger(TypeOf(tensor)) || PayloadSize(tensor) != 1 || tensor.shape_size() != 0 ||
      !ReadElements(tensor, 0, 1, DType::kInt64, {}, &value).ok() || value < least || value > most) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": got another tensor; wanted a whole number, ", least, " to ", most));
  }
  return std::optional<int64_t>(value);
}

}  // namespace waggle
