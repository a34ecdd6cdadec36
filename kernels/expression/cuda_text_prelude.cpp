// NumPy's behaviour stands beside each case. Every rounding is a single one: the text is compiled without fused
// multiply-adds, so that + - * / and sqrt of floats give NumPy's bits.
#include "kernels/expression/cuda_text_prelude.h"

namespace hotplate::expression {

const std::string_view kPreludeTypes = R"(#define FN static __device__ __forceinline__
#define FAR static __device__ __noinline__
typedef unsigned long long U64;
typedef long long I64;
template <typename T> struct alignas(2 * sizeof(T)) Complex { T re, im; };
typedef Complex<float> C64;
typedef Complex<double> C128;
FN float Infinity(float) { return __int_as_float(0x7f800000); }
FN double Infinity(double) { return __longlong_as_double(0x7ff0000000000000LL); }
FN float Nan(float) { return __int_as_float(0x7fc00000); }
FN double Nan(double) { return __longlong_as_double(0x7ff8000000000000LL); }
FN bool At(const bool* memory) { return *(const unsigned char*)memory != 0; }
template <typename T> FN T At(const T* memory) { return *memory; }
template <typename T> FN void Put(T* memory, T value) { *memory = value; }
FN void Trouble(U64* words, U64 place) { atomicMin(words, place); }
FN I64 Inside(I64 index, I64 size, bool& ok) {
  const I64 at = index < 0 ? index + size : index;
  if (at >= 0 && at < size) return at;
  ok = false;
  return 0;
}
)";

// Sums, products and shifts wrap around, by way of unsigned numbers: those of the hardware are undefined in C++ where
// they overflow.
const std::string_view kPreludeIntegers = R"(template <typename T> FN T Add(T a, T b) { return (T)((U64)a + (U64)b); }
template <typename T> FN T Subtract(T a, T b) { return (T)((U64)a - (U64)b); }
template <typename T> FN T Multiply(T a, T b) { return (T)((U64)a * (U64)b); }
FN bool Add(bool a, bool b) { return a || b; }
FN bool Multiply(bool a, bool b) { return a && b; }
template <typename T> FN bool Signed(T) { return (T)-1 < (T)0; }
template <typename T> FN T Negative(T a) { return (T)(0 - (U64)a); }
template <typename T> FN T Fmod(T a, T b) {
  if (b == 0 || (Signed(a) && b == (T)-1)) return 0;
  return (T)(a % b);
}
template <typename T> FN T Divide(T a, T b) {
  if (b == 0) return 0;
  return Signed(a) && b == (T)-1 ? Negative(a) : (T)(a / b);
}
template <typename T> FN T FloorDivide(T a, T b) {
  const T q = Divide(a, b);
  return Fmod(a, b) != 0 && (a < 0) != (b < 0) ? (T)(q - 1) : q;
}
template <typename T> FN T Remainder(T a, T b) {
  const T r = Fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? (T)(r + b) : r;
}
template <typename T> FN T Power(T a, T b) {
  U64 base = (U64)a, result = 1;
  if (b < 0) return 0;
  for (U64 n = (U64)b; n != 0; n >>= 1) {
    if (n & 1) result *= base;
    base *= base;
  }
  return (T)result;
}
template <typename T> FN T Maximum(T a, T b) { return a >= b ? a : b; }
template <typename T> FN T Minimum(T a, T b) { return a <= b ? a : b; }
template <typename T> FN T Fmax(T a, T b) { return a >= b ? a : b; }
template <typename T> FN T Fmin(T a, T b) { return a <= b ? a : b; }
template <typename T> FN T BitAnd(T a, T b) { return (T)(a & b); }
template <typename T> FN T BitOr(T a, T b) { return (T)(a | b); }
template <typename T> FN T BitXor(T a, T b) { return (T)(a ^ b); }
template <typename T> FN T LeftShift(T a, T b) {
  return (U64)b < 8 * sizeof(T) ? (T)((U64)a << (U64)b) : (T)0;
}
template <typename T> FN T RightShift(T a, T b) {
  if ((U64)b < 8 * sizeof(T)) return (T)(a >> b);
  return a < 0 ? (T)-1 : (T)0;
}
template <typename T> FN T Invert(T a) { return (T)~a; }
FN bool Invert(bool a) { return !a; }
template <typename T> FN T Absolute(T a) { return a < 0 ? Negative(a) : a; }
FN bool Absolute(bool a) { return a; }
template <typename T> FN T Sign(T a) { return (T)((a > 0) - (a < 0)); }
template <typename T> FN T Square(T a) { return Multiply(a, a); }
template <typename T> FN T Reciprocal(T a) { return Divide((T)1, a); }
template <typename T> FN T Floor(T a) { return a; }
template <typename T> FN T Ceil(T a) { return a; }
template <typename T> FN T Trunc(T a) { return a; }
template <typename T> FN T Rint(T a) { return a; }
template <typename T> FN bool IsNan(T) { return false; }
template <typename T> FN bool IsInf(T) { return false; }
template <typename T> FN bool IsFinite(T) { return true; }
template <typename T> FN bool Signbit(T a) { return a < 0; }
template <typename T> FN T Real(T a) { return a; }
template <typename T> FN T Imag(T) { return (T)0; }
template <typename T> FN T Conjugate(T a) { return a; }
template <typename T> FN bool Equal(T a, T b) { return a == b; }
template <typename T> FN bool Less(T a, T b) { return a < b; }
template <typename T> FN bool LessEqual(T a, T b) { return a <= b; }
template <typename T> FN bool Truth(T a) { return a != (T)0; }
)";

// Both precisions, from one text by REAL. The quotients are NumPy's divmod; a floor of a quotient alone is off by one
// where the quotient rounds up to an integer.
const std::string_view kPreludeFloats = R"(#define FLOATS(T, F) \
FN T Add(T a, T b) { return a + b; } \
FN T Subtract(T a, T b) { return a - b; } \
FN T Multiply(T a, T b) { return a * b; } \
FN T Divide(T a, T b) { return a / b; } \
FN T Negative(T a) { return -a; } \
FN bool IsNan(T a) { return a != a; } \
FN bool IsInf(T a) { return a == Infinity(a) || a == -Infinity(a); } \
FN bool IsFinite(T a) { return a - a == 0; } \
FN bool Signbit(T a) { return F(copysign)((T)1, a) < 0; } \
FN T Fmod(T a, T b) { return F(fmod)(a, b); } \
FN T Remainder(T a, T b) { \
  const T r = F(fmod)(a, b); \
  if (b == 0) return r; \
  if (r == 0) return F(copysign)((T)0, b); \
  return (b < 0) != (r < 0) ? r + b : r; \
} \
FN T FloorDivide(T a, T b) { \
  if (b == 0) return a / b; \
  const T r = F(fmod)(a, b); \
  T q = (a - r) / b; \
  if (r != 0 && (b < 0) != (r < 0)) q -= 1; \
  if (q == 0) return F(copysign)((T)0, a / b); \
  const T down = F(floor)(q); \
  return q - down > (T)0.5 ? down + 1 : down; \
} \
FN T Power(T a, T b) { return F(pow)(a, b); } \
FN T Arctan2(T a, T b) { return F(atan2)(a, b); } \
FN T Hypot(T a, T b) { return F(hypot)(a, b); } \
FN T Copysign(T a, T b) { return F(copysign)(a, b); } \
FN T Maximum(T a, T b) { return a >= b || a != a ? a : b; } \
FN T Minimum(T a, T b) { return a <= b || a != a ? a : b; } \
FN T Fmax(T a, T b) { return a >= b || b != b ? a : b; } \
FN T Fmin(T a, T b) { return a <= b || b != b ? a : b; } \
FN T LogAddExp(T a, T b) { \
  if (a == b) return a + (T)0.693147180559945309417232121458; \
  const T d = a - b; \
  if (d > 0) return a + F(log1p)(F(exp)(-d)); \
  return d <= 0 ? b + F(log1p)(F(exp)(d)) : d; \
} \
FN T Absolute(T a) { return F(fabs)(a); } \
FN T Sign(T a) { return a > 0 ? (T)1 : a < 0 ? (T)-1 : a == 0 ? (T)0 : a; } \
FN T Square(T a) { return a * a; } \
FN T Sqrt(T a) { return F(sqrt)(a); } \
FN T Cbrt(T a) { return F(cbrt)(a); } \
FN T Reciprocal(T a) { return 1 / a; } \
FN T Exp(T a) { return F(exp)(a); } \
FN T Exp2(T a) { return F(exp2)(a); } \
FN T Expm1(T a) { return F(expm1)(a); } \
FN T Log(T a) { return F(log)(a); } \
FN T Log2(T a) { return F(log2)(a); } \
FN T Log10(T a) { return F(log10)(a); } \
FN T Log1p(T a) { return F(log1p)(a); } \
FN T Sin(T a) { return F(sin)(a); } \
FN T Cos(T a) { return F(cos)(a); } \
FN T Tan(T a) { return F(tan)(a); } \
FN T Arcsin(T a) { return F(asin)(a); } \
FN T Arccos(T a) { return F(acos)(a); } \
FN T Arctan(T a) { return F(atan)(a); } \
FN T Sinh(T a) { return F(sinh)(a); } \
FN T Cosh(T a) { return F(cosh)(a); } \
FN T Tanh(T a) { return F(tanh)(a); } \
FN T Arcsinh(T a) { return F(asinh)(a); } \
FN T Arccosh(T a) { return F(acosh)(a); } \
FN T Arctanh(T a) { return F(atanh)(a); } \
FN T Floor(T a) { return F(floor)(a); } \
FN T Ceil(T a) { return F(ceil)(a); } \
FN T Trunc(T a) { return F(trunc)(a); } \
FN T Rint(T a) { return F(rint)(a); } \
FN T Real(T a) { return a; } \
FN T Imag(T) { return (T)0; } \
FN T Conjugate(T a) { return a; } \
FN bool Equal(T a, T b) { return a == b; } \
FN bool Less(T a, T b) { return a < b; } \
FN bool LessEqual(T a, T b) { return a <= b; } \
FN bool Truth(T a) { return a != 0; }
#define SINGLE(name) name##f
#define DOUBLE(name) name
FLOATS(float, SINGLE)
FLOATS(double, DOUBLE)
)";

// As x86-64 does it, and so NumPy there: what does not fit becomes the least int32 or int64, and smaller and unsigned
// types take the low bits of that. A GPU's own conversions give the nearest, and 0 for a NaN.
const std::string_view kPreludeCasts = R"(FN I64 ToLong(double a) {
  return a >= -9223372036854775808.0 && a < 9223372036854775808.0 ? (I64)a : (I64)0x8000000000000000ULL;
}
FN int ToInt(double a) { return a > -2147483649.0 && a < 2147483648.0 ? (int)a : (int)0x80000000u; }
template <typename T> struct Integer;
template <> struct Integer<signed char> { FN signed char Of(double a) { return (signed char)ToInt(a); } };
template <> struct Integer<short> { FN short Of(double a) { return (short)ToInt(a); } };
template <> struct Integer<int> { FN int Of(double a) { return ToInt(a); } };
template <> struct Integer<I64> { FN I64 Of(double a) { return ToLong(a); } };
template <> struct Integer<unsigned char> { FN unsigned char Of(double a) { return (unsigned char)ToInt(a); } };
template <> struct Integer<unsigned short> { FN unsigned short Of(double a) { return (unsigned short)ToInt(a); } };
template <> struct Integer<unsigned> { FN unsigned Of(double a) { return (unsigned)ToLong(a); } };
template <> struct Integer<U64> {
  FN U64 Of(double a) {
    if (a < 9223372036854775808.0) return (U64)ToLong(a);
    return (U64)ToLong(a - 9223372036854775808.0) ^ 0x8000000000000000ULL;
  }
};
)";

// To the nearest, ties to even. From float64 at once: by way of float32 a number just beside a tie would be rounded
// twice. A device has instructions for both; the host has this code.
const std::string_view kPreludeHalves = R"(struct Half { unsigned short bits; };
#ifdef __CUDA_ARCH__
FN unsigned short HalfBits(float a) { unsigned short b; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(b) : "f"(a)); return b; }
FN unsigned short HalfBits(double a) { unsigned short b; asm("cvt.rn.f16.f64 %0, %1;" : "=h"(b) : "d"(a)); return b; }
FN float FromHalf(unsigned short b) { float a; asm("cvt.f32.f16 %0, %1;" : "=f"(a) : "h"(b)); return a; }
#else
FN unsigned short HalfBits(double a) {
  const unsigned short sign = copysign(1.0, a) < 0 ? 0x8000 : 0;
  if (a != a) return (unsigned short)(sign | 0x7e00);
  const double size = fabs(a);
  if (size >= 65520) return (unsigned short)(sign | 0x7c00);
  if (size < 6.103515625e-05) return (unsigned short)(sign | (unsigned short)rint(size * 16777216.0));
  int exponent = 0;
  const double part = frexp(size, &exponent);
  return (unsigned short)(sign | (unsigned short)(((exponent + 13) << 10) + (int)rint(part * 2048) ));
}
FN unsigned short HalfBits(float a) { return HalfBits((double)a); }
FN float FromHalf(unsigned short b) {
  const int exponent = b >> 10 & 31, part = b & 1023;
  const float size = exponent == 31 ? (part != 0 ? Nan(0.0f) : Infinity(0.0f))
                     : exponent == 0 ? (float)ldexp((double)part, -24) : (float)ldexp((double)(1024 + part), exponent - 25);
  return b & 0x8000 ? -size : size;
}
#endif
FN float AsHalf(float a) { return FromHalf(HalfBits(a)); }
FN float AsHalf(double a) { return FromHalf(HalfBits(a)); }
FN float At(const Half* memory) { return FromHalf(memory->bits); }
FN void Put(Half* memory, float value) { memory->bits = HalfBits(value); }
)";

const std::string_view kPreludeBrains = R"(struct Brain { unsigned short bits; };
FN float FromBrain(unsigned short b) { return __uint_as_float((unsigned)b << 16); }
FN unsigned short BrainBits(float a) {
  const unsigned bits = __float_as_uint(a);
  if (a != a) return (unsigned short)((bits >> 16 & 0x8000) | 0x7fc0);
  return (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
FN float AsBrain(float a) { return FromBrain(BrainBits(a)); }
FN float At(const Brain* memory) { return FromBrain(memory->bits); }
FN void Put(Brain* memory, float value) { memory->bits = BrainBits(value); }
)";

// float64 is summed in two parts: what a sum of two loses is kept beside it. An infinite or NaN sum has no rest.
const std::string_view kPreludeFolds = R"(FN void AddTwo(double& high, double& low, double a) {
  const double sum = high + a, b = sum - high;
  const double rest = (high - (sum - b)) + (a - b);
  low += IsFinite(sum) ? rest : 0;
  high = sum;
}
FN double OfTwo(double high, double low) { return IsFinite(high) ? high + low : high; }
template <typename T> FN void Lower(T& best, I64& at, T value, I64 index) {
  const bool first = at < 0 || (index >= 0 && index < at);
  if (index < 0) return;
  const bool nan = IsNan(value), best_nan = at >= 0 && IsNan(best);
  if (at < 0 || (nan ? !best_nan || first : !best_nan && (Less(value, best) || (Equal(value, best) && first)))) {
    best = value, at = index;
  }
}
template <typename T> FN void Higher(T& best, I64& at, T value, I64 index) {
  const bool first = at < 0 || (index >= 0 && index < at);
  if (index < 0) return;
  const bool nan = IsNan(value), best_nan = at >= 0 && IsNan(best);
  if (at < 0 || (nan ? !best_nan || first : !best_nan && (Less(best, value) || (Equal(value, best) && first)))) {
    best = value, at = index;
  }
}
)";

}  // namespace hotplate::expression
