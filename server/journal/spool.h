// Inputs and results of detached jobs as files, in a layout that people and scripts read without a daemon:
//   .hotplate-spool               says whose spool it is (id and folder of the journal), and that files here may be
//                                 deleted
//   jobs/4711/input-a.npy         each input; one that several jobs may have is a hard link to a file in shared/
//   jobs/4711/inputs.json         names, dtypes, shapes, sizes, SHA-256 of the files: complete once it is there
//   jobs/4711/result-out.npy, receipt.json, results.json
//   shared/<SHA-256>.npy          by content; jobs/ has no link where the file system has none
//   linked/<SHA-256>.npy          the same, of an array that has a file of its own elsewhere: a hard link to that
//                                 file, which is made read-only. It takes no room while that file is there, and is not
//                                 counted: whoever made the array durable asked for the room. Where the file system
//                                 has no hard links, the array is copied to shared/.
// A job's files are on the disk before the index has its record: a folder without a record is what a killed daemon was
// writing, and Sweep removes it. Files are deleted after the index has the job as released. So the index alone says
// what there must be.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/base/mutex.h"
#include "server/journal/disk.h"
#include "server/journal/records.h"
#include "server/journal/spool_mark.h"

namespace hotplate::journal {

struct SpoolLimits {
  std::uint64_t bytes = 0;                            // of all files; 0: any
  std::uint64_t free_bytes = std::uint64_t{1} << 30;  // stay free on the disk
};

struct SpoolOptions {
  std::string root;
  std::string journal_id;        // Index::Id: no two journals share a spool
  std::uint64_t used_bytes = 0;  // by what the index has (SpooledBytes, prune.h)
  SpoolLimits limits = {};
  Disk* disk = &Disk::Real();
};

struct SpoolItem {
  std::string name;                         // the spec's
  std::optional<Signature> signature = {};  // none: opaque bytes, in a .bin or .txt file
  Disk::Bytes bytes;
  bool shared = false;    // store it by content
  std::string file = {};  // of a shared one: another file with the same bytes, if there is one
  bool text = false;      // of opaque bytes: in a .txt file
};

// Another file of a job, as it is: {"receipt.json", ...}.
struct SpoolText {
  std::string file, text;
};

// Thread-safe. All calls but the limits' wait for the file system.
class Spool {
 public:
  // FAILED_PRECONDITION if the folder is another journal's spool, or has other files in it.
  static absl::StatusOr<std::unique_ptr<Spool>> Open(SpoolOptions options);

  // A journal and its copies have one id: only the journal in that folder, the first one, may write to the spool and
  // delete from it. `replace`: another one may have it where the first is gone, or has its own copy of the spool.
  // FAILED_PRECONDITION, naming the folder that has it; nothing in the spool is changed from then on.
  absl::Status Claim(const std::string& folder, bool replace);
  // OK, or why Claim failed.
  absl::Status health() const;

  // A job's files that the index does not know yet. They are removed with this, unless they are kept.
  class Stored {
   public:
    Stored(Stored&& other) noexcept;
    Stored& operator=(Stored&&) = delete;
    ~Stored();
    const std::vector<SpooledFile>& files() const { return files_; }
    // The index has them.
    void Keep() { number_ = 0; }

   private:
    friend class Spool;
    Stored(Spool& spool, std::uint64_t number) : spool_(&spool), number_(number) {}
    Spool* spool_;
    std::uint64_t number_;  // 0: kept, or moved
    std::vector<SpooledFile> files_;
    std::vector<Sha256> pins_;
    std::uint64_t bytes_ = 0;
  };

  // The inputs of a new job. RESOURCE_EXHAUSTED, with the limit, if there is no room for them. `admit`, if there is
  // one, is asked before anything is written: what it refuses is the answer. The files have no place yet.
  using Admit = std::function<absl::Status(std::span<const SpooledFile> files)>;
  absl::StatusOr<Stored> StoreInputs(std::uint64_t number, std::span<const SpoolItem> items,
                                     std::span<const SpoolText> texts = {}, const Admit& admit = nullptr);
  // Replaces what an earlier run of the job left. With kLater a power cut may take them.
  absl::StatusOr<std::vector<SpooledFile>> StoreResults(std::uint64_t number, std::span<const SpoolItem> items,
                                                        std::span<const SpoolText> texts, Disk::Sync sync);

  // The job's folder is there. As Claim, if it failed.
  absl::Status MakeFolder(std::uint64_t number);
  // The names of the files in it are on the disk.
  absl::Status SyncFolder(std::uint64_t number);
  // One file of a job that is none of its inputs and results.
  absl::Status RemoveFile(std::uint64_t number, const std::string& file);
  // All files of a job. Shared ones stay until Sweep, or RemoveShared. These three: as Claim, if it failed.
  absl::Status Remove(std::uint64_t number, std::uint64_t bytes);
  // `bytes`: its size. False: it is being used just now, and stays.
  absl::StatusOr<bool> RemoveShared(const Sha256& sha, std::uint64_t bytes);
  // Removes the folders and shared files that `is_known` and `is_shared` do not know. While no job is being stored.
  struct Swept {
    std::uint64_t folders = 0, shared = 0;
  };
  absl::StatusOr<Swept> Sweep(const std::function<bool(std::uint64_t number)>& is_known,
                              const std::function<bool(const Sha256&)>& is_shared);

  std::uint64_t used_bytes() const;
  const std::string& root() const { return options_.root; }
  const SpoolLimits& limits() const { return options_.limits; }
  std::string PathOf(const SpooledFile& file) const { return options_.root + "/" + file.file; }

 private:
  // Folders of files that several jobs may have.
  static constexpr const char* kSharedFolders[] = {"shared", "linked"};
  struct Shared {
    int pins = 0;
    bool writing = false;
  };

  explicit Spool(SpoolOptions options) : options_(std::move(options)), used_(options_.used_bytes) {}
  absl::Status Prepare();
  std::string JobFolder(std::uint64_t number) const;
  absl::Status Reserve(std::uint64_t bytes);
  void GiveBack(std::uint64_t bytes);
  absl::Status Clear(const std::string& folder, const std::function<bool(const std::string& name)>& which);
  // Names the file in `file`.
  absl::Status StoreOne(std::uint64_t number, std::span<const Disk::Bytes> pieces, const SpoolItem& item,
                        SpooledFile& file, Disk::Sync sync);
  // Names the file in `file`.
  absl::Status StoreShared(std::span<const Disk::Bytes> pieces, const std::string& other, SpooledFile& file,
                           Stored& stored);
  absl::Status PlaceShared(std::span<const Disk::Bytes> pieces, const std::string& other, SpooledFile& file);
  absl::Status WriteTexts(const std::string& folder, std::span<const SpoolText> texts, Disk::Sync sync);
  void Unpin(const std::vector<Sha256>& pins);

  const SpoolOptions options_;
  mutable Mutex mutex_;
  CondVar written_;
  std::map<Sha256, Shared> shared_ ABSL_GUARDED_BY(mutex_);  // those in use by Stored
  std::uint64_t used_ ABSL_GUARDED_BY(mutex_);
  absl::Status health_ ABSL_GUARDED_BY(mutex_);
};

// Whether a file is there with its size and content. NOT_FOUND or DATA_LOSS, with its path.
absl::Status CheckFile(const std::string& path, const SpooledFile& file);

// The file name of an input or output: its name, with what is not a letter, digit, _ or - as %XX.
std::string FileNameOf(FileRole role, const SpoolItem& item);

}  // namespace hotplate::journal
