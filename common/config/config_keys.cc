#include "common/config/config_keys.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace waggle {

void ConfigKeys::Add(const char* key) {
  paths_.push_back(absl::StrCat(absl::StrJoin(sections_, "."), sections_.empty() ? "" : ".", key));
}

void ConfigKeys::Int(const char* key, int64_t*, const Range&) {
  Add(key);
}

void ConfigKeys::Double(const char* key, double*, const Range&) {
  Add(key);
}

void ConfigKeys::OptionalDouble(const char* key, std::optional<double>*, const Range&) {
  Add(key);
}

void ConfigKeys::OptionalInt(const char* key, std::optional<int64_t>*, const Range&) {
  Add(key);
}

void ConfigKeys::Bool(const char* key, bool*) {
  Add(key);
}

void ConfigKeys::String(const char* key, std::string*) {
  Add(key);
}

void ConfigKeys::Choice(const char* key, std::string*, const std::vector<std::string>&) {
  Add(key);
}

void ConfigKeys::IntList(const char* key, std::vector<int64_t>*, const Range&) {
  Add(key);
}

bool ConfigKeys::BeginSection(const char* key) {
  sections_.emplace_back(key);
  return true;
}

void ConfigKeys::EndSection(const absl::Status&) {
  sections_.pop_back();
}

int64_t ConfigKeys::BeginList(const char* key, int64_t) {
  Add(key);
  return -1;
}

bool ConfigKeys::BeginElement(int64_t) {
  return false;
}

}  // namespace waggle
