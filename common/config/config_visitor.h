#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace waggle {

// Walks over the fields of an options struct. A struct describes its fields once, in Visit(ConfigVisitor&), and that
// one description serves to read it from YAML, to print the effective configuration and to list the known keys:
//
//   struct StopOptions {
//     double max_seconds = 0;
//     void Visit(ConfigVisitor& visitor) { visitor.Double("max_seconds", &max_seconds, 0, 1e9); }
//     absl::Status Validate() const;
//   };
//
// Keys equal the fields' names. A key that is absent leaves its field at the default that the struct gives it. Problems
// never stop the walk: a reader collects all of them, each with its file, line and path.
//
// Validate() checks what single fields cannot show. Its message has one line a problem; a line that begins with a
// field's name, or a path such as "section.field", and a colon is reported where that field stands.
class ConfigVisitor {
 public:
  virtual ~ConfigVisitor() = default;

  // Numbers must lie in [minimum, maximum].
  virtual void Int(const char* key, int64_t* value, int64_t minimum, int64_t maximum) = 0;
  virtual void Double(const char* key, double* value, double minimum, double maximum) = 0;
  // A number that may be left out, or be `null`: then there is none.
  virtual void OptionalDouble(const char* key, std::optional<double>* value, double minimum, double maximum) = 0;
  virtual void Bool(const char* key, bool* value) = 0;
  virtual void String(const char* key, std::string* value) = 0;
  // Text that is right by itself, as `is_right` knows; `wanted` says what that is: "cpu, cuda or cuda:N".
  virtual void CheckedString(const char* key, std::string* value, bool (* /*is_right*/)(const std::string&),
                             const char* /*wanted*/) {
    String(key, value);
  }
  // One of a few words. Where the default is none of them, the key must be given.
  virtual void Choice(const char* key, std::string* value, const std::vector<std::string>& choices) = 0;
  virtual void IntList(const char* key, std::vector<int64_t>* value, int64_t minimum, int64_t maximum) = 0;

  // Lets keys of the current section pass that nothing asks for: what they should be is not known.
  virtual void AllowOtherKeys() = 0;

  // A struct within the struct, under a key of its own. Its Validate(), where all its fields were right, has the last
  // word.
  template <class Struct>
  void Section(const char* key, Struct* section) {
    if (BeginSection(key)) {
      section->Visit(*this);
      EndSection(section->Validate());
    }
  }

  // A list of structs under one key; each element given is read over a default-constructed one.
  template <class Struct>
  void List(const char* key, std::vector<Struct>* list) {
    const int64_t given = BeginList(key, static_cast<int64_t>(list->size()));
    if (given < 0) {
      return;
    }
    list->resize(static_cast<size_t>(given));
    for (int64_t i = 0; i < given; ++i) {
      if (BeginElement(i)) {
        Struct& element = (*list)[static_cast<size_t>(i)];
        if (Reading()) {
          element = Struct();
        }
        element.Visit(*this);
        EndSection(element.Validate());
      }
    }
    EndList();
  }

 protected:
  // Whether fields are being given values, as against being read.
  virtual bool Reading() const = 0;
  // False: there is nothing to visit there.
  virtual bool BeginSection(const char* key) = 0;
  virtual void EndSection(const absl::Status& validity) = 0;
  // How many elements to visit; negative: leave the list as it is, without EndList.
  virtual int64_t BeginList(const char* key, int64_t current_size) = 0;
  virtual bool BeginElement(int64_t index) = 0;
  virtual void EndList() = 0;
};

}  // namespace waggle
