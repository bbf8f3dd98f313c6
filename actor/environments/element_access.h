#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace waggle {

// Element `index` of an array of any alignment.
template <class Element>
Element ElementAt(const void* array, int64_t index = 0) {
  Element element;
  std::memcpy(&element, static_cast<const char*>(array) + static_cast<size_t>(index) * sizeof(element),
              sizeof(element));
  return element;
}

// Writes all elements of a float32 array of any alignment.
template <size_t kSize>
void WriteFloats(const double (&numbers)[kSize], void* array) {
  float elements[kSize];
  for (size_t i = 0; i < kSize; ++i) {
    elements[i] = static_cast<float>(numbers[i]);
  }
  std::memcpy(array, elements, sizeof(elements));
}

}  // namespace waggle
