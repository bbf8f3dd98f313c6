#include "actor/environments/rpc/served_properties.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/shown_text.h"
#include "dm_env_rpc/v1/extensions/properties.pb.h"

namespace waggle {
namespace {

namespace extension = ::dm_env_rpc::v1::extensions::properties;

absl::Status NoSuchProperty(const std::string& key) {
  return absl::NotFoundError(absl::StrCat("key: got \"", ShownText(key), "\"; there is no such property"));
}

}  // namespace

absl::Status AnswerProperty(const google::protobuf::Any& request, const std::vector<ServedProperty>& properties,
                            google::protobuf::Any* response) {
  extension::PropertyRequest asked;
  if (!request.Is<extension::PropertyRequest>() || !request.UnpackTo(&asked)) {
    return absl::UnimplementedError(
        absl::StrCat("extension: wanted a ", asked.GetTypeName(), ", the only one there is"));
  }
  extension::PropertyResponse answer;
  switch (asked.payload_case()) {
    case extension::PropertyRequest::kReadProperty: {
      const auto found = std::find_if(properties.begin(), properties.end(), [&asked](const ServedProperty& property) {
        return property.key == asked.read_property().key();
      });
      if (found == properties.end()) {
        return NoSuchProperty(asked.read_property().key());
      }
      *answer.mutable_read_property()->mutable_value() = found->value;
      break;
    }
    case extension::PropertyRequest::kListProperty:
      if (!asked.list_property().key().empty()) {
        return NoSuchProperty(asked.list_property().key());
      }
      answer.mutable_list_property();
      for (const ServedProperty& property : properties) {
        extension::PropertySpec* const spec = answer.mutable_list_property()->add_values();
        spec->mutable_spec()->set_name(property.key);
        spec->mutable_spec()->set_dtype(property.type);
        spec->set_is_readable(true);
        spec->set_description(property.description);
      }
      break;
    case extension::PropertyRequest::kWriteProperty:
      return absl::PermissionDeniedError("properties can be read only");
    default:
      return absl::InvalidArgumentError("extension: got a request without a payload; wanted one");
  }
  response->PackFrom(answer);
  return absl::OkStatus();
}

}  // namespace waggle
