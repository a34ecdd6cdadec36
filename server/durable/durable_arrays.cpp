#include "server/durable/durable_arrays.h"

#include <filesystem>
#include <system_error>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "kernels/array/npy.h"
#include "kernels/base/quantity.h"
#include "server/service/auth.h"

namespace hotplate::server {

using core::LogLevel;
using journal::Durability;

absl::StatusOr<core::ArraySnapshot> DurableArrays::Read(const journal::ArraySaved& saved, core::nanoseconds lease) {
  std::variant<NpyFile, NpyError> opened = NpyFile::Open(saved.file);
  if (const auto* error = std::get_if<NpyError>(&opened)) return absl::UnavailableError(error->message);
  NpyFile& file = std::get<NpyFile>(opened);
  absl::StatusOr<std::shared_ptr<HostBuffer>> buffer = arrays_.AllocateArray(ByteSize(file.signature()).value_or(0));
  if (!buffer.ok()) return buffer.status();
  if (const auto error = file.Read((*buffer)->bytes())) return absl::UnavailableError(error->message);
  const core::Principal owner{saved.owner, core::SessionId(), core::Scope::kSubmit};
  return arrays_.Adopt(owner, file.signature(), saved.name, lease, *std::move(buffer), saved.number);
}

void DurableArrays::Restore(const std::vector<journal::ArraySaved>& saved) {
  std::uint64_t bytes = 0;
  std::size_t count = 0;
  for (const journal::ArraySaved& one : saved) {
    const bool is_guests = one.owner != kOwnerToken;
    const core::nanoseconds left = one.lease_end - core::WallTime::clock::now();
    if (left <= core::nanoseconds::zero()) {
      journal_.Append(journal::ArrayGone{one.file}, Durability::kBehind);
      log_(LogLevel::kInfo,
           absl::StrCat("array ", one.name, " of a daemon before this one: its lease is over; ",
                        is_guests ? "it was guest " + one.owner + "'s, and goes with its file " : "it is still in ",
                        one.file));
      if (!is_guests) continue;
      MutexLock lock(mutex_);
      gone_.push_back(one.file);
      continue;
    }
    const absl::StatusOr<core::ArraySnapshot> array = Read(one, left);
    if (!array.ok()) {
      log_(LogLevel::kWarning, absl::StrCat("array ", one.name, " of a daemon before this one is not back: ", one.file,
                                            ": ", array.status().message()));
      continue;
    }
    bytes += array->bytes;
    ++count;
    MutexLock lock(mutex_);
    saved_[one.file] = {array->id, one.lease_end, is_guests};
  }
  if (count > 0) {
    log_(LogLevel::kInfo,
         absl::StrCat("from files: ", count, " arrays of daemons before this one, ", BytesText(bytes)));
  }
}

void DurableArrays::WriteSaved(const core::ArraySnapshot& array, const std::string& file, Durability durability,
                               journal::Completion done) {
  // Under the lock, so that the journal has it before Look finds the array gone.
  MutexLock lock(mutex_);
  saved_[file] = {array.id, *array.lease_end, array.owner.token != kOwnerToken};
  journal_.Append(
      journal::ArraySaved{file, array.name, array.owner.token, *array.lease_end, core::ArrayStore::NumberIn(array.id)},
      durability, std::move(done));
}

void DurableArrays::NoteSaved(const core::ArrayId& id, const std::string& file) {
  const absl::StatusOr<core::ArraySnapshot> array = arrays_.Describe(core::Everybody(), id.value());
  if (!array.ok() || array->name.empty() || !array->lease_end) return;
  WriteSaved(*array, file, Durability::kBehind);
}

std::string DurableArrays::FileOf(const core::ArrayId& id) const {
  MutexLock lock(mutex_);
  for (const auto& [file, saved] : saved_) {
    if (saved.id == id) return file;
  }
  return "";
}

void DurableArrays::Look() {
  MutexLock lock(mutex_);
  for (auto at = saved_.begin(); at != saved_.end();) {
    auto& [file, saved] = *at;
    const absl::StatusOr<core::ArraySnapshot> array = arrays_.Describe(core::Everybody(), saved.id.value());
    if (!array.ok() || !array->lease_end) {
      journal_.Append(journal::ArrayGone{file}, Durability::kSynced);
      if (saved.is_guests) gone_.push_back(file);
      at = saved_.erase(at);
      continue;
    }
    if (*array->lease_end != saved.lease_end) {
      saved.lease_end = *array->lease_end;
      journal_.Append(journal::ArraySaved{file, array->name, array->owner.token, saved.lease_end,
                                          core::ArrayStore::NumberIn(array->id)},
                      Durability::kBehind);
    }
    ++at;
  }
}

void DurableArrays::RemoveGone() {
  std::vector<std::string> files;
  {
    MutexLock lock(mutex_);
    files.swap(gone_);
  }
  for (const std::string& file : files) {
    std::error_code error;
    std::filesystem::remove(file, error);
    if (error) log_(LogLevel::kWarning, absl::StrCat(file, " of a guest's array stays: ", error.message()));
  }
}

}  // namespace hotplate::server
