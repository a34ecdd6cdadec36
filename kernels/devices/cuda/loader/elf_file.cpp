#include "kernels/devices/cuda/loader/elf_file.h"

#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace hotplate {
namespace {

constexpr std::uint64_t kMostDynamicBytes = std::uint64_t{1} << 20;
constexpr std::uint64_t kMostTextBytes = std::uint64_t{64} << 20;
constexpr std::size_t kLongestName = 4096;

#if defined(__x86_64__)
constexpr int kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr int kMachine = EM_AARCH64;
#else
constexpr int kMachine = EM_NONE;
#endif

absl::Status Wrong(const std::string& what) { return absl::FailedPreconditionError(what); }

class File {
 public:
  explicit File(const std::string& path) : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  bool is_open() const { return fd_ >= 0; }
  std::uint64_t Size() const {
    struct stat facts {};
    return fstat(fd_, &facts) == 0 && S_ISREG(facts.st_mode) ? static_cast<std::uint64_t>(facts.st_size) : 0;
  }
  // All of it or nothing.
  bool Read(std::uint64_t offset, void* to, std::size_t bytes) const {
    return pread(fd_, to, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
  }

 private:
  const int fd_;
};

// Where an address of the loaded object lies in the file.
std::optional<std::uint64_t> OffsetOf(const std::vector<ElfW(Phdr)>& headers, std::uint64_t address) {
  for (const ElfW(Phdr) & header : headers) {
    if (header.p_type == PT_LOAD && address >= header.p_vaddr && address - header.p_vaddr < header.p_filesz) {
      return header.p_offset + (address - header.p_vaddr);
    }
  }
  return std::nullopt;
}

// The text at `at` of the string table.
std::string NameAt(const File& file, std::uint64_t table, std::uint64_t table_bytes, std::uint64_t at) {
  if (at >= table_bytes) return "";
  std::string name(std::min<std::uint64_t>(kLongestName, table_bytes - at), '\0');
  if (!file.Read(table + at, name.data(), name.size())) return "";
  name.resize(strnlen(name.data(), name.size()));
  return name;
}

}  // namespace

absl::StatusOr<ElfFile> ReadElfFile(const std::string& path) {
  const File file(path);
  if (!file.is_open()) return Wrong(absl::StrCat("it cannot be read: ", strerror(errno)));
  const std::uint64_t size = file.Size();
  ElfW(Ehdr) header{};
  if (size < sizeof header || !file.Read(0, &header, sizeof header) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    return Wrong(absl::StrCat("it is no shared object (invalid ELF header; ", size, " bytes)"));
  }
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_type != ET_DYN ||
      header.e_machine != kMachine || header.e_phentsize != sizeof(ElfW(Phdr))) {
    return Wrong("it is an ELF file, but no shared object for this machine");
  }
  const auto inside = [size](std::uint64_t offset, std::uint64_t bytes) {
    return offset <= size && bytes <= size - offset;
  };
  const absl::Status cut = Wrong(
      absl::StrCat("the file is cut short: it has ", size, " bytes, fewer than its own headers say; install it again"));
  const std::uint64_t sections = std::uint64_t{header.e_shnum} * header.e_shentsize;
  if (!inside(header.e_phoff, std::uint64_t{header.e_phnum} * sizeof(ElfW(Phdr))) ||
      !inside(header.e_shoff, sections)) {
    return cut;
  }
  std::vector<ElfW(Phdr)> headers(header.e_phnum);
  if (!file.Read(header.e_phoff, headers.data(), headers.size() * sizeof(ElfW(Phdr)))) return cut;

  std::vector<ElfW(Dyn)> dynamic;
  for (const ElfW(Phdr) & one : headers) {
    if (one.p_type != PT_LOAD && one.p_type != PT_DYNAMIC) continue;
    if (!inside(one.p_offset, one.p_filesz)) return cut;
    if (one.p_type != PT_DYNAMIC) continue;
    if (one.p_filesz > kMostDynamicBytes) return Wrong("its dynamic section is absurdly large");
    dynamic.resize(one.p_filesz / sizeof(ElfW(Dyn)));
    if (!file.Read(one.p_offset, dynamic.data(), dynamic.size() * sizeof(ElfW(Dyn)))) return cut;
  }
  std::uint64_t text_bytes = 0;
  std::optional<std::uint64_t> text;
  for (const ElfW(Dyn) & entry : dynamic) {
    if (entry.d_tag == DT_STRTAB) text = OffsetOf(headers, entry.d_un.d_ptr);
    if (entry.d_tag == DT_STRSZ) text_bytes = entry.d_un.d_val;
  }
  if (!text || text_bytes > kMostTextBytes || !inside(*text, text_bytes)) {
    return Wrong("it is an ELF file without a table of names");
  }
  ElfFile found;
  for (const ElfW(Dyn) & entry : dynamic) {
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag == DT_NEEDED) found.needed.push_back(NameAt(file, *text, text_bytes, entry.d_un.d_val));
    if (entry.d_tag == DT_SONAME) found.soname = NameAt(file, *text, text_bytes, entry.d_un.d_val);
  }
  return found;
}

}  // namespace hotplate
