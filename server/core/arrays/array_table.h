// The table of the daemon's arrays: what it knows of each, their names, and who takes a name next. ArrayStore's calls
// lock it and ask it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "kernels/base/mutex.h"
#include "server/core/arrays/arrays.h"
#include "server/core/arrays/counted_memory.h"

namespace hotplate::core {

// The number of an array's id, or 0 for a text that is none.
std::uint64_t NumberOf(const std::string& id);

struct ArrayEntry {
  ArraySnapshot array;
  std::shared_ptr<HostBuffer> filling;       // while WRITING
  std::shared_ptr<const HostBuffer> buffer;  // once READY
  bool has_writer = false;
  bool freed = false;
  bool unread = false;
  bool loss_told = false;  // that its bytes went with a device
  std::optional<SteadyTime> lease_end;
  SteadyTime last_write;
};

class ArrayStore::Impl {
 public:
  using Name = std::pair<std::string, std::string>;  // token, name

  Impl(ArrayLimits the_limits, const Clock& the_clock, std::shared_ptr<const Allowances> the_allowances)
      : limits(the_limits),
        clock(the_clock),
        allowances(std::move(the_allowances)),
        memory(std::make_shared<CountedMemory>(the_limits.total_bytes)),
        next_number(the_limits.first_number) {}

  const ArrayLimits limits;
  const Clock& clock;
  const std::shared_ptr<const Allowances> allowances;  // null: nobody has bounds
  const std::shared_ptr<CountedMemory> memory;
  std::shared_ptr<DeviceCopies> copies;              // null where no device keeps any
  std::function<bool(std::uint64_t bytes)> reclaim;  // empty: nobody can

  mutable Mutex mutex;
  // The mutex guards the content of the entries too.
  std::map<std::uint64_t, std::shared_ptr<ArrayEntry>> arrays ABSL_GUARDED_BY(mutex);
  struct Use {
    std::uint64_t bytes = 0;
    std::uint32_t arrays = 0;
  };
  absl::flat_hash_map<std::string, Use> use_of ABSL_GUARDED_BY(mutex);  // of `arrays`, by token; none is empty
  // Freed arrays that somebody still reads, writes or computes with: they count against the quota of their token.
  using Leaving = std::vector<std::pair<std::weak_ptr<const HostBuffer>, std::uint64_t>>;
  absl::flat_hash_map<std::string, Leaving> leaving_of ABSL_GUARDED_BY(mutex);
  std::map<Name, std::uint64_t> names ABSL_GUARDED_BY(mutex);  // 0: held for an array that is being made
  // Arrays that are being written to take, when they are whole, a name that `names` has for another until then.
  std::set<std::pair<Name, std::uint64_t>> successors ABSL_GUARDED_BY(mutex);
  std::atomic<std::uint64_t> next_number;         // written under the mutex; a daemon's last words wait for no lock
  std::size_t unread ABSL_GUARDED_BY(mutex) = 0;  // of `arrays`

  // The array as it is at this moment, with its place.
  ArraySnapshot Snapshot(const ArrayEntry& entry) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  // NOT_FOUND, which names the array, if its bytes are lost with a device.
  absl::Status LossOf(const ArrayEntry& entry) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  // Why a buffer's bytes cannot be used, with the name of its array.
  absl::Status Named(const HostBuffer& buffer, const absl::Status& status) const ABSL_LOCKS_EXCLUDED(mutex);

  void SetUnread(ArrayEntry& entry, bool is_unread) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);

  // Without the lock: true if it is worth trying once more to have so many bytes, and an array more if asked for.
  bool MadeRoom(std::uint64_t bytes, std::uint64_t soon_free, bool one_more);

  // Its upload has stood still for this long.
  bool IsStalled(const ArrayEntry& entry, SteadyTime now, nanoseconds upload_grace) const;

  class Filling;

  static bool Sees(const Principal& who, const Principal& owner) {
    return who.scope == Scope::kAdmin || who.token == owner.token;
  }

  absl::StatusOr<std::shared_ptr<ArrayEntry>> Find(const Principal& who, const std::string& id_or_name) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  absl::Status CheckCount() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  std::uint64_t LeavingBytesOf(const std::string& token) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  // ArrayStore::CheckQuota; the arrays `going`, which are the token's, do not count.
  absl::Status CheckQuota(const Principal& who, std::uint64_t bytes, const std::vector<std::uint64_t>& going,
                          Beside beside = Beside::kArrays) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  static Name NameOf(const ArrayEntry& entry) { return {entry.array.owner.token, entry.array.name}; }

  // The entry leaves the table; what it holds goes with the returned pointer, which must outlast the lock. Its name is
  // the caller's to see to.
  std::shared_ptr<ArrayEntry> Remove(std::uint64_t number) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);

  // The same; its name goes to the newest of those that were to replace it, or is free.
  std::shared_ptr<ArrayEntry> Forget(std::uint64_t number) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);

  // All of its bytes are there. Returns what it replaces, which must outlast the lock.
  std::shared_ptr<ArrayEntry> Complete(ArrayEntry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);

  // Arrays waiting for the name without a writer: their uploads were cut off, or are about to begin.
  std::vector<std::uint64_t> Unwritten(const Name& name) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);

  // The bytes that are free once it is removed. What is read, written or used by a job stays in memory for now.
  std::uint64_t FreedBy(std::uint64_t number) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  std::uint64_t FreedBy(const std::vector<std::uint64_t>& numbers) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);

  // Memory for one more array of the token's, in whose favour the others are about to go.
  absl::StatusOr<std::shared_ptr<HostBuffer>> Allocate(const Principal& who, std::uint64_t bytes,
                                                       const std::vector<std::uint64_t>& going) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  std::shared_ptr<ArrayEntry> Insert(const Principal& owner, const Signature& signature, const std::string& name,
                                     std::optional<nanoseconds> lease, std::uint64_t bytes, bool as_successor = false,
                                     std::uint64_t number = 0) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  ArraySnapshot InsertReady(const Principal& owner, const Signature& signature, const std::string& name,
                            std::optional<nanoseconds> lease, std::uint64_t bytes,
                            std::shared_ptr<const HostBuffer> buffer, const std::string& device,
                            std::uint64_t number = 0) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  void SetLease(ArrayEntry& entry, std::optional<nanoseconds> lease) const;
  static absl::Status TakenError(const std::string& name, std::uint64_t by);

  // An error if the name is taken. Sets `replaced` to the number of the array that has it, if that may be replaced.
  absl::Status CheckName(const Principal& owner, const std::string& name, bool replace, std::uint64_t& replaced) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  absl::Status CheckNew(const Signature& signature, const std::string& name, std::optional<nanoseconds> lease,
                        std::uint64_t& bytes) const;
  absl::Status CheckAdoption(const Signature& signature, const std::string& name, std::optional<nanoseconds> lease,
                             const HostBuffer* buffer, std::uint64_t& bytes) const;
  absl::Status CheckLease(nanoseconds lease) const;
};

}  // namespace hotplate::core
