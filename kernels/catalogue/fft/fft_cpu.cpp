// Uses pocketfft's one-dimensional plans. Each element of a vector register has its own line, if there are enough
// lines. Threads take groups of lines, each thread with its own buffer in scratch.
#include <algorithm>
#include <atomic>
#include <list>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <typeindex>

#define POCKETFFT_NO_MULTITHREADING
#define POCKETFFT_CACHE_SIZE 0
// Otherwise it calls aligned_alloc() with sizes that are not multiples of the alignment, which AddressSanitizer
// refuses.
#define _LIBCPP_HAS_NO_ALIGNED_ALLOCATION
#include <pocketfft_hdronly.h>

#include "kernels/base/mutex.h"
#include "kernels/catalogue/fft/fft.h"
#include "kernels/catalogue/fft/transform.h"
#include "kernels/devices/cpu/cpu_context.h"
#include "kernels/devices/cpu/machine.h"
#include "kernels/devices/device.h"

namespace hotplate::fft {
namespace {

namespace pocket = pocketfft::detail;
template <typename T>
using Complex = pocket::cmplx<T>;

// Elements below which a pass keeps to one thread, and that a thread takes at a time.
constexpr std::size_t kSerialBelow = 32'768, kTaken = 16'384;
constexpr std::size_t kAlignment = 64;

// Lines of n elements that are transformed at the same time.
template <typename T>
constexpr std::size_t kLanes = pocket::VLEN<T>::val;

// The middle axis of [outer, n, inner].
struct Lines {
  std::size_t outer = 1, n = 1, inner = 1;

  std::size_t count() const { return outer * inner; }
  std::size_t First(std::size_t line) const { return line / inner * (n * inner) + line % inner; }
};

// Groups of lines: whole vectors of lines first, then the rest one by one.
struct Groups {
  std::size_t lines = 0, lanes = 1;

  std::size_t vectors() const { return lines / lanes; }
  std::size_t count() const { return vectors() + lines % lanes; }
  std::size_t First(std::size_t group) const {
    return group < vectors() ? group * lanes : vectors() * lanes + (group - vectors());
  }
};

// A pass over lines of n elements, as the plan sees it.
struct Pass {
  std::size_t n = 1, lines = 0;
  bool complex = true;  // else the plan is for real numbers

  // The library's own choice: a length with a large prime factor goes through convolutions of this length, 0 if not.
  std::size_t Convolved() const {
    if (n < 50) return 0;
    const std::size_t largest = pocket::util::largest_prime_factor(n);
    if (largest * largest <= n) return 0;
    const std::size_t longer = pocket::util::good_size_cmplx(2 * n - 1);
    const double direct = (complex ? 1 : 0.5) * pocket::util::cost_guess(n);
    return 3 * pocket::util::cost_guess(longer) < direct ? longer : 0;
  }
  std::size_t GroupLanes(std::size_t part_bytes) const {
    const std::size_t lanes = part_bytes == sizeof(double) ? kLanes<double> : kLanes<float>;
    return lines >= lanes ? lanes : 1;
  }
  // A thread's buffer.
  std::size_t BufferBytes(std::size_t part_bytes) const {
    const std::size_t bytes = (complex ? 2 : 1) * n * GroupLanes(part_bytes) * part_bytes;
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  // Threads that have one.
  std::size_t Slots(std::size_t part_bytes) const {
    static const auto threads = static_cast<std::size_t>(cpu::UsableThreads());
    const Groups groups{.lines = lines, .lanes = GroupLanes(part_bytes)};
    return lines * n < kSerialBelow ? 1 : std::min(groups.count(), threads);
  }
  std::size_t PlanBytes(std::size_t part_bytes) const {
    const std::size_t longer = Convolved();
    return (longer == 0 ? (complex ? 2 : 1) * n : 2 * n + 5 * longer) * part_bytes;
  }
  // Memory that the library allocates for itself while it runs: the plan, and for each thread as much as a buffer or a
  // convolution.
  std::size_t LibraryBytes(std::size_t part_bytes) const {
    const std::size_t longer = Convolved();
    const std::size_t parts = longer == 0 ? (complex ? 2 : 1) * n : 2 * n + 4 * longer;
    return PlanBytes(part_bytes) + Slots(part_bytes) * parts * GroupLanes(part_bytes) * part_bytes;
  }
};

// The scratch of a call: the array between two passes if the output cannot hold it, and the threads' buffers.
struct Work {
  Pass along_rows, along_columns;
  bool two_passes = false;
  std::size_t resized = 0, between = 0, buffers = 0, library = 0;  // bytes, in this order

  explicit Work(const Transform& transform) {
    using Kind = Transform::Kind;
    const Kind kind = transform.kind;
    const bool half = kind == Kind::kRealToHalf || kind == Kind::kHalfToReal;
    const std::size_t width = half ? transform.half() : transform.columns, part = transform.part_bytes();
    two_passes = transform.rows > 1;
    along_rows = {
        .n = transform.columns, .lines = transform.count * transform.rows, .complex = kind == Kind::kComplexToComplex};
    along_columns = {.n = transform.rows, .lines = transform.count * width, .complex = true};
    if (transform.count == 0) return;
    resized = (transform.resized_bytes() + kAlignment - 1) / kAlignment * kAlignment;
    buffers = along_rows.Slots(part) * along_rows.BufferBytes(part);
    library = along_rows.LibraryBytes(part);
    if (!two_passes) return;
    if (kind == Kind::kHalfToReal) {
      between = 2 * transform.count * transform.rows * width * part;
      between = (between + kAlignment - 1) / kAlignment * kAlignment;
    }
    buffers = std::max(buffers, along_columns.Slots(part) * along_columns.BufferBytes(part));
    library = std::max(library, along_columns.LibraryBytes(part));
  }
};

// Plans of the latest calls, together of kMostBytes at most.
class Plans {
 public:
  template <typename Plan>
  std::shared_ptr<const Plan> Get(std::size_t n, std::size_t bytes) {
    const std::type_index type(typeid(Plan));
    if (auto known = Find(type, n)) return std::static_pointer_cast<const Plan>(known);
    auto made = std::make_shared<const Plan>(n);
    if (bytes <= kMostBytes) Keep({.type = type, .n = n, .bytes = bytes, .plan = made});
    return made;
  }

 private:
  static constexpr std::size_t kMostBytes = std::size_t{64} << 20;

  struct Entry {
    std::type_index type;
    std::size_t n, bytes;
    std::shared_ptr<const void> plan;
  };

  std::shared_ptr<const void> Find(std::type_index type, std::size_t n) {
    const MutexLock lock(mutex_);
    const auto found = std::find_if(entries_.begin(), entries_.end(),
                                    [&](const Entry& entry) { return entry.n == n && entry.type == type; });
    if (found == entries_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found);
    return found->plan;
  }
  void Keep(Entry entry) {
    const MutexLock lock(mutex_);
    bytes_ += entry.bytes;
    entries_.push_front(std::move(entry));
    while (bytes_ > kMostBytes) {
      bytes_ -= entries_.back().bytes;
      entries_.pop_back();
    }
  }

  Mutex mutex_;
  std::list<Entry> entries_ ABSL_GUARDED_BY(mutex_);  // the latest used first
  std::size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

template <typename Plan>
std::shared_ptr<const Plan> PlanFor(const Pass& pass, std::size_t part_bytes) {
  static Plans& plans = *new Plans;
  return plans.Get<Plan>(pass.n, pass.PlanBytes(part_bytes));
}

// Sets line `lane` of V, which is a number or a vector of numbers.
template <typename V, typename T>
void Put(V& to, std::size_t lane, T value) {
  if constexpr (std::is_same_v<V, T>) {
    to = value;
  } else {
    to[lane] = value;
  }
}
template <typename T, typename V>
T Get(const V& from, std::size_t lane) {
  if constexpr (std::is_same_v<V, T>) {
    return from;
  } else {
    return from[lane];
  }
}

// Column 0 of the spectrum of real numbers, and the middle one of an even number of columns, are their own mirror
// images. This removes the rest: it would become imaginary parts, which nobody reads, apart from rounding.
template <typename T, typename V>
void MakeSymmetric(Complex<V>* column, std::size_t n, std::size_t lane) {
  Put(column[0].i, lane, T{0});
  if (n % 2 == 0) Put(column[n / 2].i, lane, T{0});
  for (std::size_t i = 1; 2 * i < n; ++i) {
    Complex<V>&a = column[i], &b = column[n - i];
    const T real = Get<T>(a.r, lane) / 2 + Get<T>(b.r, lane) / 2,
            imaginary = Get<T>(a.i, lane) / 2 - Get<T>(b.i, lane) / 2;
    Put(a.r, lane, real);
    Put(b.r, lane, real);
    Put(a.i, lane, imaginary);
    Put(b.i, lane, -imaginary);
  }
}

// One call's parts.
template <typename T>
class Transformer {
 public:
  Transformer(const Transform& transform, std::string_view norm, std::span<std::byte> scratch, CpuContext& context)
      : transform_(transform),
        work_(transform),
        factor_(static_cast<T>(transform.Factor(norm))),
        forward_(!transform.inverse),
        scratch_(scratch),
        context_(context) {}

  Outcome Run(const void* x, void* y) {
    using Kind = Transform::Kind;
    const std::size_t count = transform_.count, rows = transform_.rows, columns = transform_.columns;
    const std::size_t width = transform_.kind == Kind::kComplexToComplex || transform_.kind == Kind::kRealToComplex
                                  ? columns
                                  : transform_.half();
    if (transform_.resized()) {
      if (!Resize(static_cast<const T*>(x))) return Outcome::Cancelled();
      x = scratch_.data();
    }
    const Lines along_rows{.outer = count * rows, .n = columns};
    const Lines along_columns{.outer = count, .n = rows, .inner = width};
    const CpuContext::Part whole, first = whole.Step(0, 2), second = whole.Step(1, 2);
    auto* const spectrum = static_cast<Complex<T>*>(y);
    if (transform_.kind == Kind::kHalfToReal) {
      auto* half = static_cast<const Complex<T>*>(x);
      if (work_.two_passes) {
        auto* const between = reinterpret_cast<Complex<T>*>(scratch_.data() + work_.resized);
        const Outcome o = ComplexPass(work_.along_columns, along_columns, half, between, 1, first);
        if (!o.ok()) return o;
        half = between;
      }
      return ToReal(along_rows, half, static_cast<T*>(y), work_.two_passes ? second : whole);
    }
    const CpuContext::Part part = work_.two_passes ? first : whole;
    const Outcome done =
        transform_.kind == Kind::kComplexToComplex
            ? ComplexPass(work_.along_rows, along_rows, static_cast<const Complex<T>*>(x), spectrum, factor_, part)
            : FromReal(along_rows, static_cast<const T*>(x), spectrum, part);
    if (!done.ok() || !work_.two_passes) return done;
    return ComplexPass(work_.along_columns, along_columns, spectrum, spectrum, 1, second);
  }

 private:
  using Vector = pocket::vtype_t<T>;
  // Lines that a V holds an element each of.
  template <typename V>
  static constexpr std::size_t kIn = std::is_same_v<V, T> ? 1 : kLanes<T>;

  // x with its last axis as it is taken, in scratch. False if cancelled.
  bool Resize(const T* x) {
    const std::size_t given = transform_.given * transform_.parts_in(),
                      taken = transform_.taken() * transform_.parts_in();
    const std::size_t some = std::min(given, taken);
    T* const out = reinterpret_cast<T*>(scratch_.data());
    const CpuContext::Part nothing{0, 0};  // of the whole's time
    return context_.ParallelChunks(
        transform_.count * transform_.rows, kTaken / taken + 1,
        [=](std::size_t begin, std::size_t end) {
          for (std::size_t row = begin; row < end; ++row) {
            std::copy_n(x + row * given, some, out + row * taken);
            std::fill_n(out + row * taken + some, taken - some, T{0});
          }
        },
        nothing);
  }

  // Calls body(line, buffer) for each group of lines: a vector's lines, or one. `line` is the first of them.
  template <typename Body>
  Outcome ForGroups(const Pass& pass, CpuContext::Part part, const Body& body) {
    const std::size_t buffer_bytes = pass.BufferBytes(sizeof(T)), slots = pass.Slots(sizeof(T));
    const Groups groups{.lines = pass.lines, .lanes = pass.GroupLanes(sizeof(T))};
    const std::size_t taken = std::max<std::size_t>(1, kTaken / (pass.n * groups.lanes));
    std::byte* const buffers = scratch_.data() + work_.resized + work_.between;
    std::atomic<std::size_t> next{0};
    std::atomic<bool> out_of_memory{false};
    const bool whole = context_.ParallelChunks(
        slots, 1,
        [&](std::size_t slot, std::size_t) {
          std::byte* const buffer = buffers + slot * buffer_bytes;
          try {
            for (std::size_t begin = next.fetch_add(taken); begin < groups.count(); begin = next.fetch_add(taken)) {
              if (context_.cancelled()) return;
              for (std::size_t group = begin; group < std::min(begin + taken, groups.count()); ++group) {
                if (groups.lanes > 1 && group < groups.vectors()) {
                  body(groups.First(group), reinterpret_cast<Vector*>(buffer));
                } else {
                  body(groups.First(group), reinterpret_cast<T*>(buffer));
                }
              }
            }
          } catch (const std::bad_alloc&) {  // the library's own work space
            out_of_memory = true;
          }
        },
        part);
    if (out_of_memory) return Outcome::OutOfMemory("fft: not enough host memory for the workspace of one transform");
    return whole && !context_.cancelled() ? Outcome::Ok() : Outcome::Cancelled();
  }

  // Where the lines of a group begin.
  template <typename V>
  struct Places {
    std::size_t at[kIn<V>];

    Places(const Lines& lines, std::size_t line) {
      for (std::size_t lane = 0; lane < std::size(at); ++lane) at[lane] = lines.First(line + lane);
    }
  };

  Outcome ComplexPass(const Pass& pass, const Lines& lines, const Complex<T>* from, Complex<T>* to, T factor,
                      CpuContext::Part part) {
    const auto plan = PlanFor<pocket::pocketfft_c<T>>(pass, sizeof(T));
    const bool of_real = transform_.kind == Transform::Kind::kHalfToReal;
    return ForGroups(pass, part, [&]<typename V>(std::size_t line, V* memory) {
      auto* const buffer = reinterpret_cast<Complex<V>*>(memory);
      const Places<V> places(lines, line);
      const std::size_t stride = lines.inner;
      for (std::size_t i = 0; i < lines.n; ++i) {
        for (std::size_t lane = 0; lane < std::size(places.at); ++lane) {
          const Complex<T>& element = from[places.at[lane] + i * stride];
          Put(buffer[i].r, lane, element.r);
          Put(buffer[i].i, lane, element.i);
        }
      }
      for (std::size_t lane = 0; of_real && lane < std::size(places.at); ++lane) {
        const std::size_t column = (line + lane) % lines.inner;
        if (column == 0 || 2 * column == transform_.columns) MakeSymmetric<T>(buffer, lines.n, lane);
      }
      plan->exec(buffer, factor, forward_);
      for (std::size_t i = 0; i < lines.n; ++i) {
        for (std::size_t lane = 0; lane < std::size(places.at); ++lane) {
          to[places.at[lane] + i * stride] = {Get<T>(buffer[i].r, lane), Get<T>(buffer[i].i, lane)};
        }
      }
    });
  }

  // The library stores the spectrum of real numbers as r0, r1, i1, r2, i2, …; the other half is its conjugate mirror
  // image.
  Outcome FromReal(const Lines& lines, const T* from, Complex<T>* to, CpuContext::Part part) {
    const auto plan = PlanFor<pocket::pocketfft_r<T>>(work_.along_rows, sizeof(T));
    const std::size_t n = lines.n, width = transform_.kind == Transform::Kind::kRealToHalf ? n / 2 + 1 : n;
    const T sign = forward_ ? T{1} : T{-1};
    return ForGroups(work_.along_rows, part, [&]<typename V>(std::size_t line, V* buffer) {
      constexpr std::size_t kCount = kIn<V>;
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t lane = 0; lane < kCount; ++lane) Put(buffer[i], lane, from[(line + lane) * n + i]);
      }
      plan->exec(buffer, factor_, true);
      for (std::size_t lane = 0; lane < kCount; ++lane) {
        Complex<T>* const out = to + (line + lane) * width;
        out[0] = {Get<T>(buffer[0], lane), T{0}};
        for (std::size_t k = 1; 2 * k < n; ++k) {
          const T real = Get<T>(buffer[2 * k - 1], lane), imaginary = sign * Get<T>(buffer[2 * k], lane);
          out[k] = {real, imaginary};
          if (width == n) out[n - k] = {real, -imaginary};
        }
        if (n % 2 == 0) out[n / 2] = {Get<T>(buffer[n - 1], lane), T{0}};
      }
    });
  }

  Outcome ToReal(const Lines& lines, const Complex<T>* from, T* to, CpuContext::Part part) {
    const auto plan = PlanFor<pocket::pocketfft_r<T>>(work_.along_rows, sizeof(T));
    const std::size_t n = lines.n, width = n / 2 + 1;
    return ForGroups(work_.along_rows, part, [&]<typename V>(std::size_t line, V* buffer) {
      constexpr std::size_t kCount = kIn<V>;
      for (std::size_t lane = 0; lane < kCount; ++lane) {
        const Complex<T>* const in = from + (line + lane) * width;
        Put(buffer[0], lane, in[0].r);
        for (std::size_t k = 1; 2 * k < n; ++k) {
          Put(buffer[2 * k - 1], lane, in[k].r);
          Put(buffer[2 * k], lane, in[k].i);
        }
        if (n % 2 == 0) Put(buffer[n - 1], lane, in[n / 2].r);
      }
      plan->exec(buffer, factor_, false);
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t lane = 0; lane < kCount; ++lane) to[(line + lane) * n + i] = Get<T>(buffer[i], lane);
      }
    });
  }

  const Transform transform_;
  const Work work_;
  const T factor_;
  const bool forward_;
  const std::span<std::byte> scratch_;
  CpuContext& context_;
};

template <typename T>
Outcome Run(const Transform& transform, const Call& call, CpuContext& context) {
  try {
    Transformer<T> transformer(transform, call.Choice("norm"), call.scratch(), context);
    return transformer.Run(call.InputArray("x").data, call.OutputArray("y").data);
  } catch (const std::bad_alloc&) {
    return Outcome::OutOfMemory("fft: not enough host memory for the plan of this length");
  }
}

}  // namespace

// The library allocates its own part. It is counted here as well, so that a job is admitted only if there is room for
// it: a lane's reservation that nobody touches uses no memory.
MemoryPlan PlanCpu(const BoundCall& call) {
  const Work work(TransformOf(call));
  return {.scratch_bytes = work.resized + work.between + work.buffers + work.library};
}

Outcome RunCpu(const Call& call, CpuContext& context) {
  const Transform transform = TransformOf(call);
  if (transform.count == 0) return Outcome::Ok();
  return transform.in_double ? Run<double>(transform, call, context) : Run<float>(transform, call, context);
}

}  // namespace hotplate::fft
