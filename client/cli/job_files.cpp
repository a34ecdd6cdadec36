#include "client/cli/job_files.h"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <variant>

#include "client/cli/ending.h"
#include "client/cli/format.h"
#include "client/cli/picture.h"
#include "client/cli/scalar_input.h"

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

absl::StatusOr<JobInputs> JobInputs::Open(const std::vector<InputArgument>& arguments) {
  JobInputs inputs;
  std::string errors;
  absl::StatusCode code = absl::StatusCode::kPermissionDenied;  // if it is so of all that will not do
  absl::Status no_memory;  // told only where the files are good: memory comes back by itself, they do not
  for (const InputArgument& argument : arguments) {
    switch (argument.kind) {
      case InputArgument::Kind::kArray:
        inputs.remote_[argument.name] = client::ArrayRef{argument.text};
        break;
      case InputArgument::Kind::kPath:
        inputs.remote_[argument.name] = client::PathRef{argument.text};
        break;
      case InputArgument::Kind::kScalar:
        if (auto buffer = ScalarBuffer(argument))
          inputs.scalars_[argument.name] = {{argument.dtype, {}}, std::move(buffer)};
        else
          no_memory.Update(absl::ResourceExhaustedError("this machine has no memory left"));
        break;
      case InputArgument::Kind::kFile: {
        auto opened = NpyFile::Open(argument.text);
        if (const NpyError* error = std::get_if<NpyError>(&opened)) {
          errors += errors.empty() ? "" : "\n";
          errors += "input " + argument.name + ": " + argument.text + ": " + error->message;
          if (CodeOf(*error) != code) code = absl::StatusCode::kInvalidArgument;
          break;
        }
        NpyFile& npy = std::get<NpyFile>(opened);
        const std::size_t bytes = *ByteSize(npy.signature());  // the header was refused if it had none
        auto buffer = HostBuffer::Allocate(bytes);
        if (!buffer) {
          no_memory.Update(absl::ResourceExhaustedError(
              argument.text + ": this machine does not have memory for " + Bytes(static_cast<double>(bytes)) +
              "; if the daemon can read the file, say path:" + argument.text));
          break;
        }
        inputs.files_.push_back({argument.name, argument.text, std::move(npy), std::move(buffer)});
        break;
      }
    }
  }
  if (!errors.empty()) return absl::Status(code, errors + "\nnothing was sent");
  if (!no_memory.ok()) return no_memory;
  return inputs;
}

absl::Status JobInputs::Load() {
  for (File& file : files_)
    if (const auto error = file.npy.Read(file.buffer->bytes())) return FileError(file.path, *error);
  return absl::OkStatus();
}

std::map<std::string, client::Input> JobInputs::Inputs() const {
  std::map<std::string, client::Input> inputs = remote_;
  for (const auto& [name, scalar] : scalars_)
    inputs[name] = client::ArrayView{scalar.signature, scalar.buffer->bytes()};
  for (const File& file : files_) inputs[file.name] = client::ArrayView{file.npy.signature(), file.buffer->bytes()};
  return inputs;
}

std::uint64_t JobInputs::bytes() const {
  std::uint64_t sum = 0;
  for (const File& file : files_) sum += file.buffer->size();
  return sum;
}

absl::StatusOr<JobOutputs> JobOutputs::Open(const std::vector<OutputArgument>& arguments) {
  JobOutputs outputs;
  std::vector<std::pair<Place, const OutputArgument*>> places;
  for (const OutputArgument& argument : arguments) {
    if (argument.kind == OutputArgument::Kind::kArray) continue;
    auto created = AtomicFile::Create(argument.text);
    if (const NpyError* error = std::get_if<NpyError>(&created))
      return FileError("output " + argument.name + ": " + argument.text, *error);
    AtomicFile& file = std::get<AtomicFile>(created);
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
                           File{argument.text, argument.kind == OutputArgument::Kind::kPicture, std::move(file)});
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

absl::Status JobOutputs::Write(const std::string& output, const hotplate::Signature& signature,
                               std::span<const std::byte> elements) {
  const auto found = files_.find(output);
  if (found == files_.end()) return absl::OkStatus();
  File& file = found->second;
  if (!file.picture) return WriteNpy(file.file, file.path, signature, elements);
  const auto picture = EncodePicture(signature, elements);
  if (!picture.ok()) return absl::InvalidArgumentError(file.path + ": " + std::string(picture.status().message()));
  if (const auto error = file.file.Write(std::as_bytes(std::span(*picture)))) return WriteError(file.path, *error);
  if (const auto error = file.file.Commit()) return WriteError(file.path, *error);
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

bool JobOutputs::HasPicture() const {
  for (const auto& [name, file] : files_)
    if (file.picture) return true;
  return false;
}

absl::Status WriteNpy(AtomicFile& file, const std::string& path, const hotplate::Signature& signature,
                      std::span<const std::byte> elements) {
  const std::string header = NpyHeaderFor(signature);
  if (const auto error = file.Write(std::as_bytes(std::span(header)))) return WriteError(path, *error);
  if (const auto error = file.Write(elements)) return WriteError(path, *error);
  if (const auto error = file.Commit()) return WriteError(path, *error);
  return absl::OkStatus();
}

}  // namespace hotplate::cli
