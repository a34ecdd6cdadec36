// The files of a job: inputs whose headers are checked before anything is sent, outputs whose places are checked before
// the job runs, and which appear whole or not at all.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/job_arguments.h"
#include "kernels/array/npy.h"

namespace hotplate::cli {

// An error of a file as a status that names the file: PERMISSION_DENIED or INVALID_ARGUMENT.
absl::Status FileError(const std::string& path, const NpyError& error);

class JobInputs {
 public:
  // Opens every .npy file and checks its header and length. Names every file that will not do. RESOURCE_EXHAUSTED where
  // this machine has no memory for the elements; the memory is only reserved here.
  static absl::StatusOr<JobInputs> Open(const std::vector<InputArgument>& arguments);

  // Reads the files' elements.
  absl::Status Load();

  // What the client library takes: views of this object's memory. Before Load only their signatures mean something:
  // enough for Check, which sends no more.
  std::map<std::string, client::Input> Inputs() const;

  // Bytes of the files' elements, all together.
  std::uint64_t bytes() const;

 private:
  struct File {
    std::string name, path;
    NpyFile npy;
    std::shared_ptr<HostBuffer> buffer;
  };
  struct Scalar {
    hotplate::Signature signature;
    std::shared_ptr<HostBuffer> buffer;
  };
  std::vector<File> files_;
  std::map<std::string, Scalar> scalars_;
  std::map<std::string, client::Input> remote_;
};

class JobOutputs {
 public:
  // Makes each file's unfinished twin beside it: fails where it could not be written, and where two outputs would go
  // into one file, whatever their paths look like.
  static absl::StatusOr<JobOutputs> Open(const std::vector<OutputArgument>& arguments);

  // Refuses a picture of what cannot be one, going by what the job will produce.
  absl::Status CheckPictures(const std::vector<std::pair<std::string, hotplate::Signature>>& outputs) const;

  // Writes the file of this output, if it has one, and puts it into its place.
  absl::Status Write(const std::string& output, const hotplate::Signature& signature,
                     std::span<const std::byte> elements);

  // The file of an output; nothing if it has none.
  std::optional<std::string> PathOf(const std::string& output) const;
  // "; a.npy, b.npy not written", or nothing where there are no files.
  std::string NotWritten() const;
  bool HasPicture() const;

 private:
  struct File {
    std::string path;
    bool picture = false;
    AtomicFile file;
  };
  std::map<std::string, File> files_;
};

// An .npy file, whole or not at all.
absl::Status WriteNpy(AtomicFile& file, const std::string& path, const hotplate::Signature& signature,
                      std::span<const std::byte> elements);

}  // namespace hotplate::cli
