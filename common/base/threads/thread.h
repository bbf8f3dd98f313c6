#pragma once

#include <pthread.h>

#include <string>
#include <thread>
#include <utility>

namespace waggle {

// A named thread that the destructor joins. The owner must make its function return before.
class Thread {
 public:
  Thread() = default;

  template <class Function>
  Thread(const std::string& name, Function&& function)
      : thread_([name, function = std::forward<Function>(function)]() mutable {
          pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());  // The kernel's limit is 15.
          function();
        }) {}

  Thread(Thread&&) = default;
  Thread& operator=(Thread&& other) {
    Join();
    thread_ = std::move(other.thread_);
    return *this;
  }
  ~Thread() { Join(); }

  void Join() {
    if (thread_.joinable()) {
      thread_.join();
    }
  }

 private:
  std::thread thread_;
};

}  // namespace waggle
