// The files of a job: headers of inputs are checked before anything is sent, and places of outputs before the job runs.
// Outputs appear whole or not at all. Large files pass through memory in pieces.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/jobs/elements.h"
#include "client/cli/jobs/job_arguments.h"
#include "client/cli/jobs/picture.h"
#include "kernels/array/npy.h"
#include "kernels/array/npy_pieces.h"

namespace hotplate::cli {

// An error of a file as a status that names the file: PERMISSION_DENIED or INVALID_ARGUMENT.
absl::Status FileError(const std::string& path, const NpyError& error);

// The elements of an open file, to be read while they are sent. Its errors name `path`.
client::ArraySource SourceOf(NpyFile file, const std::string& path);

class JobInputs {
 public:
  // Opens every .npy file and checks its header and length. Names every file that will not do.
  static absl::StatusOr<JobInputs> Open(const std::vector<InputArgument>& arguments);

  // Reads the elements of small files, which ride inside the request, and closes these files.
  absl::Status Load();

  // Inputs for the client library: views of this object's memory, and sources for larger files. Before Load only the
  // views' signatures are valid, which is all that Check sends.
  std::map<std::string, client::Input> Inputs() const;

 private:
  struct File {
    std::string name;
    client::ArraySource source;
    std::shared_ptr<HostBuffer> buffer;  // of a small one
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
  // Makes each file's unfinished twin beside it. Fails if a file could not be written, or if two outputs would go into
  // one file, even by different paths. `kept`: how many of the first elements are kept of an output without a file.
  // `tidied`: folders in which there is nothing to tidy up; those of these files are added.
  static absl::StatusOr<JobOutputs> Open(const std::vector<OutputArgument>& arguments,
                                         std::size_t kept = kShownElements, std::set<std::string>* tidied = nullptr);

  // Refuses pictures that the outputs' shapes and types do not allow.
  absl::Status CheckPictures(const std::vector<std::pair<std::string, hotplate::Signature>>& outputs) const;

  // As client::JobOptions::take_output: a piece goes into the unfinished file; one of an output without a file is
  // summed up. An error is kept, too.
  absl::Status Take(const std::string& output, const hotplate::Signature& signature, std::uint64_t offset,
                    std::span<const std::byte> piece);
  absl::Status take_error() const { return take_error_; }
  // Whether pieces of it were taken; their summary where it has no file.
  bool Taken(const std::string& output) const { return taken_.contains(output); }
  const Summariser* SummaryOf(const std::string& output) const;

  // Puts the file of this output, if it has one, into its place: of the pieces that were taken, or else of `elements`.
  absl::Status Write(const std::string& output, const hotplate::Signature& signature,
                     std::span<const std::byte> elements = {});

  // The file of an output; nothing if it has none.
  std::optional<std::string> PathOf(const std::string& output) const;
  // "; a.npy, b.npy not written"; empty without files.
  std::string NotWritten() const;
  bool HasPicture() const;
  // One goes to standard output, which is for nothing else then.
  bool TakesStandardOutput() const;

 private:
  struct File {
    std::string path;
    bool picture = false;
    std::optional<AtomicFile> file;  // none: standard output
    std::optional<Picture> drawing;  // of a picture, once elements came
  };
  absl::Status TakeIntoFile(File& file, const hotplate::Signature& signature, std::uint64_t offset,
                            std::span<const std::byte> piece);

  std::size_t kept_ = kShownElements;
  std::map<std::string, File> files_;
  std::map<std::string, Summariser> summaries_;
  std::set<std::string> taken_;
  absl::Status take_error_;
};

}  // namespace hotplate::cli
