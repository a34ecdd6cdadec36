#include "server/core/arrays/array_table.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>

#include "absl/strings/str_cat.h"
#include "kernels/base/quantity.h"
#include "kernels/base/status.h"

namespace hotplate::core {

std::uint64_t NumberOf(const std::string& id) {
  if (id.size() < 2 || id[0] != 'a' || !std::isdigit(static_cast<unsigned char>(id[1]))) return 0;
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(id.data() + 1, id.data() + id.size(), number);
  return error == std::errc() && end == id.data() + id.size() ? number : 0;
}

void ArrayStore::Impl::SetUnread(ArrayEntry& entry, bool is_unread) {
  if (entry.unread != is_unread) is_unread ? ++unread : --unread;
  entry.unread = is_unread;
}

bool ArrayStore::Impl::MadeRoom(std::uint64_t bytes, std::uint64_t soon_free, bool one_more) {
  std::uint64_t missing = memory->Missing(bytes, soon_free);
  if (missing == 0 && one_more) {
    MutexLock lock(mutex);
    if (arrays.size() >= limits.count) missing = 1;
  }
  return missing > 0 && reclaim && reclaim(missing);
}

bool ArrayStore::Impl::IsStalled(const ArrayEntry& entry, SteadyTime now, nanoseconds upload_grace) const {
  const nanoseconds grace = entry.has_writer ? limits.upload_grace : std::min(upload_grace, limits.upload_grace);
  return entry.array.state == ArrayState::kWriting && now - entry.last_write >= grace;
}

absl::StatusOr<std::shared_ptr<ArrayEntry>> ArrayStore::Impl::Find(const Principal& who,
                                                                   const std::string& id_or_name) const {
  std::uint64_t number = NumberOf(id_or_name);
  if (number == 0) {
    const auto name = names.find({who.token, id_or_name});
    if (name != names.end()) number = name->second;
  }
  const auto at = arrays.find(number);
  if (at == arrays.end() || !Sees(who, at->second->array.owner)) {
    return absl::NotFoundError(
        absl::StrCat("no array \"", id_or_name, "\"; it may have been freed, or its lease or session may have ended"));
  }
  return at->second;
}

absl::Status ArrayStore::Impl::CheckCount() const {
  if (arrays.size() < limits.count) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("the daemon holds ", arrays.size(), " arrays, its limit; free some first"));
}

absl::Status ArrayStore::Impl::CheckQuota(const Principal& who, std::uint64_t bytes,
                                          const std::vector<std::uint64_t>& going, Beside beside) const {
  const std::string& token = who.token;
  const std::shared_ptr<const Allowance> allowance = allowances == nullptr ? nullptr : allowances->Of(token);
  if (allowance == nullptr) return absl::OkStatus();
  if (allowance->is_over(who.serial)) return EndedToken(token);
  const auto use = use_of.find(token);
  const Use used = use == use_of.end() ? Use() : use->second;
  if (going.empty() && used.arrays >= PartOf(limits.count)) {
    return absl::ResourceExhaustedError(absl::StrCat("token \"", token, "\" has ", used.arrays, " arrays and may have ",
                                                     PartOf(limits.count), "; free some first"));
  }
  const std::uint64_t quota = allowance->array_bytes;
  if (quota == 0) return absl::OkStatus();
  std::uint64_t has = used.bytes + LeavingBytesOf(token);
  for (const std::uint64_t number : going) has -= arrays.at(number)->array.bytes;
  const std::uint64_t counts = beside == Beside::kArrays ? has : 0;
  if (bytes <= quota && counts <= quota - bytes) return absl::OkStatus();
  const std::string text = absl::StrCat("token \"", token, "\" has ", has, " bytes of arrays, and this needs ", bytes,
                                        " more; its limit quota-bytes is ", quota);
  if (bytes <= quota) return NoMemory(absl::StrCat(text, "; free arrays, or ask the daemon's owner for more"));
  return Refused(absl::StatusCode::kResourceExhausted,
                 {{"quota-bytes", absl::StrCat(text, "; ask the daemon's owner for more")}});
}

std::uint64_t ArrayStore::Impl::LeavingBytesOf(const std::string& token) const {
  const auto at = leaving_of.find(token);
  if (at == leaving_of.end()) return 0;
  std::uint64_t bytes = 0;
  for (const auto& [buffer, of_it] : at->second) bytes += buffer.expired() ? 0 : of_it;
  return bytes;
}

std::shared_ptr<ArrayEntry> ArrayStore::Impl::Remove(std::uint64_t number) {
  const auto at = arrays.find(number);
  std::shared_ptr<ArrayEntry> entry = std::move(at->second);
  arrays.erase(at);
  const std::string& token = entry->array.owner.token;
  const auto use = use_of.find(token);
  use->second.bytes -= entry->array.bytes;
  if (--use->second.arrays == 0) use_of.erase(use);
  if (allowances != nullptr && allowances->Of(token) != nullptr) {
    Leaving& leaving = leaving_of[token];
    std::erase_if(leaving, [](const auto& one) { return one.first.expired(); });
    const std::shared_ptr<const HostBuffer> buffer = entry->buffer != nullptr ? entry->buffer : entry->filling;
    if (buffer != nullptr) leaving.emplace_back(buffer, entry->array.bytes);
  }
  entry->freed = true;
  SetUnread(*entry, false);
  return entry;
}

std::shared_ptr<ArrayEntry> ArrayStore::Impl::Forget(std::uint64_t number) {
  std::shared_ptr<ArrayEntry> entry = Remove(number);
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

std::shared_ptr<ArrayEntry> ArrayStore::Impl::Complete(ArrayEntry& entry) {
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

std::vector<std::uint64_t> ArrayStore::Impl::Unwritten(const Name& name) const {
  std::vector<std::uint64_t> unwritten;
  for (auto at = successors.lower_bound({name, 0}); at != successors.end() && at->first == name; ++at) {
    if (!arrays.at(at->second)->has_writer) unwritten.push_back(at->second);
  }
  return unwritten;
}

std::uint64_t ArrayStore::Impl::FreedBy(std::uint64_t number) const {
  const ArrayEntry& entry = *arrays.at(number);
  const auto users = entry.buffer != nullptr ? entry.buffer.use_count() : entry.filling.use_count();
  return users == 1 ? entry.array.bytes : 0;
}

std::uint64_t ArrayStore::Impl::FreedBy(const std::vector<std::uint64_t>& numbers) const {
  std::uint64_t bytes = 0;
  for (const std::uint64_t number : numbers) bytes += FreedBy(number);
  return bytes;
}

absl::StatusOr<std::shared_ptr<HostBuffer>> ArrayStore::Impl::Allocate(const Principal& who, std::uint64_t bytes,
                                                                       const std::vector<std::uint64_t>& going) const {
  if (absl::Status status = CheckQuota(who, bytes, going); !status.ok()) return status;
  if (going.empty()) {
    if (absl::Status status = CheckCount(); !status.ok()) return status;
  }
  return memory->Allocate(bytes, FreedBy(going), DeviceCopies::NewIdentity(), copies);
}

std::shared_ptr<ArrayEntry> ArrayStore::Impl::Insert(const Principal& owner, const Signature& signature,
                                                     const std::string& name, std::optional<nanoseconds> lease,
                                                     std::uint64_t bytes, bool as_successor, std::uint64_t number) {
  auto entry = std::make_shared<ArrayEntry>();
  if (number == 0 || number >= limits.first_number || arrays.contains(number)) number = next_number++;
  entry->array.id = ArrayId(absl::StrCat("a", number));
  entry->array.name = name;
  entry->array.signature = signature;
  entry->array.bytes = bytes;
  entry->array.create_time = clock.WallNow();
  entry->array.owner = owner;
  entry->last_write = clock.Now();
  SetLease(*entry, lease);
  arrays.emplace_hint(arrays.end(), number, entry);
  Use& use = use_of[owner.token];
  use.bytes += bytes;
  ++use.arrays;
  if (as_successor) {
    successors.emplace(NameOf(*entry), number);
  } else if (!name.empty()) {
    names[NameOf(*entry)] = number;
  }
  return entry;
}

ArraySnapshot ArrayStore::Impl::InsertReady(const Principal& owner, const Signature& signature, const std::string& name,
                                            std::optional<nanoseconds> lease, std::uint64_t bytes,
                                            std::shared_ptr<const HostBuffer> buffer, const std::string& device,
                                            std::uint64_t number) {
  const std::shared_ptr<ArrayEntry> entry =
      Insert(owner, signature, name, lease, bytes, /*as_successor=*/false, number);
  entry->array.state = ArrayState::kReady;
  entry->array.bytes_written = bytes;
  entry->buffer = std::move(buffer);
  entry->array.device = device;
  return entry->array;
}

void ArrayStore::Impl::SetLease(ArrayEntry& entry, std::optional<nanoseconds> lease) const {
  if (!lease) return;
  entry.lease_end = clock.Now() + *lease;
  entry.array.lease_end = clock.WallNow() + std::chrono::duration_cast<WallTime::duration>(*lease);
}

absl::Status ArrayStore::Impl::TakenError(const std::string& name, std::uint64_t by) {
  if (by == 0) {
    return absl::AlreadyExistsError(
        absl::StrCat("the array name \"", name, "\" is promised to the output of a job that has not ended"));
  }
  return absl::AlreadyExistsError(
      absl::StrCat("the array name \"", name, "\" is taken by array a", by, "; free that one or choose another name"));
}

absl::Status ArrayStore::Impl::CheckName(const Principal& owner, const std::string& name, bool replace,
                                         std::uint64_t& replaced) const {
  if (name.empty()) return absl::OkStatus();
  const auto taken = names.find({owner.token, name});
  if (taken == names.end()) return absl::OkStatus();
  if (!replace || taken->second == 0) return TakenError(name, taken->second);
  replaced = taken->second;
  return absl::OkStatus();
}

absl::Status ArrayStore::Impl::CheckNew(const Signature& signature, const std::string& name,
                                        std::optional<nanoseconds> lease, std::uint64_t& bytes) const {
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
    return Refused(absl::StatusCode::kResourceExhausted,
                   {{"signature", absl::StrCat("an array of ", hotplate::ToString(signature), " has ", bytes,
                                               " bytes; the daemon's limit max-array-bytes is ", limits.array_bytes)}});
  }
  return absl::OkStatus();
}

absl::Status ArrayStore::Impl::CheckAdoption(const Signature& signature, const std::string& name,
                                             std::optional<nanoseconds> lease, const HostBuffer* buffer,
                                             std::uint64_t& bytes) const {
  if (absl::Status status = CheckNew(signature, name, lease, bytes); !status.ok()) return status;
  const std::size_t size = buffer == nullptr ? 0 : buffer->size();
  if (buffer != nullptr && size == bytes) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("a buffer of ", size, " bytes was to become an array of ", hotplate::ToString(signature)));
}

absl::Status ArrayStore::Impl::CheckLease(nanoseconds lease) const {
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

}  // namespace hotplate::core
