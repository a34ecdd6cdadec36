// Owned, aligned host memory for an array's elements. Not zeroed: write every byte before handing it out.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace hotplate {

class HostBuffer {
 public:
  static constexpr std::size_t kAlignment = 64;

  // Null if the memory cannot be had. Zero bytes are fine.
  static std::shared_ptr<HostBuffer> Allocate(std::size_t bytes, std::uint64_t identity = 0);

  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;
  ~HostBuffer();

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  // Identifies the content once it is complete and never changes again; 0: no identity.
  std::uint64_t identity() const { return identity_; }
  // The content is on a device alone (kernels/devices/device.h): nothing may be read here, and the memory is little
  // more than its addresses until a device writes it.
  bool absent() const { return std::atomic_ref(absent_).load(std::memory_order_acquire) != 0; }
  // For the device: hotplate_array::absent.
  std::uint32_t* absent_flag() const { return &absent_; }
  std::span<std::byte> bytes() { return {data_, size_}; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  HostBuffer(std::byte* data, std::size_t size, std::uint64_t identity)
      : data_(data), size_(size), identity_(identity) {}

  static std::shared_ptr<HostBuffer> AllocateSmall(std::size_t bytes, std::uint64_t identity);

  std::byte* data_;
  std::size_t size_;
  std::uint64_t identity_;
  alignas(4) mutable std::uint32_t absent_ = 0;
};

}  // namespace hotplate
