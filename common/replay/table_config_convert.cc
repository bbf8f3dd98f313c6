#include "common/replay/table_config_convert.h"

#include <google/protobuf/message.h>

#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/config/table/table_fields.h"
#include "common/net/array_spec_convert.h"

namespace waggle {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

void Write(const ArraySpec& column, Message* message) {
  message->CopyFrom(ToProto(column));
}

template <class Part>
void Write(const Part& part, Message* message);

// Writes fields into a message, each under its own name.
struct Writer {
  template <class T>
  void operator()(const TableField& field, const T& value) const {
    const FieldDescriptor* const at = message->GetDescriptor()->FindFieldByName(field.key);
    const auto* const reflection = message->GetReflection();
    if constexpr (std::is_enum_v<T>) {
      reflection->SetEnumValue(message, at, static_cast<int>(value));
    } else if constexpr (std::is_same_v<T, bool>) {
      reflection->SetBool(message, at, value);
    } else if constexpr (std::is_same_v<T, uint64_t>) {
      reflection->SetUInt64(message, at, value);
    } else if constexpr (std::is_same_v<T, int64_t>) {
      at->cpp_type() == FieldDescriptor::CPPTYPE_INT32 ? reflection->SetInt32(message, at, static_cast<int32_t>(value))
                                                       : reflection->SetInt64(message, at, value);
    } else if constexpr (std::is_same_v<T, double>) {
      reflection->SetDouble(message, at, value);
    } else if constexpr (std::is_same_v<T, std::optional<double>>) {
      if (value.has_value()) {
        reflection->SetDouble(message, at, *value);
      }
    } else if constexpr (std::is_same_v<T, std::string>) {
      reflection->SetString(message, at, value);
    } else if constexpr (std::is_aggregate_v<T>) {
      Write(value, reflection->MutableMessage(message, at));
    } else {
      for (const auto& element : value) {
        Write(element, reflection->AddMessage(message, at));
      }
    }
  }

  Message* message;
};

template <class Part>
void Write(const Part& part, Message* message) {
  Part::Visit(Writer{message}, part);
}

// Reads them back. The caller reads the signature, which may be refused.
struct Reader {
  template <class T>
  void operator()(const TableField& field, T& value) const {
    const FieldDescriptor* const at = message.GetDescriptor()->FindFieldByName(field.key);
    const auto* const reflection = message.GetReflection();
    if constexpr (std::is_enum_v<T>) {
      value = static_cast<T>(reflection->GetEnumValue(message, at));
    } else if constexpr (std::is_same_v<T, bool>) {
      value = reflection->GetBool(message, at);
    } else if constexpr (std::is_same_v<T, uint64_t>) {
      value = reflection->GetUInt64(message, at);
    } else if constexpr (std::is_same_v<T, int64_t>) {
      value = at->cpp_type() == FieldDescriptor::CPPTYPE_INT32 ? reflection->GetInt32(message, at)
                                                               : reflection->GetInt64(message, at);
    } else if constexpr (std::is_same_v<T, double>) {
      value = reflection->GetDouble(message, at);
    } else if constexpr (std::is_same_v<T, std::optional<double>>) {
      if (reflection->HasField(message, at)) {
        value = reflection->GetDouble(message, at);
      }
    } else if constexpr (std::is_same_v<T, std::string>) {
      value = reflection->GetString(message, at);
    } else if constexpr (std::is_aggregate_v<T>) {
      T::Visit(Reader{reflection->GetMessage(message, at)}, value);
    } else if constexpr (!std::is_same_v<T, std::vector<ArraySpec>>) {
      value.resize(static_cast<size_t>(reflection->FieldSize(message, at)));
      for (size_t i = 0; i < value.size(); ++i) {
        T::value_type::Visit(Reader{reflection->GetRepeatedMessage(message, at, static_cast<int>(i))}, value[i]);
      }
    }
  }

  const Message& message;
};

// Checked before memory is taken for the lists: a small message may have very many entries.
absl::Status CheckListSizes(const v1::TableConfig& proto) {
  if (proto.view_size() > kMaxViewFields) {
    return absl::InvalidArgumentError(
        absl::StrCat("view: got ", proto.view_size(), " fields; wanted 1 to ", kMaxViewFields));
  }
  if (proto.compression_size() > kMaxColumns) {
    return absl::InvalidArgumentError(
        absl::StrCat("compression: got ", proto.compression_size(), " columns; wanted at most ", kMaxColumns));
  }
  return absl::OkStatus();
}

}  // namespace

v1::TableConfig ToProto(const TableConfig& config) {
  v1::TableConfig proto;
  Write(config, &proto);
  return proto;
}

absl::StatusOr<TableConfig> FromProto(const v1::TableConfig& proto) {
  WAGGLE_RETURN_IF_ERROR(CheckListSizes(proto));
  TableConfig config;
  WAGGLE_ASSIGN_OR_RETURN(config.signature, FromProto(proto.signature()));
  TableConfig::Visit(Reader{proto}, config);
  for (ViewField& field : config.view) {
    field.stack = field.stack == 0 ? 1 : field.stack;
  }
  if (proto.future_row() == v1::FUTURE_ROW_UNSPECIFIED) {
    config.future_row = FutureRow::kLater;
  }
  WAGGLE_RETURN_IF_ERROR(config.Validate());
  return config;
}

}  // namespace waggle
