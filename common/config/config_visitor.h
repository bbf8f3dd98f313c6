#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/config/range.h"
#include "common/config/schedule.h"

namespace waggle {

// Walks over the fields of an options struct. A struct describes its fields once, in Visit(ConfigVisitor&), and that
// one description serves to read it from YAML, to check it and to print the effective configuration:
//
//   struct StopOptions {
//     double max_seconds = 0;
//     void Visit(ConfigVisitor& visitor) { visitor.Double("max_seconds", &max_seconds, In(0, 1e9)); }
//     absl::Status Validate() const;
//   };
//
// Keys equal the fields' names. A key that is absent leaves its field at the default that the struct gives it. Problems
// never stop the walk: a reader collects all of them, each with its file, line and path.
//
// Validate() checks relations between fields. Its message has one line a problem; a line that begins with a field's
// name, or a path such as "section.field", and a colon is reported at that field.
class ConfigVisitor {
 public:
  virtual ~ConfigVisitor() = default;

  virtual void Int(const char* key, int64_t* value, const Range& range) = 0;
  virtual void Double(const char* key, double* value, const Range& range) = 0;
  // A number that may be left out or `null`, and is absent then.
  virtual void OptionalDouble(const char* key, std::optional<double>* value, const Range& range) = 0;
  virtual void OptionalInt(const char* key, std::optional<int64_t>* value, const Range& range) = 0;
  virtual void Bool(const char* key, bool* value) = 0;
  virtual void String(const char* key, std::string* value) = 0;
  // Text that `is_right` accepts; `wanted` describes it: "cpu, cuda or cuda:N".
  virtual void CheckedString(const char* key, std::string* value, bool (* /*is_right*/)(const std::string&),
                             const char* /*wanted*/) {
    String(key, value);
  }
  // One of a few words. The key must be given if the default is not one of them.
  virtual void Choice(const char* key, std::string* value, const std::vector<std::string>& choices) = 0;
  virtual void IntList(const char* key, std::vector<int64_t>* value, const Range& range) = 0;
  virtual void DoubleList(const char* /*key*/, std::vector<double>* /*value*/, const Range& /*range*/) {}
  // A list of texts that `is_right` accepts; `wanted` describes one.
  virtual void TextList(const char* key, std::vector<std::string>* /*value*/, bool (* /*is_right*/)(const std::string&),
                        const char* /*wanted*/) {
    std::string unused;
    String(key, &unused);
  }
  // Values of any form, which are handed on, as JSON, to code that knows them. Keys that are read override those of the
  // mapping that is there.
  virtual void AnyValue(const char* key, std::string* json) { String(key, json); }
  // A list of [CLOCK, VALUE], with the ranges of both.
  virtual void Points(const char* /*key*/, std::vector<waggle::Schedule::Point>* /*points*/, const Range& /*at*/,
                      const Range& /*value*/) {}
  // A number, or a section with its schedule; its ends, or the values of its points, are within the range.
  virtual void Schedule(const char* key, waggle::Schedule* value, const Range& range);

  // A number, for both ends, or a section with `min` and `max`; min is at most max.
  void IntRange(const char* key, int64_t* least, int64_t* most, const Range& range);

  // True if a key that has a meaning only beside some values of earlier keys must be visited. A reader refuses one that
  // is given without a meaning, whatever its value, with `otherwise`: "means nothing to the sampler fifo; wanted none".
  virtual bool Applies(const char* /*key*/, bool has_meaning, absl::string_view /*otherwise*/) { return has_meaning; }

  // Names a key's earlier name. A reader refuses it with the present one.
  virtual void Renamed(const char* /*old_key*/, const char* /*key*/) {}

  // True if an optional key must be visited. A writer leaves it out if it is not given.
  bool MayBeGiven(bool is_given) const { return Reading() || is_given; }

  // True if an optional section must be visited. Without it all its keys, required ones too, are absent.
  virtual bool IsGiven(const char* /*key*/, bool is_given) { return is_given; }

  // Accepts keys of the current section that nothing asks for: their form is not known.
  virtual void AllowOtherKeys() = 0;

  // A struct within the struct, under a key of its own. Its Validate() comes last, if all its fields were right.
  template <class Struct>
  void Section(const char* key, Struct* section) {
    if (BeginSection(key)) {
      section->Visit(*this);
      EndSection(section->Validate());
    }
  }

  // Structs under names that the user chooses, each a section of its own. A section that is read overrides the entry of
  // its name; the others stay.
  template <class Struct>
  void Map(const char* key, std::map<std::string, Struct>* map) {
    Entries(key, map, [this](const char* name, Struct* entry) { Section(name, entry); });
  }
  // Texts under such names; `is_right` accepts one.
  void TextMap(const char* key, std::map<std::string, std::string>* map, bool (*is_right)(const std::string&),
               const char* wanted) {
    Entries(key, map, [this, is_right, wanted](const char* name, std::string* text) {
      CheckedString(name, text, is_right, wanted);
    });
  }
  // The same for lists of structs.
  template <class Struct>
  void MapOfLists(const char* key, std::map<std::string, std::vector<Struct>>* map) {
    Entries(key, map, [this](const char* name, std::vector<Struct>* entry) { List(name, entry); });
  }

  // A list of structs under one key; each element given is read over a default-constructed one.
  template <class Struct>
  void List(const char* key, std::vector<Struct>* list) {
    List(key, list, [] { return Struct(); });
  }
  // The same with elements that `make()` gives.
  template <class Struct, class Make>
  void List(const char* key, std::vector<Struct>* list, const Make& make) {
    const int64_t given = BeginList(key, static_cast<int64_t>(list->size()));
    if (given < 0) {
      return;
    }
    while (static_cast<int64_t>(list->size()) < given) {
      list->push_back(make());
    }
    list->erase(list->begin() + given, list->end());
    for (int64_t i = 0; i < given; ++i) {
      if (BeginElement(i)) {
        Struct& element = (*list)[static_cast<size_t>(i)];
        if (Reading()) {
          element = make();
        }
        element.Visit(*this);
        EndSection(element.Validate());
      }
    }
    EndList();
  }

 protected:
  // True if fields get values; false if they are read.
  virtual bool Reading() const = 0;
  // The form of a schedule, or a range, under this key: absent, a number or a section. `moves`: the present one moves,
  // or its ends differ.
  enum class ScheduleForm { kAbsent, kNumber, kSection };
  virtual ScheduleForm FormOf(const char* key, bool moves) = 0;
  // The names to visit in the present section; `present` are those of its entries.
  virtual std::vector<std::string> EntryNames(std::vector<std::string> present) = 0;
  // False if there is nothing to visit.
  virtual bool BeginSection(const char* key) = 0;
  virtual void EndSection(const absl::Status& validity) = 0;
  // The number of elements to visit; negative: leave the list as it is, without EndList.
  virtual int64_t BeginList(const char* key, int64_t current_size) = 0;
  virtual bool BeginElement(int64_t index) = 0;
  virtual void EndList() = 0;

 private:
  template <class Entry, class VisitEntry>
  void Entries(const char* key, std::map<std::string, Entry>* map, const VisitEntry& visit_entry) {
    if (!BeginSection(key)) {
      return;
    }
    std::vector<std::string> present;
    for (const auto& [name, entry] : *map) {
      present.push_back(name);
    }
    for (const std::string& name : EntryNames(std::move(present))) {
      visit_entry(name.c_str(), &(*map)[name]);
    }
    EndSection(absl::OkStatus());
  }
};

}  // namespace waggle
