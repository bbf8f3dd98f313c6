#pragma once

#include <memory>
#include <utility>

namespace waggle {

// A value that copies share until one of them changes, so copying is cheap. Threads may read it through own copies.
template <class T>
class SharedValue {
 public:
  SharedValue() : SharedValue(T()) {}
  SharedValue(T value) : value_(std::make_shared<T>(std::move(value))) {}  // NOLINT: implicit on purpose.

  const T& operator*() const { return *value_; }
  const T* operator->() const { return value_.get(); }

  // Returns the value to change in this copy only. The pointer is valid until this is copied.
  T* Change() {
    if (value_.use_count() > 1) {
      value_ = std::make_shared<T>(*value_);
    }
    return value_.get();
  }

 private:
  std::shared_ptr<T> value_;
};

}  // namespace waggle
