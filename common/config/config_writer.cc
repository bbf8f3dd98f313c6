#include "common/config/config_writer.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/config/scalar_text.h"

namespace waggle {

void ConfigWriter::Line(const char* key, const std::string& value) {
  std::string indent(static_cast<size_t>(2 * indent_), ' ');
  if (begins_element_) {
    indent[indent.size() - 2] = '-';
    begins_element_ = false;
  }
  absl::StrAppend(&text_, indent, key, ":", value.empty() ? "" : " ", value, "\n");
}

void ConfigWriter::Int(const char* key, int64_t* value, const Range&) {
  Line(key, absl::StrCat(*value));
}

void ConfigWriter::Double(const char* key, double* value, const Range&) {
  Line(key, NumberText(*value));
}

void ConfigWriter::OptionalDouble(const char* key, std::optional<double>* value, const Range&) {
  Line(key, value->has_value() ? NumberText(**value) : "null");
}

void ConfigWriter::OptionalInt(const char* key, std::optional<int64_t>* value, const Range&) {
  Line(key, value->has_value() ? absl::StrCat(**value) : "null");
}

void ConfigWriter::Bool(const char* key, bool* value) {
  Line(key, *value ? "true" : "false");
}

void ConfigWriter::String(const char* key, std::string* value) {
  Line(key, TextScalar(*value));
}

void ConfigWriter::Choice(const char* key, std::string* value, const std::vector<std::string>&) {
  Line(key, TextScalar(*value));
}

void ConfigWriter::IntList(const char* key, std::vector<int64_t>* value, const Range&) {
  Line(key, absl::StrCat("[", absl::StrJoin(*value, ", "), "]"));
}

void ConfigWriter::DoubleList(const char* key, std::vector<double>* value, const Range&) {
  std::vector<std::string> numbers;
  for (const double number : *value) {
    numbers.push_back(NumberText(number));
  }
  Line(key, absl::StrCat("[", absl::StrJoin(numbers, ", "), "]"));
}

void ConfigWriter::TextList(const char* key, std::vector<std::string>* value, bool (*)(const std::string&),
                            const char*) {
  std::vector<std::string> scalars;
  for (const std::string& text : *value) {
    scalars.push_back(TextScalar(text));
  }
  Line(key, absl::StrCat("[", absl::StrJoin(scalars, ", "), "]"));
}

void ConfigWriter::Points(const char* key, std::vector<waggle::Schedule::Point>* points, const Range&, const Range&) {
  std::vector<std::string> pairs;
  for (const waggle::Schedule::Point& point : *points) {
    pairs.push_back(absl::StrCat("[", NumberText(point.at), ", ", NumberText(point.value), "]"));
  }
  Line(key, absl::StrCat("[", absl::StrJoin(pairs, ", "), "]"));
}

bool ConfigWriter::BeginSection(const char* key) {
  Line(key, "");
  ++indent_;
  begins_.push_back(text_.size());
  return true;
}

void ConfigWriter::EndSection(const absl::Status&) {
  --indent_;
  if (text_.size() == begins_.back()) {  // A map without entries: without braces it would read as no map.
    text_.insert(text_.size() - 1, " {}");
  }
  begins_.pop_back();
}

int64_t ConfigWriter::BeginList(const char* key, int64_t current_size) {
  if (current_size == 0) {
    Line(key, "[]");
    return -1;
  }
  Line(key, "");
  ++indent_;
  return current_size;
}

bool ConfigWriter::BeginElement(int64_t) {
  ++indent_;
  begins_.push_back(std::string::npos);
  begins_element_ = true;
  return true;
}

void ConfigWriter::EndList() {
  --indent_;
}

}  // namespace waggle
