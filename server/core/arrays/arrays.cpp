#include "server/core/arrays/arrays.h"

#include <algorithm>
#include <cassert>
#include <cctype>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/mutex.h"
#include "kernels/base/status.h"
#include "server/core/arrays/array_table.h"

namespace hotplate::core {
namespace {

constexpr std::size_t kMaxNameBytes = 64;

bool LooksLikeId(const std::string& text) {
  return text.size() >= 2 && text[0] == 'a' &&
         std::all_of(text.begin() + 1, text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

}  // namespace

// For one stream at a time; must not outlive the store.
class ArrayStore::Impl::Filling final : public ArrayStore::Writer {
 public:
  Filling(Impl& store, std::shared_ptr<ArrayEntry> entry)
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
    std::shared_ptr<ArrayEntry> replaced;  // goes after the lock
    MutexLock lock(store_.mutex);
    if (entry_->freed) return;
    entry_->array.bytes_written = written_;
    entry_->last_write = store_.clock.Now();
    if (written_ == buffer_->size()) replaced = store_.Complete(*entry_);
  }

 private:
  Impl& store_;
  const std::shared_ptr<ArrayEntry> entry_;
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

ArrayStore::ArrayStore(ArrayLimits limits, const Clock& clock, std::shared_ptr<const Allowances> allowances)
    : impl_(std::make_unique<Impl>(limits, clock, std::move(allowances))) {}
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
                                                 bool replace, const std::string& device) {
  std::uint64_t bytes = 0;
  if (absl::Status status = impl_->CheckNew(signature, name, lease, bytes); !status.ok()) return status;
  absl::StatusOr<ArraySnapshot> array = CreateNow(owner, signature, name, lease, replace, device, bytes);
  if (!absl::IsResourceExhausted(array.status()) || !impl_->MadeRoom(bytes, 0, /*one_more=*/true)) return array;
  return CreateNow(owner, signature, name, lease, replace, device, bytes);
}

absl::StatusOr<ArraySnapshot> ArrayStore::CreateNow(const Principal& owner, const Signature& signature,
                                                    const std::string& name, std::optional<nanoseconds> lease,
                                                    bool replace, const std::string& device, std::uint64_t bytes) {
  std::vector<std::shared_ptr<ArrayEntry>> gone;  // after the lock
  MutexLock lock(impl_->mutex);
  std::uint64_t replaced = 0;
  if (absl::Status status = impl_->CheckName(owner, name, replace, replaced); !status.ok()) return status;
  const ArrayEntry* const old = replaced == 0 ? nullptr : impl_->arrays.at(replaced).get();
  // One that is whole stays until the new one is; with one that is not nothing is lost.
  const bool stays = old != nullptr && old->array.state == ArrayState::kReady && bytes > 0;
  std::vector<std::uint64_t> going;
  if (old != nullptr && !stays) going.push_back(replaced);
  absl::StatusOr<std::shared_ptr<HostBuffer>> buffer = impl_->Allocate(owner, bytes, going);
  if (!buffer.ok() && old != nullptr) {
    // An upload that was cut off must not stand in the way of its own repetition.
    const std::vector<std::uint64_t> unwritten = impl_->Unwritten({owner.token, name});
    going.insert(going.end(), unwritten.begin(), unwritten.end());
    if (!unwritten.empty()) buffer = impl_->Allocate(owner, bytes, going);
  }
  if (!buffer.ok()) {
    if (!stays || !impl_->memory->HasRoom(bytes, impl_->FreedBy(replaced) + impl_->FreedBy(going))) {
      return buffer.status();
    }
    going.push_back(replaced);
    if (!impl_->CheckQuota(owner, bytes, going).ok()) return buffer.status();
    return NoMemory(absl::StrCat(
        buffer.status().message(), ". Array \"", name, "\" (", old->array.bytes,
        " bytes) stays until its replacement is complete; without it there is room: hotplate free ", name));
  }
  for (const std::uint64_t number : going) {
    gone.push_back(number == replaced ? impl_->Remove(number) : impl_->Forget(number));
  }

  const std::shared_ptr<ArrayEntry> entry = impl_->Insert(owner, signature, name, lease, bytes, stays);
  entry->array.device = device;
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
  absl::StatusOr<std::shared_ptr<ArrayEntry>> found = impl_->Find(who, id_or_name);
  if (!found.ok()) return found.status();
  ArrayEntry& entry = **found;
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
  absl::StatusOr<std::shared_ptr<ArrayEntry>> found = impl_->Find(who, id_or_name);
  if (!found.ok()) return found.status();
  const ArraySnapshot& array = (*found)->array;
  if (array.state != ArrayState::kReady) {
    return absl::FailedPreconditionError(absl::StrCat("array ", array.id.value(), " is not complete: ",
                                                      array.bytes_written, " of ", array.bytes, " bytes were written"));
  }
  if (absl::Status status = impl_->LossOf(**found); !status.ok()) return status;
  return Reader{array, (*found)->buffer};
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
  absl::StatusOr<std::shared_ptr<ArrayEntry>> found = impl_->Find(who, id_or_name);
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
  absl::StatusOr<std::shared_ptr<ArrayEntry>> found;  // goes after the lock
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
  absl::StatusOr<std::shared_ptr<ArrayEntry>> found = impl_->Find(who, id_or_name);
  if (!found.ok()) return found.status();
  impl_->SetLease(**found, lease);
  return impl_->Snapshot(**found);
}

absl::StatusOr<std::shared_ptr<HostBuffer>> ArrayStore::AllocateBuffer(std::uint64_t bytes, std::uint64_t soon_free) {
  return Allocate(bytes, soon_free, /*identity=*/0, nullptr);
}

absl::StatusOr<std::shared_ptr<HostBuffer>> ArrayStore::AllocateArray(std::uint64_t bytes, std::uint64_t soon_free) {
  return Allocate(bytes, soon_free, DeviceCopies::NewIdentity(), impl_->copies);
}

absl::StatusOr<std::shared_ptr<HostBuffer>> ArrayStore::Allocate(std::uint64_t bytes, std::uint64_t soon_free,
                                                                 std::uint64_t identity,
                                                                 const std::shared_ptr<DeviceCopies>& copies) {
  absl::StatusOr<std::shared_ptr<HostBuffer>> buffer = impl_->memory->Allocate(bytes, soon_free, identity, copies);
  if (buffer.ok() || !impl_->MadeRoom(bytes, soon_free, /*one_more=*/false)) return buffer;
  return impl_->memory->Allocate(bytes, soon_free, identity, copies);
}

absl::StatusOr<ArraySnapshot> ArrayStore::Adopt(const Principal& owner, const Signature& signature,
                                                const std::string& name, std::optional<nanoseconds> lease,
                                                std::shared_ptr<const HostBuffer> buffer, std::uint64_t number) {
  std::uint64_t bytes = 0;
  if (absl::Status status = impl_->CheckAdoption(signature, name, lease, buffer.get(), bytes); !status.ok()) {
    return status;
  }
  MutexLock lock(impl_->mutex);
  std::uint64_t replaced = 0;
  if (absl::Status status = impl_->CheckName(owner, name, false, replaced); !status.ok()) return status;
  if (absl::Status status = impl_->CheckCount(); !status.ok()) return status;
  return impl_->InsertReady(owner, signature, name, lease, bytes, std::move(buffer), "", number);
}

std::uint64_t ArrayStore::NumberIn(const ArrayId& id) { return NumberOf(id.value()); }

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
                                                std::shared_ptr<const HostBuffer> buffer, const std::string& device) {
  const std::string text = name.held_ == nullptr ? std::string() : name.held_->name.second;
  std::uint64_t bytes = 0;
  if (absl::Status status = impl_->CheckAdoption(signature, text, lease, buffer.get(), bytes); !status.ok()) {
    return status;
  }
  MutexLock lock(impl_->mutex);
  if (absl::Status status = impl_->CheckCount(); !status.ok()) return status;
  if (absl::Status status = impl_->CheckQuota(owner, bytes, {}); !status.ok()) return status;
  name.held_.reset();  // the name is the array's from here
  return impl_->InsertReady(owner, signature, text, lease, bytes, std::move(buffer), device);
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
  std::vector<std::shared_ptr<ArrayEntry>> gone;
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

absl::Status ArrayStore::CheckQuota(const Principal& who, std::uint64_t bytes, Beside beside) const {
  if (impl_->allowances == nullptr) return absl::OkStatus();
  MutexLock lock(impl_->mutex);
  return impl_->CheckQuota(who, bytes, {}, beside);
}

std::uint64_t ArrayStore::BytesOf(const std::string& token) const {
  MutexLock lock(impl_->mutex);
  const auto at = impl_->use_of.find(token);
  return at == impl_->use_of.end() ? 0 : at->second.bytes;
}

std::uint64_t ArrayStore::bytes_held() const { return impl_->memory->held(); }

std::uint64_t ArrayStore::bytes_stored() const {
  MutexLock lock(impl_->mutex);
  std::uint64_t bytes = 0;
  for (const auto& [number, entry] : impl_->arrays) bytes += entry->array.bytes;
  return bytes;
}

const ArrayLimits& ArrayStore::limits() const { return impl_->limits; }

std::uint64_t ArrayStore::last_number() const { return impl_->next_number - 1; }

}  // namespace hotplate::core
