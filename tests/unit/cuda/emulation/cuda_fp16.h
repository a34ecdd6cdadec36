// In the place of NVIDIA's: a float16 that a float is rounded to, to nearest.
#pragma once

struct __half {
  __half() = default;
  __half(float x) : value(static_cast<_Float16>(x)) {}
  explicit operator float() const { return static_cast<float>(value); }

  _Float16 value;
};
