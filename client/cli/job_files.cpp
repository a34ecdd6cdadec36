#include "client/cli/job_files.h"

#include <variant>

#include "client/cli/ending.h"
#include "client/cli/picture.h"

namespace hotplate::cli {

absl::Status FileError(const std::string& path, const NpyError& error) {
  return absl::InvalidArgumentError(path + ": " + error.message);
}

namespace {

// The job has run: nothing was refused.
absl::Status WriteError(const std::string& path, const NpyError& error) {
  return WithExitCode(absl::DataLossError(path + ": " + error.message), kExitFailed);
}

}  // namespace

absl::StatusOr<JobInputs> JobInputs::Open(const std::vector<InputArgument>& arguments) {
  JobInputs inputs;
  std::string errors;
  for (const InputArgument& argument : arguments) {
    switch (argument.kind) {
      case InputArgument::Kind::kArray:
        inputs.remote_[argument.name] = client::ArrayRef{argument.text};
        break;
      case InputArgument::Kind::kPath:
        inputs.remote_[argument.name] = client::PathRef{argument.text};
        break;
      case InputArgument::Kind::kFile: {
        auto opened = NpyFile::Open(argument.text);
        if (const NpyError* error = std::get_if<NpyError>(&opened)) {
          errors += errors.empty() ? "" : "\n";
          errors += "input " + argument.name + ": " + argument.text + ": " + error->message;
          break;
        }
        NpyFile& npy = std::get<NpyFile>(opened);
        const std::size_t bytes = *ByteSize(npy.signature());  // the header was refused if it had none
        auto buffer = HostBuffer::Allocate(bytes);
        if (!buffer)
          return absl::ResourceExhaustedError(argument.text + ": this machine has no memory for " +
                                              Bytes(static_cast<double>(bytes)) +
                                              "; if the daemon can read the file, say path:" + argument.text);
        inputs.files_.push_back({argument.name, argument.text, std::move(npy), std::move(buffer)});
        break;
      }
    }
  }
  if (!errors.empty()) return absl::InvalidArgumentError(errors + "\nnothing was sent");
  return inputs;
}

absl::Status JobInputs::Load() {
  for (File& file : files_)
    if (const auto error = file.npy.Read(file.buffer->bytes())) return FileError(file.path, *error);
  return absl::OkStatus();
}

std::map<std::string, client::Input> JobInputs::Inputs() const {
  std::map<std::string, client::Input> inputs = remote_;
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
  for (const OutputArgument& argument : arguments) {
    if (argument.kind == OutputArgument::Kind::kArray) continue;
    auto created = AtomicFile::Create(argument.text);
    if (const NpyError* error = std::get_if<NpyError>(&created))
      return absl::InvalidArgumentError("output " + argument.name + ": " + argument.text + ": " + error->message +
                                        "\nthe job was not run");
    outputs.files_.emplace(argument.name, File{argument.text, argument.kind == OutputArgument::Kind::kPicture,
                                               std::move(std::get<AtomicFile>(created))});
  }
  return outputs;
}

absl::Status JobOutputs::CheckPictures(const std::vector<std::pair<std::string, hotplate::Signature>>& outputs) const {
  for (const auto& [name, signature] : outputs) {
    const auto found = files_.find(name);
    if (found == files_.end() || !found->second.picture) continue;
    if (const auto error = WhyNoPicture(signature))
      return absl::InvalidArgumentError("output " + name + ": " + found->second.path + ": " + *error +
                                        "\nthe job was not run");
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

std::vector<std::string> JobOutputs::Paths() const {
  std::vector<std::string> paths;
  for (const auto& [name, file] : files_) paths.push_back(file.path);
  return paths;
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
