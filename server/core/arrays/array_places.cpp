// Where the bytes of arrays lie (kernels/devices/device.h), as far as the store is asked: it knows their names.
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/mutex.h"
#include "server/core/arrays/array_table.h"

namespace hotplate::core {

ArraySnapshot ArrayStore::Impl::Snapshot(const ArrayEntry& entry) const {
  ArraySnapshot array = entry.array;
  if (copies == nullptr || entry.buffer == nullptr) return array;
  array.lost = copies->WhyLost(*entry.buffer);
  if (!array.lost.empty()) {
    array.location.clear();
  } else if (std::string device = copies->DeviceOf(*entry.buffer); !device.empty()) {
    array.location = std::move(device);
  }
  return array;
}

absl::Status ArrayStore::Impl::LossOf(const ArrayEntry& entry) const {
  if (copies == nullptr) return absl::OkStatus();
  const absl::Status status = copies->LossOf(*entry.buffer);
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat("array ", entry.array.label(), ": ", status.message()));
}

absl::Status ArrayStore::Impl::Named(const HostBuffer& buffer, const absl::Status& status) const {
  if (status.ok()) return status;
  std::string label = "an array that was freed meanwhile";
  MutexLock lock(mutex);
  for (const auto& [number, entry] : arrays) {
    if (entry->buffer.get() == &buffer) label = absl::StrCat("array ", entry->array.label());
  }
  return absl::Status(status.code(), absl::StrCat(label, ": ", status.message()));
}

void ArrayStore::Fetch(const std::shared_ptr<const HostBuffer>& buffer, DeviceCopies::Done done) const {
  if (!buffer->absent()) return done(absl::OkStatus());
  impl_->copies->Fetch(buffer, [impl = impl_.get(), buffer, done = std::move(done)](const absl::Status& status) {
    done(impl->Named(*buffer, status));
  });
}

absl::Status ArrayStore::Fetch(const std::shared_ptr<const HostBuffer>& buffer) const {
  if (!buffer->absent()) return absl::OkStatus();
  return impl_->Named(*buffer, impl_->copies->Fetch(buffer));
}

absl::StatusOr<DeviceCopies::Hold> ArrayStore::BringTo(const std::string& device,
                                                       const std::shared_ptr<const HostBuffer>& buffer) const {
  if (!buffer->absent()) return DeviceCopies::Hold();
  absl::StatusOr<DeviceCopies::Hold> hold = impl_->copies->Bring(buffer, device);
  if (!hold.ok()) return impl_->Named(*buffer, hold.status());
  return hold;
}

std::string ArrayStore::DeviceOf(const HostBuffer& buffer) const {
  return impl_->copies == nullptr ? "" : impl_->copies->DeviceOf(buffer);
}

void ArrayStore::Stayed(const HostBuffer& buffer, const std::string& device) const {
  impl_->copies->Stayed(buffer, device);
}

std::vector<ArraySnapshot> ArrayStore::LoseDevice(const std::string& device, const std::string& why) {
  std::vector<ArraySnapshot> lost;
  if (impl_->copies == nullptr) return lost;
  impl_->copies->Lose(device, why);
  MutexLock lock(impl_->mutex);
  for (const auto& [number, entry] : impl_->arrays) {
    if (entry->buffer == nullptr || entry->loss_told || impl_->copies->DeviceOf(*entry->buffer) != device) continue;
    entry->loss_told = true;
    lost.push_back(entry->array);
  }
  return lost;
}

}  // namespace hotplate::core
