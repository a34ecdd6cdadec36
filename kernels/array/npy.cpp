#include "kernels/array/npy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <system_error>
#include <utility>

namespace hotplate {
namespace {

// One pread asks for at most this much: large enough for a parallel file system, small enough to be interrupted.
constexpr std::size_t kReadPiece = std::size_t{16} << 20;
// Working memory of a transposition.
constexpr std::size_t kStage = std::size_t{4} << 20;

using Stop = std::function<bool()>;

// Fills `destination` from `offset` on, or as much as the file has. The number of bytes read, or an error.
std::variant<std::size_t, NpyError> ReadUpTo(int descriptor, std::span<std::byte> destination, std::size_t offset,
                                             const Stop& stop) {
  std::size_t done = 0;
  while (done < destination.size()) {
    if (stop && stop()) return SystemError("the read was given up", ECANCELED);
    const ssize_t count = pread(descriptor, destination.data() + done, std::min(destination.size() - done, kReadPiece),
                                static_cast<off_t>(offset + done));
    if (count < 0) {
      if (errno == EINTR) continue;
      return SystemError("cannot read byte " + std::to_string(offset + done), errno);
    }
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

std::optional<NpyError> ReadAll(int descriptor, std::span<std::byte> destination, std::size_t offset,
                                const Stop& stop) {
  std::variant<std::size_t, NpyError> read = ReadUpTo(descriptor, destination, offset, stop);
  if (auto* error = std::get_if<NpyError>(&read)) return std::move(*error);
  const std::size_t got = std::get<std::size_t>(read);
  if (got == destination.size()) return std::nullopt;
  return NpyError{.message = "the file became shorter while it was read: it ends at byte " +
                             std::to_string(offset + got) + ", and " + std::to_string(offset + destination.size()) +
                             " were expected at least"};
}

// A file in Fortran order holds, for each index of the last axis, one slab: the elements of all other axes, the first
// axis fastest. Element p of slab j belongs at C index row(p) * slabs + j, where row(p) is p's place in C order among
// the other axes. So each slab is a column of the destination, seen as a matrix of `slab` rows and `slabs` columns.
struct Transposition {
  explicit Transposition(const Shape& shape)
      : axes(shape.begin(), shape.end() - 1), slabs(static_cast<std::size_t>(shape.back())) {
    strides.resize(axes.size());
    std::size_t stride = 1;
    for (std::size_t axis = axes.size(); axis-- > 0;) {
      strides[axis] = stride;
      stride *= static_cast<std::size_t>(axes[axis]);
    }
    slab = stride;
  }

  std::vector<std::int64_t> axes;    // all but the last
  std::vector<std::size_t> strides;  // a row's distance in C order
  std::size_t slab;                  // elements
  std::size_t slabs;
};

// Walks through the rows in Fortran order from a given one on.
class RowCursor {
 public:
  RowCursor(const Transposition& transposition, std::size_t first) : transposition_(transposition) {
    for (std::size_t axis = 0; axis < transposition.axes.size(); ++axis) {
      const auto size = static_cast<std::size_t>(transposition.axes[axis]);
      index_[axis] = first % size;
      first /= size;
      row_ += index_[axis] * transposition.strides[axis];
    }
  }

  std::size_t row() const { return row_; }

  void Next() {
    for (std::size_t axis = 0; axis < transposition_.axes.size(); ++axis) {
      row_ += transposition_.strides[axis];
      if (++index_[axis] < static_cast<std::size_t>(transposition_.axes[axis])) return;
      row_ -= index_[axis] * transposition_.strides[axis];
      index_[axis] = 0;
    }
  }

 private:
  const Transposition& transposition_;
  std::size_t index_[kMaxRank] = {};
  std::size_t row_ = 0;
};

// Moves `width` columns of `run` elements each, `pitch` bytes apart in `stage`, to rows from `first_row` (in Fortran
// order) and columns from `first_column` on. Works in strips, so that the source columns stay in the cache.
template <std::size_t kSize>
void Scatter(const Transposition& transposition, const std::byte* stage, std::size_t pitch, std::size_t width,
             std::size_t run, std::size_t first_row, std::size_t first_column, std::byte* destination) {
  constexpr std::size_t kStrip = std::max<std::size_t>(16, 64 / kSize);
  for (std::size_t strip = 0; strip < width; strip += kStrip) {
    const std::size_t strip_end = std::min(width, strip + kStrip);
    RowCursor cursor(transposition, first_row);
    for (std::size_t p = 0; p < run; ++p, cursor.Next()) {
      std::byte* const out = destination + (cursor.row() * transposition.slabs + first_column) * kSize;
      for (std::size_t column = strip; column < strip_end; ++column) {
        std::memcpy(out + column * kSize, stage + column * pitch + p * kSize, kSize);
      }
    }
  }
}

template <std::size_t kSize>
std::optional<NpyError> ReadTransposed(int descriptor, std::size_t offset, const Transposition& transposition,
                                       std::span<std::byte> destination, const Stop& stop) {
  // Whole slabs together where many fit into the stage; else a run of elements out of as many slabs as fill a cache
  // line of the destination several times, one read each.
  constexpr std::size_t kFewSlabs = 32;
  const std::size_t slab_bytes = transposition.slab * kSize;
  const bool whole = slab_bytes <= kStage / kFewSlabs;
  const std::size_t width = std::min(transposition.slabs, whole ? kStage / slab_bytes : kFewSlabs);
  const std::size_t run = whole ? transposition.slab : kStage / kFewSlabs / kSize;
  // Not a power of two, which would map all columns to the same few lines of the cache.
  const std::size_t pitch = whole ? slab_bytes : run * kSize + 64;
  const std::unique_ptr<std::byte[]> stage(new (std::nothrow) std::byte[pitch * width]);
  if (stage == nullptr) return SystemError("cannot transpose the array", ENOMEM);

  for (std::size_t column = 0; column < transposition.slabs; column += width) {
    const std::size_t columns = std::min(width, transposition.slabs - column);
    for (std::size_t row = 0; row < transposition.slab; row += run) {
      const std::size_t rows = std::min(run, transposition.slab - row);
      const std::size_t reads = whole ? 1 : columns, bytes = rows * kSize * (whole ? columns : 1);
      for (std::size_t read = 0; read < reads; ++read) {
        const std::size_t at = offset + ((column + read) * transposition.slab + row) * kSize;
        if (auto error = ReadAll(descriptor, {stage.get() + read * pitch, bytes}, at, stop)) return error;
      }
      Scatter<kSize>(transposition, stage.get(), pitch, columns, rows, row, column, destination.data());
    }
  }
  return std::nullopt;
}

std::optional<NpyError> ReadFortran(int descriptor, const NpyHeader& header, std::span<std::byte> destination,
                                    const Stop& stop) {
  const Transposition transposition(header.signature.shape);
  switch (SizeOf(header.signature.dtype)) {
    case 1:
      return ReadTransposed<1>(descriptor, header.data_offset, transposition, destination, stop);
    case 2:
      return ReadTransposed<2>(descriptor, header.data_offset, transposition, destination, stop);
    case 4:
      return ReadTransposed<4>(descriptor, header.data_offset, transposition, destination, stop);
    case 8:
      return ReadTransposed<8>(descriptor, header.data_offset, transposition, destination, stop);
    default:
      return ReadTransposed<16>(descriptor, header.data_offset, transposition, destination, stop);
  }
}

// With at most one axis longer than 1 both orders are the same bytes.
bool OrderMatters(const Shape& shape) {
  return std::count_if(shape.begin(), shape.end(), [](std::int64_t size) { return size > 1; }) > 1;
}

std::variant<NpyHeader, NpyError> CheckedHeader(int descriptor, std::size_t file_bytes) {
  // Nearly every header fits into the first part; only a longer one is read again, whole.
  std::vector<std::byte> prefix;
  std::variant<NpyHeader, NpyError> header;
  for (const std::size_t wanted : {std::size_t{4096}, kMaxNpyHeaderBytes + 16}) {
    prefix.resize(std::min(wanted, file_bytes));
    std::variant<std::size_t, NpyError> read = ReadUpTo(descriptor, prefix, 0, nullptr);
    if (auto* error = std::get_if<NpyError>(&read)) return std::move(*error);
    prefix.resize(std::get<std::size_t>(read));
    header = ParseNpyHeader(prefix);
    if (std::holds_alternative<NpyHeader>(header)) break;
  }
  if (const auto* good = std::get_if<NpyHeader>(&header)) {
    const std::size_t bytes = *ByteSize(good->signature);
    if (file_bytes < good->data_offset || file_bytes - good->data_offset < bytes) {
      return NpyError{.message = "the file is truncated: " + ToString(good->signature) + " needs " +
                                 std::to_string(good->data_offset + bytes) + " bytes with the header, and it has " +
                                 std::to_string(file_bytes)};
    }
  }
  return header;
}

std::int64_t ChangedAt(const struct stat& status) {
  return std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
}

std::optional<NpyError> NotAFile(const struct stat& status) {
  if (S_ISREG(status.st_mode)) return std::nullopt;
  if (S_ISDIR(status.st_mode)) return NpyError{.message = "it is a folder, not a file", .system_error = EISDIR};
  if (S_ISFIFO(status.st_mode)) {
    return NpyError{.message = "it is a pipe, not a file: save the array to a file first", .system_error = ESPIPE};
  }
  return NpyError{.message = "it is a device or a socket, not a file", .system_error = ENODEV};
}

}  // namespace

NpyError SystemError(std::string_view what, int error) {
  return {.message = std::string(what) + ": " + std::generic_category().message(error), .system_error = error};
}

std::variant<NpyFile, NpyError> NpyFile::Open(const std::string& path) {
  // O_NONBLOCK: opening a pipe without a writer would wait for ever. It has no effect on files.
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) return SystemError("cannot open it", errno);
  NpyFile file(descriptor, {});  // closes it, whatever follows
  struct stat status {};
  if (fstat(descriptor, &status) != 0) return SystemError("cannot examine it", errno);
  if (std::optional<NpyError> error = NotAFile(status)) return *std::move(error);
  std::variant<NpyHeader, NpyError> header = CheckedHeader(descriptor, static_cast<std::size_t>(status.st_size));
  if (auto* error = std::get_if<NpyError>(&header)) return std::move(*error);
  file.header_ = std::get<NpyHeader>(std::move(header));
  file.changed_ns_ = ChangedAt(status);
  return file;
}

NpyFile::NpyFile(NpyFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      header_(std::move(other.header_)),
      changed_ns_(other.changed_ns_) {}

NpyFile& NpyFile::operator=(NpyFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(header_, other.header_);
  std::swap(changed_ns_, other.changed_ns_);
  return *this;
}

NpyFile::~NpyFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

std::optional<NpyError> NpyFile::Read(std::span<std::byte> destination, const std::function<bool()>& stop) const {
  const std::size_t bytes = *ByteSize(header_.signature);
  if (destination.size() != bytes) {
    return NpyError{.message = "the array has " + std::to_string(bytes) + " bytes, and room for " +
                               std::to_string(destination.size()) + " was given"};
  }
  if (bytes == 0) return std::nullopt;
  if (transposed()) return ReadFortran(descriptor_, header_, destination, stop);
  return ReadAll(descriptor_, destination, header_.data_offset, stop);
}

bool NpyFile::transposed() const { return header_.fortran_order && OrderMatters(header_.signature.shape); }

std::optional<NpyError> NpyFile::ReadStored(std::uint64_t offset, std::span<std::byte> destination) const {
  return ReadAll(descriptor_, destination, header_.data_offset + offset, nullptr);
}

std::optional<NpyError> NpyFile::Unchanged() const {
  struct stat status {};
  if (fstat(descriptor_, &status) != 0) return SystemError("cannot examine it", errno);
  if (ChangedAt(status) == changed_ns_) return std::nullopt;
  return NpyError{.message = "the file was written to while it was read"};
}

}  // namespace hotplate
