// The owner of a file descriptor.
#pragma once

#include <unistd.h>

#include <utility>

namespace hotplate {

class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor() { Close(); }
  Descriptor(Descriptor&& other) noexcept : number_(other.Release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) Take(other.Release());
    return *this;
  }
  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  void Take(int number) {
    Close();
    number_ = number;
  }
  int Release() { return std::exchange(number_, -1); }
  void Close() {
    if (number_ >= 0) close(number_);
    number_ = -1;
  }

 private:
  int number_;
};

}  // namespace hotplate
