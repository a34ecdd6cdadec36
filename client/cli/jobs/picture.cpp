#include "client/cli/jobs/picture.h"

#include <png.h>
#include <setjmp.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <limits>
#include <vector>

#include "client/cli/jobs/elements.h"
#include "client/cli/jobs/standard_streams.h"

namespace hotplate::cli {
namespace {

constexpr std::int64_t kMaxSide = 32'767;
constexpr std::size_t kColours = 254;  // of the scale; then one for "largest integer" and one for NaN
constexpr std::uint8_t kLargest = 254, kNotANumber = 255;

struct Colour {
  double red, green, blue;
};

// From night blue over white and amber back towards blue, through these points at equal distances.
constexpr std::array<Colour, 7> kScale = {{
    {8, 10, 60},
    {24, 80, 170},
    {90, 180, 225},
    {240, 248, 235},
    {250, 190, 60},
    {190, 70, 30},
    {70, 10, 45},
}};

std::vector<png_color> Palette() {
  std::vector<png_color> palette;
  for (std::size_t i = 0; i < kColours; ++i) {
    const double at = static_cast<double>(i) / (kColours - 1) * (kScale.size() - 1);
    const std::size_t left = std::min(static_cast<std::size_t>(at), kScale.size() - 2);
    const double share = at - static_cast<double>(left);
    const auto mix = [share](double a, double b) { return static_cast<png_byte>(std::lround(a + (b - a) * share)); };
    palette.push_back({mix(kScale[left].red, kScale[left + 1].red), mix(kScale[left].green, kScale[left + 1].green),
                       mix(kScale[left].blue, kScale[left + 1].blue)});
  }
  palette.push_back({0, 0, 0});
  palette.push_back({128, 128, 128});
  return palette;
}

// Which colour a value has, once all have been looked at.
class Colouring {
 public:
  explicit Colouring(const Signature& signature)
      : by_rank_(!IsFloating(signature.dtype)),
        step_(std::max<std::size_t>(1, *ElementCount(signature.shape) / kSample)) {}

  void Look(std::span<const double> values) {
    for (const double value : values) {
      if (by_rank_ && index_++ % step_ == 0) sample_.push_back(value);
      if (!std::isfinite(value)) continue;
      low_ = std::min(low_, value);
      high_ = std::max(high_, value);
    }
  }

  // After the last value.
  void Settle() {
    std::erase(sample_, high_);
    std::sort(sample_.begin(), sample_.end());
    for (std::size_t i = 1; i < kColours && !sample_.empty(); ++i)
      bounds_.push_back(sample_[i * sample_.size() / kColours]);
  }

  png_byte Of(double value) const { return by_rank_ ? ByRank(value) : Linearly(value); }

 private:
  // Values at which the colours change come from a sample in even steps: a colour more or less is not seen.
  static constexpr std::size_t kSample = 1 << 18;

  png_byte ByRank(double value) const {
    if (low_ == high_) return 0;
    if (value == high_) return kLargest;
    return static_cast<png_byte>(std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin());
  }

  png_byte Linearly(double value) const {
    if (std::isnan(value)) return kNotANumber;
    if (!(high_ > low_)) return 0;
    // Halved first: the distance of two finite numbers may be infinite.
    const double share = (value / 2 - low_ / 2) / (high_ / 2 - low_ / 2);
    return static_cast<png_byte>(std::lround(std::clamp(share, 0.0, 1.0) * (kColours - 1)));
  }

  const bool by_rank_;
  const std::size_t step_;
  double low_ = std::numeric_limits<double>::infinity(), high_ = -low_;
  std::size_t index_ = 0;
  std::vector<double> sample_, bounds_;
};

// libpng leaves a function by longjmp where something fails: those that call it have nothing to destroy.
class PngFile {
 public:
  explicit PngFile(const Picture::Write& write) : write_(write) {
    png_ = png_create_write_struct(PNG_LIBPNG_VER_STRING, this, &Fail, &Warn);
    info_ = png_ == nullptr ? nullptr : png_create_info_struct(png_);
  }
  ~PngFile() { png_destroy_write_struct(&png_, &info_); }
  PngFile(const PngFile&) = delete;
  PngFile& operator=(const PngFile&) = delete;

  bool Begin(png_uint_32 width, png_uint_32 height, const png_color* palette, int colours) {
    if (info_ == nullptr || setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_write_fn(png_, this, &Put, nullptr);
    png_set_IHDR(png_, info_, width, height, 8, PNG_COLOR_TYPE_PALETTE, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_BASE,
                 PNG_FILTER_TYPE_BASE);
    png_set_PLTE(png_, info_, palette, colours);
    png_set_sRGB(png_, info_, PNG_sRGB_INTENT_PERCEPTUAL);
    png_set_filter(png_, PNG_FILTER_TYPE_BASE, PNG_NO_FILTERS);
    png_set_compression_level(png_, 3);
    png_write_info(png_, info_);
    return true;
  }
  bool Row(const png_byte* row) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_write_row(png_, row);
    return true;
  }
  bool End() {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_write_end(png_, info_);
    return true;
  }
  // Why one of them was false.
  NpyError error() const { return error_ ? *error_ : NpyError{.message = "this machine has no memory for a picture"}; }

 private:
  static void Put(png_structp png, png_bytep bytes, png_size_t count) {
    if (!static_cast<PngFile*>(png_get_io_ptr(png))->Written(bytes, count)) png_error(png, "");
  }
  bool Written(png_bytep bytes, png_size_t count) {
    error_ = write_(std::as_bytes(std::span(bytes, count)));
    return !error_;
  }
  static void Fail(png_structp png, png_const_charp why) {
    static_cast<PngFile*>(png_get_error_ptr(png))->Keep(why);
    png_longjmp(png, 1);
  }
  void Keep(png_const_charp why) {
    if (!error_) error_ = NpyError{.message = std::string("the picture could not be encoded: ") + why};
  }
  static void Warn(png_structp, png_const_charp) {}

  const Picture::Write& write_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::optional<NpyError> error_;
};

}  // namespace

std::optional<std::string> WhyNoPicture(const Signature& signature) {
  const std::string what = "a picture needs a 2-D array of numbers; this is " + ToString(signature);
  if (!IsReal(signature.dtype) || signature.shape.size() != 2) return what;
  for (const std::int64_t side : signature.shape)
    if (side < 1 || side > kMaxSide) return what + ", and a side may be 1 to " + std::to_string(kMaxSide);
  return std::nullopt;
}

std::variant<Picture, NpyError> Picture::Begin(const Signature& signature, const std::string& folder) {
  const int descriptor = NamelessFile(folder);
  if (descriptor < 0) return SystemError("cannot write to its folder", errno);
  std::FILE* const file = fdopen(descriptor, "w+b");
  if (file == nullptr) {
    close(descriptor);
    return SystemError("cannot write to its folder", ENOMEM);
  }
  return Picture(signature, File(file, &std::fclose));
}

Picture::Picture(Signature signature, File elements)
    : signature_(std::move(signature)), elements_(std::move(elements)) {}

std::optional<NpyError> Picture::Add(std::span<const std::byte> piece) {
  if (std::fwrite(piece.data(), 1, piece.size(), elements_.get()) == piece.size()) return std::nullopt;
  return SystemError("cannot write to its folder", errno);
}

std::optional<NpyError> Picture::EachRow(const std::function<std::optional<NpyError>(std::span<const double>)>& take) {
  if (std::fseek(elements_.get(), 0, SEEK_SET) != 0) return SystemError("cannot write to its folder", errno);
  const auto width = static_cast<std::size_t>(signature_.shape[1]);
  std::vector<std::byte> row(width * SizeOf(signature_.dtype));
  std::vector<double> values(width);
  for (std::int64_t y = 0; y < signature_.shape[0]; ++y) {
    if (std::fread(row.data(), 1, row.size(), elements_.get()) != row.size())
      return NpyError{.message = "not all of " + ToString(signature_) + " came"};
    for (std::size_t x = 0; x < width; ++x) values[x] = ElementAsDouble(signature_.dtype, row, x);
    if (auto error = take(values)) return error;
  }
  return std::nullopt;
}

std::optional<NpyError> Picture::Draw(const Write& write) {
  Colouring colouring(signature_);
  auto error = EachRow([&](std::span<const double> values) -> std::optional<NpyError> {
    colouring.Look(values);
    return std::nullopt;
  });
  if (error) return error;
  colouring.Settle();

  const std::vector<png_color> palette = Palette();
  PngFile file(write);
  if (!file.Begin(static_cast<png_uint_32>(signature_.shape[1]), static_cast<png_uint_32>(signature_.shape[0]),
                  palette.data(), static_cast<int>(palette.size())))
    return file.error();
  std::vector<png_byte> pixels(static_cast<std::size_t>(signature_.shape[1]));
  error = EachRow([&](std::span<const double> values) -> std::optional<NpyError> {
    std::transform(values.begin(), values.end(), pixels.begin(), [&](double value) { return colouring.Of(value); });
    if (!file.Row(pixels.data())) return file.error();
    return std::nullopt;
  });
  if (error) return error;
  if (!file.End()) return file.error();
  return std::nullopt;
}

}  // namespace hotplate::cli
