// Arrays that shall outlive the daemon: those that are complete and under a lease, which promised them for longer, are
// written to .npy files when it ends. Smallest first, so that as many as possible are safe if the time or the disk does
// not suffice.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/mutex.h"
#include "server/core/arrays/arrays.h"
#include "server/saved_folders.h"

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
  std::string WhyNot(const core::ArrayId& id) const;  // empty too where nobody tried to save it
};

// Works on a thread of its own from Start on; the other calls are of one thread, but Finish and DropOld, which may wait
// on another meanwhile.
class ArraySaver {
 public:
  // Files are `folder`/<array's name, or its id>.npy, of mode 0600 below folders of 0700. That of a name replaces an
  // older one; ids mean nothing to another daemon, so that one that is taken goes to <id>.<generation>.npy instead.
  struct Options {
    std::string folder;
    std::string generation;
    SavedBounds bounds = {};  // of what is saved beside `folder` and in it; what this run saves stays
    // Every array, when its fate is known, on the saver's thread; in DropOld, a file of an older run that is gone, and
    // why.
    std::function<void(const SavedArrays::One&)> log = {};
    std::function<void(const std::string& file, const std::string& why)> dropped = {};
  };
  // `arrays` must outlive the thread.
  ArraySaver(const core::ArrayStore& arrays, Options options) : arrays_(arrays), options_(std::move(options)) {}
  ~ArraySaver();

  // Saves what there is. No array is begun, or gone on with, after `until`.
  void Start(core::SteadyTime until);
  bool started() const { return started_; }
  // Never later than before.
  void Shorten(core::SteadyTime until);
  // No more arrays come: saves those that came since, and returns when all is done or the time is over (and whatever
  // the file system is doing then).
  SavedArrays Finish();
  // What older runs left, in what time is left: saving goes first. To be called once that is finished, from a thread
  // that may wait for the file system. Returns why nothing is dropped at all, or nothing.
  std::string DropOld();
  // For a process that is about to end, from any thread: the partial file is removed. Returns the names of those whose
  // fate was not known yet. Waits for no lock.
  std::vector<std::string> Abandon();

 private:
  void Run();
  void SaveNew();
  bool TimeIsOver() const;
  void Save(const core::ArraySnapshot& array);
  std::string Write(const core::ArraySnapshot& array, const std::string& file);
  void SetTemporary(const std::string& file);
  std::string FileFor(const core::ArraySnapshot& array);

  const core::ArrayStore& arrays_;
  const Options options_;
  bool started_ = false;
  std::atomic<std::int64_t> until_{0};  // of the steady clock

  Mutex mutex_;
  CondVar finish_called_;
  bool finish_ ABSL_GUARDED_BY(mutex_) = false;

  Mutex plan_mutex_;  // held while a file system is waited for by Abandon alone
  std::vector<std::string> plan_ ABSL_GUARDED_BY(plan_mutex_);  // names, in their order
  std::string temporary_ ABSL_GUARDED_BY(plan_mutex_);

  // Why an array of so many bytes is not to be begun, or nothing.
  std::string LookForRoom(std::uint64_t bytes) const;

  // The thread's own until it is joined.
  std::optional<std::uint64_t> free_at_first_;  // before anything was saved; nothing: not known
  std::uint64_t saved_bytes_ = 0;
  SavedArrays saved_;
  std::set<std::string> seen_;   // ids
  std::set<std::string> files_;  // of this run
  std::thread thread_;
};

}  // namespace hotplate::server
