// Saves arrays that must outlive the daemon: at its end, complete arrays under a lease (which promised to keep them
// longer) are written to .npy files. Smallest first, so that as many as possible are safe if time or disk space runs
// out.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/base/mutex.h"
#include "server/core/arrays/arrays.h"
#include "server/saved/saved_folders.h"

namespace hotplate::server {

struct SavedArrays {
  struct One {
    core::ArrayId id;
    std::string name;  // or the id
    std::uint64_t bytes = 0;
    std::string file;  // empty: not saved
    std::string why_not;
  };
  std::vector<One> all;

  bool Has(const core::ArrayId& id) const;            // in a file
  std::string WhyNot(const core::ArrayId& id) const;  // also empty if nobody tried to save it
};

// Works on a thread of its own from Start on; the other calls are of one thread, but Finish and DropOld, which may wait
// on another meanwhile.
class ArraySaver {
 public:
  // Files are `folder`/<array's name, or its id>.npy, mode 0600 below folders of 0700. A named file replaces an older
  // one. Ids mean nothing to another daemon, so a file for an id that exists already is called <id>.<generation>.npy
  // instead. A guest's is <name>.<id>@<token>.npy, or <id>@<token>.npy: neither names of arrays nor those of tokens
  // have an "@", so that it replaces nobody else's, and no other array is ever in it (DurableArrays::RemoveGone).
  struct Options {
    std::string folder;
    std::string generation;
    SavedBounds bounds = {};  // for files beside `folder` and in it; files of this run stay
    // `log` gets every array, once its fate is known, on the saver's thread. `dropped`, called in DropOld, gets each
    // removed file of an older run, and the reason.
    std::function<void(const SavedArrays::One&)> log = {};
    std::function<void(const std::string& file, const std::string& why)> dropped = {};
    // The file that has the array already, which is not written again; empty: none. May be empty itself.
    std::function<std::string(const core::ArrayId&)> file_of = {};
  };
  // `arrays` must outlive the thread.
  ArraySaver(const core::ArrayStore& arrays, Options options) : arrays_(arrays), options_(std::move(options)) {}
  ~ArraySaver();

  // Looks how many bytes the folder has room for; may wait for the file system. `room` returns the answer of the last
  // look, or nothing if it is unknown. Both from any thread.
  void LookAtRoom();
  std::optional<std::uint64_t> room() const;

  // Saves one that has a name, while the daemon goes on, and returns its file. RESOURCE_EXHAUSTED: there is no room;
  // FAILED_PRECONDITION: it cannot be written.
  // Waits for the file system. One call at a time.
  absl::StatusOr<std::string> SaveNow(const core::ArraySnapshot& array) const;

  // Saves all arrays. After `until` it begins no array and continues none.
  void Start(core::SteadyTime until);
  bool started() const { return started_; }
  // Never later than before.
  void Shorten(core::SteadyTime until);
  // No more arrays come: saves new ones, and returns when all is done or the time is over, even if the file system
  // hangs.
  SavedArrays Finish();
  // Removes files of older runs in the remaining time: saving goes first. Call it after Finish, from a thread that may
  // wait for the file system. Returns the reason if nothing can be dropped at all, else nothing.
  std::string DropOld();
  // For a process about to end, from any thread: removes the partial file. Returns the names of arrays whose fate was
  // still unknown. Waits for no lock.
  std::vector<std::string> Abandon();

 private:
  void Run();
  void SaveNew();
  bool TimeIsOver() const;
  void Save(const core::ArraySnapshot& array);
  void Settle(SavedArrays::One one);
  // Empty, or why the file is not there. Ends when `stop` says so; `begun` gets the name of the partial file.
  std::string Write(const core::ArraySnapshot& array, const std::string& file, const std::function<bool()>& stop,
                    const std::function<void(const std::string&)>& begun) const;
  void SetTemporary(const std::string& file);
  // Without the ".npy".
  std::string StemOf(const core::ArraySnapshot& array) const;
  std::string FileFor(const core::ArraySnapshot& array);

  const core::ArrayStore& arrays_;
  const Options options_;
  bool started_ = false;
  std::atomic<std::int64_t> until_{0};  // of the steady clock
  static constexpr std::uint64_t kUnknown = ~std::uint64_t{0};
  std::atomic<std::uint64_t> room_{kUnknown};

  Mutex mutex_;
  CondVar finish_called_;
  bool finish_ ABSL_GUARDED_BY(mutex_) = false;

  Mutex plan_mutex_;  // held while a file system is waited for by Abandon alone
  std::vector<std::string> plan_ ABSL_GUARDED_BY(plan_mutex_);  // names, in their order
  std::string temporary_ ABSL_GUARDED_BY(plan_mutex_);

  // Why an array of this size must not be begun, or an empty text.
  std::string LookForRoom(std::uint64_t bytes) const;

  // The thread's own until it is joined.
  std::optional<std::uint64_t> free_at_first_;  // before anything was saved; nothing: unknown
  std::uint64_t saved_bytes_ = 0;
  SavedArrays saved_;
  std::set<std::string> seen_;   // ids
  std::set<std::string> files_;  // of this run
  std::thread thread_;
};

}  // namespace hotplate::server
