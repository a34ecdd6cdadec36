#include "tests/fuzz/npy_probe.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "kernels/array/npy.h"

namespace hotplate {
namespace {

// Larger arrays than this are opened but not read.
constexpr std::size_t kReadUpTo = std::size_t{1} << 20;

void Require(bool holds, const char* otherwise) {
  if (holds) return;
  std::fprintf(stderr, "npy probe: %s\n", otherwise);
  std::abort();
}

// A file in memory, with a path that NpyFile can open.
class MemoryFile {
 public:
  explicit MemoryFile(std::span<const std::byte> bytes) : descriptor_(memfd_create("npy", MFD_CLOEXEC)) {
    Require(descriptor_ >= 0, "no memory file");
    Require(write(descriptor_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()), "cannot fill it");
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { close(descriptor_); }

  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

void RequireReasonable(const NpyHeader& header, std::size_t file_bytes) {
  const Signature& signature = header.signature;
  Require(DTypeFromNumber(static_cast<int>(signature.dtype)).has_value(), "a dtype that is none");
  Require(signature.shape.size() <= kMaxRank, "too many dimensions");
  Require(std::all_of(signature.shape.begin(), signature.shape.end(), [](auto size) { return size >= 0; }),
          "a negative size");
  const std::optional<std::size_t> bytes = ByteSize(signature);
  Require(bytes && *bytes <= kMaxArrayBytes, "an array beyond all bounds");
  Require(header.data_offset >= 10 && header.data_offset <= file_bytes, "data that start outside the file");
  Require(header.data_offset <= kMaxNpyHeaderBytes + 12, "a header beyond all bounds");

  // What was accepted can be written and read again.
  const std::string again = NpyHeaderFor(signature);
  const auto parsed = ParseNpyHeader(std::as_bytes(std::span(again)));
  const auto* same = std::get_if<NpyHeader>(&parsed);
  Require(same != nullptr && same->signature == signature, "a header that does not survive being written");
}

}  // namespace

bool ProbeNpy(std::span<const std::byte> bytes) {
  const auto parsed = ParseNpyHeader(bytes);
  const auto* header = std::get_if<NpyHeader>(&parsed);
  if (header != nullptr) {
    RequireReasonable(*header, bytes.size());
  } else {
    Require(!std::get<NpyError>(parsed).message.empty(), "a refusal without a word");
    Require(std::get<NpyError>(parsed).message.size() < 1000, "a refusal without an end");
  }

  const MemoryFile memory(bytes);
  const auto opened = NpyFile::Open(memory.path());
  const auto* file = std::get_if<NpyFile>(&opened);
  if (file == nullptr) return false;
  Require(header != nullptr && file->signature() == header->signature, "a file and a header that disagree");
  const std::size_t size = *ByteSize(file->signature());
  Require(size <= bytes.size(), "an array larger than its file");
  if (size > kReadUpTo) return true;
  std::vector<std::byte> elements(size, std::byte{0xee}),
      data(bytes.end() - static_cast<std::ptrdiff_t>(bytes.size() - header->data_offset), bytes.end());
  Require(!file->Read(elements), "a whole file that cannot be read");
  // Whatever the order of the elements, they are the same bytes.
  data.resize(size);
  std::sort(data.begin(), data.end());
  std::sort(elements.begin(), elements.end());
  Require(data == elements, "elements that are not in the file");
  return true;
}

}  // namespace hotplate
