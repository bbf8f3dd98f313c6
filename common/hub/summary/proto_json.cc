#include "common/hub/summary/proto_json.h"

#include "absl/strings/ascii.h"

namespace waggle {
namespace {

using Json = nlohmann::ordered_json;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Element `i` of a repeated field, or another field's value.
Json ValueJson(const Message& message, const FieldDescriptor* field, int i) {
  const google::protobuf::Reflection& values = *message.GetReflection();
#define WAGGLE_VALUE(Type) \
  (field->is_repeated() ? values.GetRepeated##Type(message, field, i) : values.Get##Type(message, field))
#define WAGGLE_CASE(TYPE, Type)         \
  case FieldDescriptor::CPPTYPE_##TYPE: \
    return WAGGLE_VALUE(Type);
  switch (field->cpp_type()) {
    WAGGLE_CASE(INT32, Int32)
    WAGGLE_CASE(INT64, Int64)
    WAGGLE_CASE(UINT32, UInt32)
    WAGGLE_CASE(UINT64, UInt64)
    WAGGLE_CASE(DOUBLE, Double)
    WAGGLE_CASE(FLOAT, Float)
    WAGGLE_CASE(BOOL, Bool)
    WAGGLE_CASE(STRING, String)
    case FieldDescriptor::CPPTYPE_ENUM:
      return EnumName(*field->enum_type(), WAGGLE_VALUE(EnumValue));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return ProtoJson(WAGGLE_VALUE(Message));
  }
#undef WAGGLE_CASE
#undef WAGGLE_VALUE
  return nullptr;
}

}  // namespace

Json ProtoJson(const Message& message, const std::set<std::string>& left_out) {
  Json json = Json::object();
  for (int f = 0; f < message.GetDescriptor()->field_count(); ++f) {
    const FieldDescriptor* const field = message.GetDescriptor()->field(f);
    if (left_out.count(field->name()) > 0) {
      continue;
    }
    Json& value = json[field->name()];
    if (field->is_repeated()) {
      value = Json::array();
      for (int i = 0; i < message.GetReflection()->FieldSize(message, field); ++i) {
        value.push_back(ValueJson(message, field, i));
      }
    } else if (!field->has_presence() || message.GetReflection()->HasField(message, field)) {
      value = ValueJson(message, field, 0);
    }
  }
  return json;
}

std::string EnumName(const google::protobuf::EnumDescriptor& type, int number) {
  const google::protobuf::EnumValueDescriptor* const value = type.FindValueByNumber(number);
  // All names have the prefix of 0's, "VERDICT_UNSPECIFIED".
  return value == nullptr ? "unknown"
                          : absl::AsciiStrToLower(value->name().substr(type.value(0)->name().rfind('_') + 1));
}

}  // namespace waggle
