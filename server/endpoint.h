// The endpoint record: how clients find a daemon. One folder (HOTPLATE_DIR) that only its owner can read:
//   servers/<name>.lock   locked by the daemon for its life; holds its pid, its allocation and the run of that
//   servers/<name>.json   the record: address, certificates, token
//   current               link to the record of the daemon that commands without --server talk to
#pragma once

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "hotplate/v1/endpoint.pb.h"
#include "kernels/base/mutex.h"

namespace hotplate::server {

// The allocation of a daemon, and its run.
struct Tenancy {
  std::string allocation;  // cluster and job id; empty: none
  std::uint32_t restart_count = 0;
};

// A name in a folder, held by this process. Move-only, while one thread has it; destruction withdraws the record and
// lets the name go.
class EndpointSlot {
 public:
  // Makes the folders (0700) where they are missing and takes the name. PERMISSION_DENIED if others can read or
  // write a folder (with the chmod that mends it), or it cannot be written; ALREADY_EXISTS, with the pid, if another
  // daemon has the name. An earlier run of the same allocation has no more right to it: Slurm has requeued the job, and
  // if the old daemon is not gone (its node may be cut off), it is on its way. Drafts that killed daemons of this name
  // left are removed.
  static absl::StatusOr<EndpointSlot> Claim(const std::string& directory, const std::string& name,
                                            const Tenancy& tenancy = {});

  EndpointSlot(EndpointSlot&& other) noexcept;
  EndpointSlot& operator=(EndpointSlot&&) = delete;
  ~EndpointSlot();

  // Writes the record (0600, all or nothing). `current` is pointed at it unless another daemon has that and is not
  // known to be gone: a job that starts hours after its submission must not turn a session over to itself.
  absl::Status Publish(const v1::EndpointRecord& record);
  // The rest is thread-safe.
  // Writes a record of the same generation that has changed. Nothing happens when it was withdrawn; FAILED_PRECONDITION
  // if another daemon's is there.
  absl::Status Update(const v1::EndpointRecord& record);
  // Removes record and link if they still belong to this generation. Waits for a running Update, but not long: its file
  // system may hang.
  void Withdraw();

  const std::string& record_path() const { return record_path_; }

 private:
  EndpointSlot(std::string directory, std::string name, int lock);

  std::string directory_, name_, record_path_;
  Mutex mutex_;
  std::string generation_ ABSL_GUARDED_BY(mutex_);  // of the published record; empty: none
  int lock_ = -1;
};

// The system's last error (errno) as a status, with the remedy for a folder that is not writable.
absl::Status SystemError(const std::string& what);

// A folder that exists (created with 0700 if missing), belongs to us, and is closed to everybody else.
absl::Status PrivateFolder(const std::string& path);

// Writes a file of mode 0600 that appears under its name, in place of another, only when it is whole and on the disk.
absl::Status WriteWhole(const std::string& path, const std::string& text);
// The same; false, and errno says why it was not written. `prepare` is given the empty file before it has a name that
// anybody knows; false, and errno likewise, ends it there.
bool WriteWhole(const std::string& path, const std::string& text, absl::FunctionRef<bool(int file)> prepare);

}  // namespace hotplate::server
