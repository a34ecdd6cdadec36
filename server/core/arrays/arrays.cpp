#include "server/core/arrays/arrays.h"

#include <algorithm>
#include <cassert>
#include <cctype>
#include <charconv>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/mutex.h"
#include "kernels/base/quantity.h"
#include "kernels/base/status.h"
#include "server/core/arrays/counted_memory.h"

namespace hotplate::core {
namespace {

constexpr std::size_t kMaxNameBytes = 64;

// The number of an array's id, or 0 for a text that is none.
std::uint64_t NumberOf(const std::string& id) {
  if (id.size() < 2 || id[0] != 'a' || !std::isdigit(static_cast<unsigned char>(id[1]))) return 0;
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(id.data() + 1, id.data() + id.size(), number);
  return error == std::errc() && end == id.data() + id.size() ? number : 0;
}

bool LooksLikeId(const std::string& text) {
  return text.size() >= 2 && text[0] == 'a' &&
         std::all_of(text.begin() + 1, text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

struct Entry {
  ArraySnapshot array;
  std::shared_ptr<HostBuffer> filling;       // while WRITING
  std::shared_ptr<const HostBuffer> buffer;  // once READY
  bool has_writer = false;
  bool freed = false;
  bool unread = false;
  std::optional<SteadyTime> lease_end;
  SteadyTime last_write;
};

}  // namespace

class ArrayStore::Impl {
 public:
  using Name = std::pair<std::string, std::string>;  // token, name

  Impl(ArrayLimits the_limits, const Clock& the_clock)
      : limits(the_limits), clock(the_clock), memory(std::make_shared<CountedMemory>(the_limits.total_bytes)) {}

  const ArrayLimits limits;
  const Clock& clock;
  const std::shared_ptr<CountedMemory> memory;
  std::shared_ptr<DeviceCopies> copies;              // null where no device keeps any
  std::function<bool(std::uint64_t bytes)> reclaim;  // empty: nobody can

  mutable Mutex mutex;
  // What the entries hold is guarded by the mutex too.
  std::map<std::uint64_t, std::shared_ptr<Entry>> arrays ABSL_GUARDED_BY(mutex);
  std::map<Name, std::uint64_t> names ABSL_GUARDED_BY(mutex);  // 0: held for an array that is being made
  // Arrays that are being written to take, when they are whole, a name that `names` has for another until then.
  std::set<std::pair<Name, std::uint64_t>> successors ABSL_GUARDED_BY(mutex);
  std::uint64_t next_number ABSL_GUARDED_BY(mutex) = 1;
  std::size_t unread ABSL_GUARDED_BY(mutex) = 0;  // of `arrays`

  void SetUnread(Entry& entry, bool is_unread) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    if (entry.unread != is_unread) is_unread ? ++unread : --unread;
    entry.unread = is_unread;
  }

  // Without the lock: true if it is worth trying once more to have so many bytes, and an array more if asked for.
  bool MadeRoom(std::uint64_t bytes, std::uint64_t soon_free, bool one_more) {
    std::uint64_t missing = memory->Missing(bytes, soon_free);
    if (missing == 0 && one_more) {
      MutexLock lock(mutex);
      if (arrays.size() >= limits.count) missing = 1;
    }
    return missing > 0 && reclaim && reclaim(missing);
  }

  // Its upload has stood still for this long.
  bool IsStalled(const Entry& entry, SteadyTime now, nanoseconds upload_grace) const {
    const nanoseconds grace = entry.has_writer ? limits.upload_grace : std::min(upload_grace, limits.upload_grace);
    return entry.array.state == ArrayState::kWriting && now - entry.last_write >= grace;
  }

  class Filling;

  static bool Sees(const Principal& who, const Principal& owner) {
    return who.scope == Scope::kAdmin || who.token == owner.token;
  }

  // The same as it is at this moment.
  ArraySnapshot Snapshot(const Entry& entry) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    ArraySnapshot array = entry.array;
    if (copies == nullptr || entry.buffer == nullptr) return array;
    if (std::string device = copies->DeviceOf(*entry.buffer); !device.empty()) array.location = std::move(device);
    return array;
  }

  // What stands against using the array's bytes, in words that name it.
  absl::Status Named(const HostBuffer& buffer, const absl::Status& status) const {
    if (status.ok()) return status;
    std::string label = "an array that was freed meanwhile";
    MutexLock lock(mutex);
    for (const auto& [number, entry] : arrays) {
      if (entry->buffer.get() == &buffer) label = absl::StrCat("array ", entry->array.label());
    }
    return absl::Status(status.code(), absl::StrCat(label, ": ", status.message()));
  }

  absl::StatusOr<std::shared_ptr<Entry>> Find(const Principal& who, const std::string& id_or_name) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::uint64_t number = NumberOf(id_or_name);
    if (number == 0) {
      const auto name = names.find({who.token, id_or_name});
      if (name != names.end()) number = name->second;
    }
    const auto at = arrays.find(number);
    if (at == arrays.end() || !Sees(who, at->second->array.owner)) {
      return absl::NotFoundError(absl::StrCat("no array \"", id_or_name,
                                              "\"; it may have been freed, or its lease or session may have ended"));
    }
    return at->second;
  }

  absl::Status CheckCount() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    if (arrays.size() < limits.count) return absl::OkStatus();
    return absl::ResourceExhaustedError(
        absl::StrCat("the daemon holds ", arrays.size(), " arrays, its limit; free some first"));
  }

  static Name NameOf(const Entry& entry) { return {entry.array.owner.token, entry.array.name}; }

  // The entry leaves the table; what it holds goes with the returned pointer, which must outlast the lock. Its name is
  // the caller's to see to.
  std::shared_ptr<Entry> Remove(std::uint64_t number) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    const auto at = arrays.find(number);
    std::shared_ptr<Entry> entry = std::move(at->second);
    arrays.erase(at);
    entry->freed = true;
    SetUnread(*entry, false);
    return entry;
  }

  // The same; its name goes to the newest of those that were to replace it, or is free.
  std::shared_ptr<Entry> Forget(std::uint64_t number) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::shared_ptr<Entry> entry = Remove(number);
    const Name name = NameOf(*entry);
    if (name.second.empty() || successors.erase({name, number}) > 0) return entry;
    auto heir = successors.upper_bound({name, std::numeric_limits<std::uint64_t>::max()});
    if (heir == successors.begin() || (--heir)->first != name) {
      names.erase(name);
    } else {
      names[name] = heir->second;
      successors.erase(heir);
    }
    return entry;
  }

  // All of its bytes are there. Returns what it replaces, which must outlast the lock.
  std::shared_ptr<Entry> Complete(Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    entry.buffer = std::move(entry.filling);
    entry.array.state = ArrayState::kReady;
    const Name name = NameOf(entry);
    const std::uint64_t number = NumberOf(entry.array.id.value());
    if (successors.erase({name, number}) == 0) return nullptr;
    const std::uint64_t before = std::exchange(names.at(name), number);
    if (arrays.at(before)->array.state == ArrayState::kReady) return Remove(before);
    // A later one, which had come into the name before it was whole: whoever writes it is to find it still there.
    successors.emplace(name, before);
    return nullptr;
  }

  // Those that are to take the name, and that nobody writes: their uploads were cut off, or are about to begin.
  std::vector<std::uint64_t> Unwritten(const Name& name) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::vector<std::uint64_t> unwritten;
    for (auto at = successors.lower_bound({name, 0}); at != successors.end() && at->first == name; ++at) {
      if (!arrays.at(at->second)->has_writer) unwritten.push_back(at->second);
    }
    return unwritten;
  }

  // The bytes that are free once it is removed. What is read, written or used by a job stays in memory for now.
  std::uint64_t FreedBy(std::uint64_t number) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    const Entry& entry = *arrays.at(number);
    const auto users = entry.buffer != nullptr ? entry.buffer.use_count() : entry.filling.use_count();
    return users == 1 ? entry.array.bytes : 0;
  }

  std::uint64_t FreedBy(const std::vector<std::uint64_t>& numbers) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::uint64_t bytes = 0;
    for (const std::uint64_t number : numbers) bytes += FreedBy(number);
    return bytes;
  }

  // Memory for one more array, in whose favour the others are about to go.
  absl::StatusOr<std::shared_ptr<HostBuffer>> Allocate(std::uint64_t bytes,
                                                       const std::vector<std::uint64_t>& going) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    if (going.empty()) {
      if (absl::Status status = CheckCount(); !status.ok()) return status;
    }
    return memory->Allocate(bytes, FreedBy(going), copies);
  }

  std::shared_ptr<Entry> Insert(const Principal& owner, const Signature& signature, const std::string& name,
                                std::optional<nanoseconds> lease, std::uint64_t bytes, bool as_successor = false)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    auto entry = std::make_shared<Entry>();
    const std::uint64_t number = next_number++;
    entry->array.id = ArrayId(absl::StrCat("a", number));
    entry->array.name = name;
    entry->array.signature = signature;
    entry->array.bytes = bytes;
    entry->array.create_time = clock.WallNow();
    entry->array.owner = owner;
    entry->last_write = clock.Now();
    SetLease(*entry, lease);
    arrays.emplace_hint(arrays.end(), number, entry);
    if (as_successor) {
      successors.emplace(NameOf(*entry), number);
    } else if (!name.empty()) {
      names[NameOf(*entry)] = number;
    }
    return entry;
  }

  ArraySnapshot InsertReady(const Principal& owner, const Signature& signature, const std::string& name,
                            std::optional<nanoseconds> lease, std::uint64_t bytes,
                            std::shared_ptr<const HostBuffer> buffer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    const std::shared_ptr<Entry> entry = Insert(owner, signature, name, lease, bytes);
    entry->array.state = ArrayState::kReady;
    entry->array.bytes_written = bytes;
    entry->buffer = std::move(buffer);
    return entry->array;
  }

  void SetLease(Entry& entry, std::optional<nanoseconds> lease) const {
    if (!lease) return;
    entry.lease_end = clock.Now() + *lease;
    entry.array.lease_end = clock.WallNow() + std::chrono::duration_cast<WallTime::duration>(*lease);
  }

  static absl::Status TakenError(const std::string& name, std::uint64_t by) {
    if (by == 0) {
      return absl::AlreadyExistsError(
          absl::StrCat("the array name \"", name, "\" is promised to the output of a job that has not ended"));
    }
    return absl::AlreadyExistsError(absl::StrCat("the array name \"", name, "\" is taken by array a", by,
                                                 "; free that one or choose another name"));
  }

  // What stands in the way of a new array; `replaced` gets the number of the array that has the name, if it may go.
  absl::Status CheckName(const Principal& owner, const std::string& name, bool replace, std::uint64_t& replaced) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    if (name.empty()) return absl::OkStatus();
    const auto taken = names.find({owner.token, name});
    if (taken == names.end()) return absl::OkStatus();
    if (!replace || taken->second == 0) return TakenError(name, taken->second);
    replaced = taken->second;
    return absl::OkStatus();
  }

  absl::Status CheckNew(const Signature& signature, const std::string& name, std::optional<nanoseconds> lease,
                        std::uint64_t& bytes) const {
    if (!name.empty()) {
      if (absl::Status status = ValidateName(name); !status.ok()) return status;
    }
    if (lease) {
      if (absl::Status status = CheckLease(*lease); !status.ok()) return status;
    }
    const std::optional<std::size_t> size = ByteSize(signature);
    if (!size || *size > kMaxArrayBytes) {
      return InvalidField("signature", absl::StrCat("an array of ", hotplate::ToString(signature),
                                                    " is not possible: a size is negative or too large"));
    }
    bytes = *size;
    if (limits.array_bytes != 0 && bytes > limits.array_bytes) {
      return Refused(
          absl::StatusCode::kResourceExhausted,
          {{"signature", absl::StrCat("an array of ", hotplate::ToString(signature), " has ", bytes,
                                      " bytes; the daemon's limit max-array-bytes is ", limits.array_bytes)}});
    }
    return absl::OkStatus();
  }

  absl::Status CheckAdoption(const Signature& signature, const std::string& name, std::optional<nanoseconds> lease,
                             const HostBuffer* buffer, std::uint64_t& bytes) const {
    if (absl::Status status = CheckNew(signature, name, lease, bytes); !status.ok()) return status;
    const std::size_t size = buffer == nullptr ? 0 : buffer->size();
    if (buffer != nullptr && size == bytes) return absl::OkStatus();
    return absl::InternalError(
        absl::StrCat("a buffer of ", size, " bytes was to become an array of ", hotplate::ToString(signature)));
  }

  absl::Status CheckLease(nanoseconds lease) const {
    if (lease <= nanoseconds::zero()) {
      return InvalidField("lease", absl::StrCat("a lease of ", ExactDuration(lease), " is not positive"));
    }
    if (lease > limits.longest_lease) {
      return InvalidField("lease",
                          absl::StrCat("a lease of ", ExactDuration(lease), " is longer than the daemon's limit of ",
                                       ExactDuration(limits.longest_lease)));
    }
    return absl::OkStatus();
  }
};

// Of one stream at a time; must not outlive the store.
class ArrayStore::Impl::Filling final : public ArrayStore::Writer {
 public:
  Filling(Impl& store, std::shared_ptr<Entry> entry)
      : store_(store), entry_(std::move(entry)), buffer_(entry_->filling), written_(entry_->array.bytes_written) {}

  ~Filling() override {
    MutexLock lock(store_.mutex);
    entry_->has_writer = false;
  }

  std::span<std::byte> remaining() override { return buffer_->bytes().subspan(written_); }

  void Advance(std::size_t bytes) override {
    assert(bytes <= buffer_->size() - written_);
    const std::size_t before = written_;
    written_ += std::min(bytes, buffer_->size() - written_);
    if (store_.copies != nullptr) store_.copies->Written(buffer_, before, written_);
    std::shared_ptr<Entry> replaced;  // goes after the lock
    MutexLock lock(store_.mutex);
    if (entry_->freed) return;
    entry_->array.bytes_written = written_;
    entry_->last_write = store_.clock.Now();
    if (written_ == buffer_->size()) replaced = store_.Complete(*entry_);
  }

 private:
  Impl& store_;
  const std::shared_ptr<Entry> entry_;
  const std::shared_ptr<HostBuffer> buffer_;
  std::size_t written_ = 0;
};

struct ArrayStore::NameHold::Held {
  Impl* store;
  Impl::Name name;
};

ArrayStore::NameHold::NameHold(std::unique_ptr<Held> held) : held_(std::move(held)) {}
ArrayStore::NameHold::NameHold() = default;
ArrayStore::NameHold::NameHold(NameHold&& other) noexcept = default;

ArrayStore::NameHold& ArrayStore::NameHold::operator=(NameHold&& other) noexcept {
  std::swap(held_, other.held_);
  return *this;
}

ArrayStore::NameHold::~NameHold() {
  if (held_ == nullptr) return;
  MutexLock lock(held_->store->mutex);
  held_->store->names.erase(held_->name);
}

ArrayStore::ArrayStore(ArrayLimits limits, const Clock& clock) : impl_(std::make_unique<Impl>(limits, clock)) {}
ArrayStore::~ArrayStore() = default;

void ArrayStore::Attach(std::shared_ptr<DeviceCopies> copies) { impl_->copies = std::move(copies); }

void ArrayStore::SetReclaim(std::function<bool(std::uint64_t bytes)> reclaim) { impl_->reclaim = std::move(reclaim); }

absl::Status ArrayStore::ValidateName(const std::string& name) {
  if (name.empty() || name.size() > kMaxNameBytes) {
    return InvalidField("name",
                        absl::StrCat("an array's name has 1 to ", kMaxNameBytes, " bytes; this one has ", name.size()));
  }
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '.' && c != '-') {
      return InvalidField(
          "name", absl::StrCat("the array name \"", name, "\" may hold letters, digits, '_', '.' and '-' only"));
    }
  }
  if (LooksLikeId(name)) {
    return InvalidField("name", absl::StrCat("the array name \"", name, "\" looks like an array's id; choose another"));
  }
  return absl::OkStatus();
}

absl::Status ArrayStore::ValidateLease(nanoseconds lease) const { return impl_->CheckLease(lease); }

absl::StatusOr<ArraySnapshot> ArrayStore::Create(const Principal& owner, const Signature& signature,
                                                 const std::string& name, std::optional<nanoseconds> lease,
                                                 bool replace) {
  std::uint64_t bytes = 0;
  if (absl::Status status = impl_->CheckNew(signature, name, lease, bytes); !status.ok()) return status;
  absl::StatusOr<ArraySnapshot> array = CreateNow(owner, signature, name, lease, replace, bytes);
  if (!absl::IsResourceExhausted(array.status()) || !impl_->MadeRoom(bytes, 0, /*one_more=*/true)) return array;
  return CreateNow(owner, signature, name, lease, replace, bytes);
}

absl::StatusOr<ArraySnapshot> ArrayStore::CreateNow(const Principal& owner, const Signature& signature,
                                                    const std::string& name, std::optional<nanoseconds> lease,
                                                    bool replace, std::uint64_t bytes) {
  std::vector<std::shared_ptr<Entry>> gone;  // after the lock
  MutexLock lock(impl_->mutex);
  std::uint64_t replaced = 0;
  if (absl::Status status = impl_->CheckName(owner, name, replace, replaced); !status.ok()) return status;
  const Entry* const old = replaced == 0 ? nullptr : impl_->arrays.at(replaced).get();
  // One that is whole stays until the new one is; with one that is not nothing is lost.
  const bool stays = old != nullptr && old->array.state == ArrayState::kReady && bytes > 0;
  std::vector<std::uint64_t> going;
  if (old != nullptr && !stays) going.push_back(replaced);
  absl::StatusOr<std::shared_ptr<HostBuffer>> buffer = impl_->Allocate(bytes, going);
  if (!buffer.ok() && old != nullptr) {
    // An upload that was cut off must not stand in the way of its own repetition.
    const std::vector<std::uint64_t> unwritten = impl_->Unwritten({owner.token, name});
    going.insert(going.end(), unwritten.begin(), unwritten.end());
    if (!unwritten.empty()) buffer = impl_->Allocate(bytes, going);
  }
  if (!buffer.ok()) {
    if (!stays || !impl_->memory->HasRoom(bytes, impl_->FreedBy(replaced) + impl_->FreedBy(going))) {
      return buffer.status();
    }
    return NoMemory(absl::StrCat(
        buffer.status().message(), ". Array \"", name, "\" (", old->array.bytes,
        " bytes) stays until its replacement is complete; without it there is room: hotplate free ", name));
  }
  for (const std::uint64_t number : going) {
    gone.push_back(number == replaced ? impl_->Remove(number) : impl_->Forget(number));
  }

  const std::shared_ptr<Entry> entry = impl_->Insert(owner, signature, name, lease, bytes, stays);
  if (bytes == 0) {
    entry->array.state = ArrayState::kReady;
    entry->buffer = *std::move(buffer);
  } else {
    entry->filling = *std::move(buffer);
  }
  return entry->array;
}

absl::StatusOr<std::unique_ptr<ArrayStore::Writer>> ArrayStore::OpenWriter(const Principal& who,
                                                                           const std::string& id_or_name,
                                                                           std::uint64_t offset) {
  MutexLock lock(impl_->mutex);
  absl::StatusOr<std::shared_ptr<Entry>> found = impl_->Find(who, id_or_name);
  if (!found.ok()) return found.status();
  Entry& entry = **found;
  const std::string& id = entry.array.id.value();
  if (entry.array.state != ArrayState::kWriting) {
    return absl::FailedPreconditionError(absl::StrCat("array ", id, " is complete and no longer written"));
  }
  if (entry.has_writer) {
    return absl::FailedPreconditionError(absl::StrCat("array ", id, " is being written by another stream"));
  }
  if (offset != entry.array.bytes_written) {
    return absl::FailedPreconditionError(absl::StrCat("array ", id, " has ", entry.array.bytes_written, " of ",
                                                      entry.array.bytes, " bytes; the write begins at ", offset));
  }
  entry.has_writer = true;
  entry.last_write = impl_->clock.Now();
  return std::make_unique<Impl::Filling>(*impl_, *std::move(found));
}

absl::StatusOr<ArrayStore::Reader> ArrayStore::Open(const Principal& who, const std::string& id_or_name) const {
  MutexLock lock(impl_->mutex);
  absl::StatusOr<std::shared_ptr<Entry>> found = impl_->Find(who, id_or_name);
  if (!found.ok()) return found.status();
  const ArraySnapshot& array = (*found)->array;
  if (array.state != ArrayState::kReady) {
    return absl::FailedPreconditionError(absl::StrCat("array ", array.id.value(), " is not complete: ",
                                                      array.bytes_written, " of ", array.bytes, " bytes were written"));
  }
  if (impl_->copies != nullptr) {
    if (absl::Status status = impl_->copies->LossOf(*(*found)->buffer); !status.ok()) {
      return absl::Status(status.code(), absl::StrCat("array ", array.label(), ": ", status.message()));
    }
  }
  return Reader{array, (*found)->buffer};
}

void ArrayStore::Fetch(const std::shared_ptr<const HostBuffer>& buffer, DeviceCopies::Done done) const {
  if (!buffer->absent()) return done(absl::OkStatus());
  impl_->copies->Fetch(buffer, [impl = impl_.get(), buffer, done = std::move(done)](const absl::Status& status) {
    done(impl->Named(*buffer, status));
  });
}

absl::Status ArrayStore::Fetch(const std::shared_ptr<const HostBuffer>& buffer) const { return FetchFor("", buffer); }

absl::Status ArrayStore::FetchFor(const std::string& device, const std::shared_ptr<const HostBuffer>& buffer) const {
  if (!buffer->absent()) return absl::OkStatus();
  absl::Status status = impl_->copies->LossOf(*buffer);
  if (!status.ok() || (!device.empty() && impl_->copies->DeviceOf(*buffer) == device)) {
    return impl_->Named(*buffer, status);
  }
  return impl_->Named(*buffer, impl_->copies->Fetch(buffer));
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
    if (entry->buffer != nullptr && impl_->copies->DeviceOf(*entry->buffer) == device) lost.push_back(entry->array);
  }
  return lost;
}

void ArrayStore::MarkUnread(const ArrayId& id) {
  MutexLock lock(impl_->mutex);
  if (const auto at = impl_->arrays.find(NumberOf(id.value())); at != impl_->arrays.end()) {
    impl_->SetUnread(*at->second, true);
  }
}

void ArrayStore::MarkRead(const ArrayId& id) {
  MutexLock lock(impl_->mutex);
  if (const auto at = impl_->arrays.find(NumberOf(id.value())); at != impl_->arrays.end()) {
    impl_->SetUnread(*at->second, false);
  }
}

bool ArrayStore::HasUnread() const {
  MutexLock lock(impl_->mutex);
  return impl_->unread > 0;
}

absl::StatusOr<ArraySnapshot> ArrayStore::Describe(const Principal& who, const std::string& id_or_name) const {
  MutexLock lock(impl_->mutex);
  absl::StatusOr<std::shared_ptr<Entry>> found = impl_->Find(who, id_or_name);
  if (!found.ok()) return found.status();
  return impl_->Snapshot(**found);
}

std::vector<ArraySnapshot> ArrayStore::List(const Principal& who) const {
  MutexLock lock(impl_->mutex);
  std::vector<ArraySnapshot> all;
  for (const auto& [number, entry] : impl_->arrays) {
    if (Impl::Sees(who, entry->array.owner)) all.push_back(impl_->Snapshot(*entry));
  }
  return all;
}

absl::Status ArrayStore::Free(const Principal& who, const std::string& id_or_name) {
  absl::StatusOr<std::shared_ptr<Entry>> found;  // goes after the lock
  MutexLock lock(impl_->mutex);
  found = impl_->Find(who, id_or_name);
  if (!found.ok()) return found.status();
  impl_->Forget(NumberOf((*found)->array.id.value()));
  return absl::OkStatus();
}

absl::StatusOr<ArraySnapshot> ArrayStore::Renew(const Principal& who, const std::string& id_or_name,
                                                nanoseconds lease) {
  if (absl::Status status = impl_->CheckLease(lease); !status.ok()) return status;
  MutexLock lock(impl_->mutex);
  absl::StatusOr<std::shared_ptr<Entry>> found = impl_->Find(who, id_or_name);
  if (!found.ok()) return found.status();
  impl_->SetLease(**found, lease);
  return impl_->Snapshot(**found);
}

absl::StatusOr<std::shared_ptr<HostBuffer>> ArrayStore::AllocateBuffer(std::uint64_t bytes, std::uint64_t soon_free) {
  return Allocate(bytes, soon_free, nullptr);
}

absl::StatusOr<std::shared_ptr<HostBuffer>> ArrayStore::AllocateArray(std::uint64_t bytes, std::uint64_t soon_free) {
  return Allocate(bytes, soon_free, impl_->copies);
}

absl::StatusOr<std::shared_ptr<HostBuffer>> ArrayStore::Allocate(std::uint64_t bytes, std::uint64_t soon_free,
                                                                 const std::shared_ptr<DeviceCopies>& copies) {
  absl::StatusOr<std::shared_ptr<HostBuffer>> buffer = impl_->memory->Allocate(bytes, soon_free, copies);
  if (buffer.ok() || !impl_->MadeRoom(bytes, soon_free, /*one_more=*/false)) return buffer;
  return impl_->memory->Allocate(bytes, soon_free, copies);
}

absl::StatusOr<ArraySnapshot> ArrayStore::Adopt(const Principal& owner, const Signature& signature,
                                                const std::string& name, std::optional<nanoseconds> lease,
                                                std::shared_ptr<const HostBuffer> buffer) {
  std::uint64_t bytes = 0;
  if (absl::Status status = impl_->CheckAdoption(signature, name, lease, buffer.get(), bytes); !status.ok()) {
    return status;
  }
  MutexLock lock(impl_->mutex);
  std::uint64_t replaced = 0;
  if (absl::Status status = impl_->CheckName(owner, name, false, replaced); !status.ok()) return status;
  if (absl::Status status = impl_->CheckCount(); !status.ok()) return status;
  return impl_->InsertReady(owner, signature, name, lease, bytes, std::move(buffer));
}

absl::StatusOr<ArrayStore::NameHold> ArrayStore::HoldName(const Principal& owner, const std::string& name) {
  if (absl::Status status = ValidateName(name); !status.ok()) return status;
  auto held = std::make_unique<NameHold::Held>(NameHold::Held{impl_.get(), {owner.token, name}});
  MutexLock lock(impl_->mutex);
  const auto [at, is_new] = impl_->names.try_emplace(held->name, 0);
  if (!is_new) return Impl::TakenError(name, at->second);
  return NameHold(std::move(held));
}

absl::StatusOr<ArraySnapshot> ArrayStore::Adopt(const Principal& owner, const Signature& signature, NameHold name,
                                                std::optional<nanoseconds> lease,
                                                std::shared_ptr<const HostBuffer> buffer) {
  const std::string text = name.held_ == nullptr ? std::string() : name.held_->name.second;
  std::uint64_t bytes = 0;
  if (absl::Status status = impl_->CheckAdoption(signature, text, lease, buffer.get(), bytes); !status.ok()) {
    return status;
  }
  MutexLock lock(impl_->mutex);
  if (absl::Status status = impl_->CheckCount(); !status.ok()) return status;
  name.held_.reset();  // the name is the array's from here
  return impl_->InsertReady(owner, signature, text, lease, bytes, std::move(buffer));
}

ArrayHolders ArrayStore::SessionsWithArrays() const {
  ArrayHolders sessions;
  MutexLock lock(impl_->mutex);
  for (const auto& [number, entry] : impl_->arrays) {
    if (entry->lease_end || entry->array.owner.session.empty()) continue;
    sessions[entry->array.owner.session] += impl_->FreedBy(number);
  }
  return sessions;
}

std::vector<std::shared_ptr<const void>> ArrayStore::EndSession(const SessionId& session) {
  std::vector<std::shared_ptr<const void>> gone;
  if (session.empty()) return gone;
  MutexLock lock(impl_->mutex);
  for (auto at = impl_->arrays.begin(); at != impl_->arrays.end();) {
    const auto [number, entry] = *at++;
    if (!entry->lease_end && entry->array.owner.session == session) gone.push_back(impl_->Forget(number));
  }
  return gone;
}

std::vector<ArraySnapshot> ArrayStore::Expire(nanoseconds upload_grace) {
  std::vector<std::shared_ptr<Entry>> gone;
  std::vector<ArraySnapshot> snapshots;
  {
    MutexLock lock(impl_->mutex);
    const SteadyTime now = impl_->clock.Now();
    for (auto at = impl_->arrays.begin(); at != impl_->arrays.end();) {
      const auto [number, entry] = *at++;
      const bool lease_over = entry->lease_end && *entry->lease_end <= now;
      if (!lease_over && !impl_->IsStalled(*entry, now, upload_grace)) continue;
      snapshots.push_back(entry->array);
      gone.push_back(impl_->Forget(number));
    }
  }
  return snapshots;
}

std::uint64_t ArrayStore::StalledUploadBytes(nanoseconds upload_grace) const {
  MutexLock lock(impl_->mutex);
  const SteadyTime now = impl_->clock.Now();
  std::uint64_t bytes = 0;
  for (const auto& [number, entry] : impl_->arrays) {
    if (entry->lease_end && impl_->IsStalled(*entry, now, upload_grace)) bytes += impl_->FreedBy(number);
  }
  return bytes;
}

std::uint64_t ArrayStore::bytes_held() const { return impl_->memory->held(); }

std::uint64_t ArrayStore::bytes_stored() const {
  MutexLock lock(impl_->mutex);
  std::uint64_t bytes = 0;
  for (const auto& [number, entry] : impl_->arrays) bytes += entry->array.bytes;
  return bytes;
}

const ArrayLimits& ArrayStore::limits() const { return impl_->limits; }

}  // namespace hotplate::core
