#include "client/cli/jobs/job_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <variant>

#include "client/cli/ending.h"
#include "client/cli/jobs/scalar_input.h"
#include "client/cli/jobs/standard_streams.h"
#include "client/cli/terminal/format.h"

namespace hotplate::cli {

namespace {

absl::StatusCode CodeOf(const NpyError& error) {
  const int why = error.system_error;
  const bool forbidden = why == EACCES || why == EPERM || why == EROFS;
  return forbidden ? absl::StatusCode::kPermissionDenied : absl::StatusCode::kInvalidArgument;
}

// The job has run: nothing was refused.
absl::Status WriteError(const std::string& path, const NpyError& error) {
  return WithExitCode(absl::DataLossError(path + ": " + error.message), kExitFailed);
}

// Where a file will be put: its folder as the file system knows it, and its name there.
struct Place {
  dev_t device = 0;
  ino_t folder = 0;
  std::string name;
  bool operator==(const Place&) const = default;
};

// Nothing for a folder that has gone away.
std::optional<Place> PlaceOf(const std::filesystem::path& path) {
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  struct stat status {};
  if (stat(folder.c_str(), &status) != 0) return std::nullopt;
  return Place{status.st_dev, status.st_ino, path.filename().string()};
}

}  // namespace

absl::Status FileError(const std::string& path, const NpyError& error) {
  return {CodeOf(error), path + ": " + error.message};
}

client::ArraySource SourceOf(NpyFile file, const std::string& path) {
  const auto pieces = std::make_shared<NpyPieces>(std::move(file));
  return {pieces->signature(), [pieces, path](std::uint64_t offset, std::span<std::byte> to) -> absl::Status {
            if (const auto error = pieces->Read(offset, to)) return FileError(path, *error);
            return absl::OkStatus();
          }};
}

absl::StatusOr<JobInputs> JobInputs::Open(const std::vector<InputArgument>& arguments) {
  JobInputs inputs;
  std::string errors;
  absl::Status no_memory;  // told only where the files are good: memory comes back by itself, they do not
  absl::StatusCode code = absl::StatusCode::kPermissionDenied;  // if it is so of all that will not do
  if (std::count_if(arguments.begin(), arguments.end(), [](const InputArgument& argument) {
        return argument.kind == InputArgument::Kind::kFile && argument.text == kStandardStream;
      }) > 1)
    return absl::InvalidArgumentError("standard input (-) is given for two inputs: it can be one of them");
  for (const InputArgument& argument : arguments) {
    switch (argument.kind) {
      case InputArgument::Kind::kArray:
        inputs.remote_[argument.name] = client::ArrayRef{argument.text};
        break;
      case InputArgument::Kind::kPath:
        inputs.remote_[argument.name] = client::PathRef{argument.text};
        break;
      case InputArgument::Kind::kJob:
        inputs.remote_[argument.name] = client::OutputRef{argument.text, argument.output};
        break;
      case InputArgument::Kind::kScalar:
        if (auto buffer = ScalarBuffer(argument))
          inputs.scalars_[argument.name] = {{argument.dtype, {}}, std::move(buffer)};
        else
          no_memory.Update(absl::ResourceExhaustedError("this machine has no memory left"));
        break;
      case InputArgument::Kind::kFile: {
        auto opened = argument.opened ? std::move(*argument.opened) : OpenInput(argument.text);
        if (const NpyError* error = std::get_if<NpyError>(&opened)) {
          errors += errors.empty() ? "" : "\n";
          errors += "input " + argument.name + ": " + argument.text + ": " + error->message;
          if (CodeOf(*error) != code) code = absl::StatusCode::kInvalidArgument;
          break;
        }
        NpyFile& npy = std::get<NpyFile>(opened);
        const std::size_t bytes = *ByteSize(npy.signature());  // the header was refused if it had none
        File file{argument.name, SourceOf(std::move(npy), argument.text), nullptr};
        if (bytes <= client::kInlineInputBytes) {
          file.buffer = HostBuffer::Allocate(bytes);
          if (!file.buffer) {
            no_memory.Update(absl::ResourceExhaustedError(argument.text + ": this machine has no memory left"));
            break;
          }
        }
        inputs.files_.push_back(std::move(file));
        break;
      }
    }
  }
  if (!errors.empty()) return absl::Status(code, errors + "\nnothing was sent");
  if (!no_memory.ok()) return no_memory;
  return inputs;
}

absl::Status JobInputs::Load() {
  for (File& file : files_) {
    if (!file.buffer) continue;
    if (absl::Status status = file.source.read(0, file.buffer->bytes()); !status.ok()) return status;
    file.source.read = nullptr;
  }
  return absl::OkStatus();
}

std::map<std::string, client::Input> JobInputs::Inputs() const {
  std::map<std::string, client::Input> inputs = remote_;
  for (const auto& [name, scalar] : scalars_)
    inputs[name] = client::ArrayView{scalar.signature, scalar.buffer->bytes()};
  for (const File& file : files_) {
    if (file.buffer)
      inputs[file.name] = client::ArrayView{file.source.signature, file.buffer->bytes()};
    else
      inputs[file.name] = file.source;
  }
  return inputs;
}

absl::StatusOr<JobOutputs> JobOutputs::Open(const std::vector<OutputArgument>& arguments, std::size_t kept,
                                            std::set<std::string>* tidied) {
  JobOutputs outputs;
  outputs.kept_ = kept;
  std::vector<std::pair<Place, const OutputArgument*>> places;
  std::set<std::string> of_this_job;
  if (tidied == nullptr) tidied = &of_this_job;
  for (const OutputArgument& argument : arguments) {
    if (!argument.IsFileHere()) continue;
    if (argument.text == kStandardStream) {
      if (absl::Status status = CheckStandardOutput(); !status.ok()) return status;
      if (outputs.TakesStandardOutput())
        return absl::InvalidArgumentError("-o -: two outputs go to standard output; it takes one");
      outputs.files_.emplace(argument.name, File{argument.text, false, std::nullopt, {}});
      continue;
    }
    auto created = AtomicFile::Create(argument.text);
    if (const NpyError* error = std::get_if<NpyError>(&created))
      return FileError("output " + argument.name + ": " + argument.text, *error);
    AtomicFile& file = std::get<AtomicFile>(created);
    if (tidied->insert(file.folder()).second) AtomicFile::RemoveAbandoned(file.folder());
    if (const auto place = PlaceOf(file.path())) {
      for (const auto& [taken, by] : places)
        if (taken == *place)
          return absl::InvalidArgumentError(
              "outputs " + by->name + " and " + argument.name + ": " + by->text +
              (by->text == argument.text ? " would take both" : " and " + argument.text + " are one file") +
              "; give each a file of its own");
      places.emplace_back(*place, &argument);
    }
    outputs.files_.emplace(argument.name,
                           File{argument.text, argument.kind == OutputArgument::Kind::kPicture, std::move(file), {}});
  }
  return outputs;
}

absl::Status JobOutputs::CheckPictures(const std::vector<std::pair<std::string, hotplate::Signature>>& outputs) const {
  for (const auto& [name, signature] : outputs) {
    const auto found = files_.find(name);
    if (found == files_.end() || !found->second.picture) continue;
    if (const auto error = WhyNoPicture(signature))
      return absl::InvalidArgumentError("output " + name + ": " + found->second.path + ": " + *error);
  }
  return absl::OkStatus();
}

absl::Status JobOutputs::Take(const std::string& output, const hotplate::Signature& signature, std::uint64_t offset,
                              std::span<const std::byte> piece) {
  taken_.insert(output);
  if (const auto found = files_.find(output); found != files_.end()) {
    take_error_ = TakeIntoFile(found->second, signature, offset, piece);
  } else {
    summaries_.try_emplace(output, signature, kept_).first->second.Add(piece);
  }
  return take_error_;
}

absl::Status JobOutputs::TakeIntoFile(File& file, const hotplate::Signature& signature, std::uint64_t offset,
                                      std::span<const std::byte> piece) {
  if (file.picture) {
    if (offset == 0) {
      if (const auto why = WhyNoPicture(signature)) return absl::InvalidArgumentError(file.path + ": " + *why);
      auto begun = Picture::Begin(signature, file.file->folder());
      if (const NpyError* error = std::get_if<NpyError>(&begun)) return WriteError(file.path, *error);
      file.drawing = std::get<Picture>(std::move(begun));
    }
    if (const auto error = file.drawing->Add(piece)) return WriteError(file.path, *error);
    return absl::OkStatus();
  }
  const auto write = [&file](std::span<const std::byte> bytes) {
    return file.file ? file.file->Write(bytes) : WriteStandardOutput(bytes);
  };
  if (offset == 0) {
    const std::string header = NpyHeaderFor(signature);
    if (const auto error = write(std::as_bytes(std::span(header)))) return WriteError(file.path, *error);
  }
  if (const auto error = write(piece)) return WriteError(file.path, *error);
  return absl::OkStatus();
}

const Summariser* JobOutputs::SummaryOf(const std::string& output) const {
  const auto found = summaries_.find(output);
  return found == summaries_.end() ? nullptr : &found->second;
}

absl::Status JobOutputs::Write(const std::string& output, const hotplate::Signature& signature,
                               std::span<const std::byte> elements) {
  const auto found = files_.find(output);
  if (found == files_.end()) return absl::OkStatus();
  File& file = found->second;
  if (!Taken(output))
    if (absl::Status status = Take(output, signature, 0, elements); !status.ok()) return status;
  if (file.picture) {
    const auto write = [&file](std::span<const std::byte> bytes) { return file.file->Write(bytes); };
    if (const auto error = file.drawing->Draw(write)) return WriteError(file.path, *error);
  }
  if (!file.file) return absl::OkStatus();
  if (const auto error = file.file->Commit()) return WriteError(file.path, *error);
  return absl::OkStatus();
}

std::optional<std::string> JobOutputs::PathOf(const std::string& output) const {
  const auto found = files_.find(output);
  if (found == files_.end()) return std::nullopt;
  return found->second.path;
}

std::string JobOutputs::NotWritten() const {
  std::vector<std::string> paths;
  for (const auto& [name, file] : files_) paths.push_back(file.path);
  return paths.empty() ? "" : "; " + Join(paths, ", ") + " not written";
}

bool JobOutputs::TakesStandardOutput() const {
  return std::any_of(files_.begin(), files_.end(), [](const auto& one) { return !one.second.file; });
}

bool JobOutputs::HasPicture() const {
  for (const auto& [name, file] : files_)
    if (file.picture) return true;
  return false;
}

}  // namespace hotplate::cli
