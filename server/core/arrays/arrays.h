// The arrays that the daemon holds: their memory, names, owners and ends. Thread-safe.
//
// An array is WRITING until its last byte came, then READY and immutable: readers and jobs share its buffer, and
// freeing it only forgets it; the memory goes when the last of them lets go (and is counted until then). The bytes of
// an output that was kept may lie on a device alone: Fetch them before you read its buffer.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/core/allowances.h"
#include "server/core/arrays/device_copies.h"
#include "server/core/types.h"

namespace hotplate::core {

struct ArrayLimits {
  std::uint64_t total_bytes = 0;  // all arrays and buffers; 0: no limit
  std::uint64_t array_bytes = 0;  // one array; 0: no limit of its own
  std::uint32_t count = 100'000;
  std::uint64_t first_number = 1;  // in the id of the first one
  nanoseconds longest_lease = std::chrono::hours(24);
  // An array that is being written and gets no bytes for this long is freed: later than a client gives up whose
  // connection broke, which takes 30 s to notice and tries again for 2 minutes.
  nanoseconds upload_grace = std::chrono::minutes(3);
};

// Whoever shares the owner's token sees an array; an admin sees all. To others it is NOT_FOUND.
class ArrayStore {
 public:
  // `allowances`: bounds of tokens (EngineOptions has the same); null: nobody has any.
  ArrayStore(ArrayLimits limits, const Clock& clock, std::shared_ptr<const Allowances> allowances = nullptr);
  ~ArrayStore();

  // Arrays that are made from now on may be copied to devices. To be called before the store is used by more than one
  // thread: by the engine, which has the devices, and until whose end the copies are told of arrays.
  void Attach(std::shared_ptr<DeviceCopies> copies);
  // Asked for room, with no lock held, where so many bytes are wanting; true if it has made some, which is then tried
  // once. The same holds for it.
  void SetReclaim(std::function<bool(std::uint64_t bytes)> reclaim);

  // RESOURCE_EXHAUSTED names the limit, the daemon's or the token's; ALREADY_EXISTS for a name that is taken unless
  // `replace`. An array that is whole stays, under its name, until the last byte of the one that replaces it has come:
  // an upload that is cut off costs nothing, and there must be room for both. Where there is none for a third, others
  // that were to replace it and that nobody writes make room.
  absl::StatusOr<ArraySnapshot> Create(const Principal& owner, const Signature& signature, const std::string& name,
                                       std::optional<nanoseconds> lease, bool replace, const std::string& device = {});

  // One writer at a time: FAILED_PRECONDITION for a second one, or if `offset` is not where the array stands.
  // The writer fills the buffer in order and reports what it wrote; dropping it leaves the array resumable.
  class Writer {
   public:
    virtual ~Writer() = default;
    // The bytes that are still to come.
    virtual std::span<std::byte> remaining() = 0;
    virtual void Advance(std::size_t bytes) = 0;  // the array is READY when none remain
  };
  absl::StatusOr<std::unique_ptr<Writer>> OpenWriter(const Principal& who, const std::string& id_or_name,
                                                     std::uint64_t offset);

  struct Reader {
    ArraySnapshot array;
    std::shared_ptr<const HostBuffer> buffer;
  };
  // FAILED_PRECONDITION (with how much came) while it is WRITING. NOT_FOUND also where its bytes are lost with a
  // device.
  absl::StatusOr<Reader> Open(const Principal& who, const std::string& id_or_name) const;

  // Calls `done` when the buffer's bytes are on the host: at once, or on a device's thread; or with why they will not
  // be (DeviceCopies::Fetch), which names the array.
  void Fetch(const std::shared_ptr<const HostBuffer>& buffer, DeviceCopies::Done done) const;
  // The same, and waits. Not to be called by a device.
  absl::Status Fetch(const std::shared_ptr<const HostBuffer>& buffer) const;
  // For a task of this device (DeviceCopies::Bring); names the array, too.
  absl::StatusOr<DeviceCopies::Hold> BringTo(const std::string& device,
                                             const std::shared_ptr<const HostBuffer>& buffer) const;
  // The device that alone has the buffer's bytes; empty if the host has them.
  std::string DeviceOf(const HostBuffer& buffer) const;
  // A task of this device has left the bytes of an absent buffer there.
  void Stayed(const HostBuffer& buffer, const std::string& device) const;
  // The device is lost, and its memory not in use again yet. Returns the arrays whose only copy it had, each once, for
  // the log; whoever reads one is told why.
  std::vector<ArraySnapshot> LoseDevice(const std::string& device, const std::string& why);

  // An output whose client is there and about to fetch it is unread until it was read to its end, or is freed.
  void MarkUnread(const ArrayId& id);
  void MarkRead(const ArrayId& id);
  bool HasUnread() const;

  absl::StatusOr<ArraySnapshot> Describe(const Principal& who, const std::string& id_or_name) const;
  std::vector<ArraySnapshot> List(const Principal& who) const;
  absl::Status Free(const Principal& who, const std::string& id_or_name);
  absl::StatusOr<ArraySnapshot> Renew(const Principal& who, const std::string& id_or_name, nanoseconds lease);

  // Memory for an output of a job, counted like any other; it becomes an array by Adopt, or goes with its last user.
  // `soon_free` bytes are about to be released by the caller and do not count against the limit.
  absl::StatusOr<std::shared_ptr<HostBuffer>> AllocateBuffer(std::uint64_t bytes, std::uint64_t soon_free = 0);
  // The same for an output that shall become an array: devices may keep it.
  absl::StatusOr<std::shared_ptr<HostBuffer>> AllocateArray(std::uint64_t bytes, std::uint64_t soon_free = 0);
  // An owner without a session and no lease: the array stays until somebody frees it. `number`: in its id, if it is one
  // below ArrayLimits::first_number that no array has; 0: the next.
  absl::StatusOr<ArraySnapshot> Adopt(const Principal& owner, const Signature& signature, const std::string& name,
                                      std::optional<nanoseconds> lease, std::shared_ptr<const HostBuffer> buffer,
                                      std::uint64_t number = 0);
  static std::uint64_t NumberIn(const ArrayId& id);

  // Whether the token may have arrays of so many bytes more: beside those that it has, or if it had none. Else
  // RESOURCE_EXHAUSTED, with what it has and the limit quota-bytes; of the field "memory", as any want that may pass,
  // or of "quota-bytes" if it can never have them. PERMISSION_DENIED where it is a token no more.
  enum class Beside { kArrays, kNothing };
  absl::Status CheckQuota(const Principal& who, std::uint64_t bytes, Beside beside) const;
  // The bytes of the token's arrays, with those that are being written.
  std::uint64_t BytesOf(const std::string& token) const;

  // Holds a name for an array that is still being made; nobody else gets it until the hold goes or is adopted with.
  class NameHold {
   public:
    NameHold();
    NameHold(NameHold&& other) noexcept;
    NameHold& operator=(NameHold&& other) noexcept;
    ~NameHold();

   private:
    friend class ArrayStore;
    struct Held;
    explicit NameHold(std::unique_ptr<Held> held);
    std::unique_ptr<Held> held_;
  };
  // INVALID_ARGUMENT, or ALREADY_EXISTS. The hold must not outlive the store.
  absl::StatusOr<NameHold> HoldName(const Principal& owner, const std::string& name);
  // RESOURCE_EXHAUSTED also as by CheckQuota, which the Adopt above does not ask: arrays that daemons before this one
  // had are never refused for it.
  absl::StatusOr<ArraySnapshot> Adopt(const Principal& owner, const Signature& signature, NameHold name,
                                      std::optional<nanoseconds> lease, std::shared_ptr<const HostBuffer> buffer,
                                      const std::string& device);

  // 1 to 64 of A-Z a-z 0-9 _ . -, and not what an array's id looks like ("a17").
  static absl::Status ValidateName(const std::string& name);
  absl::Status ValidateLease(nanoseconds lease) const;

  ArrayHolders SessionsWithArrays() const;
  // Frees what the session owns; arrays with a lease stay. The memory goes with what it returns, which a caller that
  // holds a lock keeps until after it.
  std::vector<std::shared_ptr<const void>> EndSession(const SessionId& session);
  // Frees arrays whose lease or upload grace is over, the latter where no stream writes: by this one, if that is
  // shorter. Returns what it freed, for the log.
  std::vector<ArraySnapshot> Expire(nanoseconds upload_grace = nanoseconds::max());
  // The bytes of sessionless arrays that such an Expire would free because their upload stands still.
  std::uint64_t StalledUploadBytes(nanoseconds upload_grace) const;

  std::uint64_t bytes_held() const;    // with what jobs have that is no array yet, or will be none
  std::uint64_t bytes_stored() const;  // of all arrays
  const ArrayLimits& limits() const;
  // In the id of the array made last; first_number - 1 for none. Waits for nobody.
  std::uint64_t last_number() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;

  absl::StatusOr<ArraySnapshot> CreateNow(const Principal& owner, const Signature& signature, const std::string& name,
                                          std::optional<nanoseconds> lease, bool replace, const std::string& device,
                                          std::uint64_t bytes);
  absl::StatusOr<std::shared_ptr<HostBuffer>> Allocate(std::uint64_t bytes, std::uint64_t soon_free,
                                                       std::uint64_t identity,
                                                       const std::shared_ptr<DeviceCopies>& copies);
};

}  // namespace hotplate::core
