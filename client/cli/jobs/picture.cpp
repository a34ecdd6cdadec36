#include "client/cli/jobs/picture.h"

#include <png.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "client/cli/jobs/elements.h"

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

std::vector<png_byte> Palette() {
  std::vector<png_byte> palette;
  for (std::size_t i = 0; i < kColours; ++i) {
    const double at = static_cast<double>(i) / (kColours - 1) * (kScale.size() - 1);
    const std::size_t left = std::min(static_cast<std::size_t>(at), kScale.size() - 2);
    const double share = at - static_cast<double>(left);
    const auto mix = [share](double a, double b) { return static_cast<png_byte>(std::lround(a + (b - a) * share)); };
    palette.push_back(mix(kScale[left].red, kScale[left + 1].red));
    palette.push_back(mix(kScale[left].green, kScale[left + 1].green));
    palette.push_back(mix(kScale[left].blue, kScale[left + 1].blue));
  }
  palette.insert(palette.end(), {0, 0, 0});
  palette.insert(palette.end(), {128, 128, 128});
  return palette;
}

std::vector<std::uint8_t> ColourByRank(const std::vector<double>& values) {
  // The values at which the colours change, from a sample in even steps: a colour more or less is not seen.
  constexpr std::size_t kSample = 1 << 18;
  const double largest = *std::max_element(values.begin(), values.end());
  std::vector<double> sample;
  const std::size_t step = std::max<std::size_t>(1, values.size() / kSample);
  for (std::size_t i = 0; i < values.size(); i += step)
    if (values[i] < largest) sample.push_back(values[i]);
  std::sort(sample.begin(), sample.end());
  std::vector<double> bounds;
  for (std::size_t i = 1; i < kColours && !sample.empty(); ++i) bounds.push_back(sample[i * sample.size() / kColours]);

  std::vector<std::uint8_t> pixels(values.size(), 0);
  if (sample.empty() && *std::min_element(values.begin(), values.end()) == largest) return pixels;
  for (std::size_t i = 0; i < values.size(); ++i)
    pixels[i] =
        values[i] == largest
            ? kLargest
            : static_cast<std::uint8_t>(std::lower_bound(bounds.begin(), bounds.end(), values[i]) - bounds.begin());
  return pixels;
}

std::vector<std::uint8_t> ColourLinearly(const std::vector<double>& values) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const double value : values)
    if (std::isfinite(value)) {
      low = std::min(low, value);
      high = std::max(high, value);
    }
  std::vector<std::uint8_t> pixels(values.size(), 0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) {
      pixels[i] = kNotANumber;
    } else if (high > low) {
      // Halved first: the distance of two finite numbers may be infinite.
      const double share = (values[i] / 2 - low / 2) / (high / 2 - low / 2);
      pixels[i] = static_cast<std::uint8_t>(std::lround(std::clamp(share, 0.0, 1.0) * (kColours - 1)));
    }
  }
  return pixels;
}

}  // namespace

std::optional<std::string> WhyNoPicture(const Signature& signature) {
  const std::string what = "a picture needs a 2-D array of numbers; this is " + ToString(signature);
  if (!IsReal(signature.dtype) || signature.shape.size() != 2) return what;
  for (const std::int64_t side : signature.shape)
    if (side < 1 || side > kMaxSide) return what + ", and a side may be 1 to " + std::to_string(kMaxSide);
  return std::nullopt;
}

absl::StatusOr<std::string> EncodePicture(const Signature& signature, std::span<const std::byte> elements) {
  if (const auto why = WhyNoPicture(signature)) return absl::InvalidArgumentError(*why);
  const auto bytes = ByteSize(signature);
  if (!bytes || *bytes != elements.size())
    return absl::InternalError(ToString(signature) + " came with " + std::to_string(elements.size()) + " bytes");
  std::vector<double> values(elements.size() / SizeOf(signature.dtype));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = ElementAsDouble(signature.dtype, elements, i);
  const std::vector<std::uint8_t> pixels = IsFloating(signature.dtype) ? ColourLinearly(values) : ColourByRank(values);

  const std::vector<png_byte> palette = Palette();
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.height = static_cast<png_uint_32>(signature.shape[0]);
  image.width = static_cast<png_uint_32>(signature.shape[1]);
  image.format = PNG_FORMAT_RGB_COLORMAP;
  image.flags = PNG_IMAGE_FLAG_FAST;
  image.colormap_entries = static_cast<png_uint_32>(palette.size() / 3);
  std::string file(PNG_IMAGE_PNG_SIZE_MAX(image), '\0');
  png_alloc_size_t size = file.size();
  if (!png_image_write_to_memory(&image, file.data(), &size, 0, pixels.data(), 0, palette.data())) {
    const std::string why = image.message;
    png_image_free(&image);
    return absl::InternalError("the picture could not be encoded: " + why);
  }
  file.resize(size);
  return file;
}

}  // namespace hotplate::cli
