// Complex numbers. The special cases of functions are C99's (annex G), as NumPy's are, as far as they matter: infinite
// and NaN parts, and the sides of cuts.
#include "kernels/expression/cuda_text_prelude.h"

namespace hotplate::expression {

// Products and quotients as NumPy has them (Smith's for the quotient), so that they give its bits.
const std::string_view kPreludeComplex = R"(#define CX template <typename T> FN
CX Complex<T> Pair(T re, T im) { Complex<T> c; c.re = re; c.im = im; return c; }
CX Complex<T> Add(Complex<T> a, Complex<T> b) { return Pair(a.re + b.re, a.im + b.im); }
CX Complex<T> Subtract(Complex<T> a, Complex<T> b) { return Pair(a.re - b.re, a.im - b.im); }
CX Complex<T> Multiply(Complex<T> a, Complex<T> b) {
  return Pair(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
}
CX Complex<T> Divide(Complex<T> a, Complex<T> b) {
  const T re = Absolute(b.re), im = Absolute(b.im);
  if (re >= im) {
    if (re == 0 && im == 0) return Pair(a.re / re, a.im / re);
    const T ratio = b.im / b.re, scale = 1 / (b.re + b.im * ratio);
    return Pair((a.re + a.im * ratio) * scale, (a.im - a.re * ratio) * scale);
  }
  const T ratio = b.re / b.im, scale = 1 / (b.im + b.re * ratio);
  return Pair((a.re * ratio + a.im) * scale, (a.im * ratio - a.re) * scale);
}
CX Complex<T> Negative(Complex<T> a) { return Pair(-a.re, -a.im); }
CX Complex<T> Square(Complex<T> a) { return Pair(a.re * a.re - a.im * a.im, a.re * a.im + a.im * a.re); }
CX Complex<T> Reciprocal(Complex<T> a) {
  if (Absolute(a.im) <= Absolute(a.re)) {
    const T ratio = a.im / a.re, scale = a.re + a.im * ratio;
    return Pair(1 / scale, -ratio / scale);
  }
  const T ratio = a.re / a.im, scale = a.re * ratio + a.im;
  return Pair(ratio / scale, -1 / scale);
}
CX T Absolute(Complex<T> a) { return Hypot(a.re, a.im); }
CX bool IsNan(Complex<T> a) { return IsNan(a.re) || IsNan(a.im); }
CX bool IsInf(Complex<T> a) { return IsInf(a.re) || IsInf(a.im); }
CX bool IsFinite(Complex<T> a) { return IsFinite(a.re) && IsFinite(a.im); }
CX Complex<T> Sign(Complex<T> a) {
  const T size = Absolute(a);
  if (IsNan(size)) return Pair(Nan(size), Nan(size));
  if (IsInf(size)) {
    const bool re = IsInf(a.re), im = IsInf(a.im);
    if (re && im) return Pair(Nan(size), Nan(size));
    return re ? Pair(a.re > 0 ? (T)1 : (T)-1, (T)0) : Pair((T)0, a.im > 0 ? (T)1 : (T)-1);
  }
  return size == 0 ? Pair((T)0, (T)0) : Pair(a.re / size, a.im / size);
}
CX Complex<T> Rint(Complex<T> a) { return Pair(Rint(a.re), Rint(a.im)); }
CX T Real(Complex<T> a) { return a.re; }
CX T Imag(Complex<T> a) { return a.im; }
CX Complex<T> Conjugate(Complex<T> a) { return Pair(a.re, -a.im); }
CX bool Equal(Complex<T> a, Complex<T> b) { return a.re == b.re && a.im == b.im; }
CX bool Less(Complex<T> a, Complex<T> b) {
  return (a.re < b.re && !IsNan(a.im) && !IsNan(b.im)) || (a.re == b.re && a.im < b.im);
}
CX bool LessEqual(Complex<T> a, Complex<T> b) {
  return (a.re < b.re && !IsNan(a.im) && !IsNan(b.im)) || (a.re == b.re && a.im <= b.im);
}
CX bool Truth(Complex<T> a) { return a.re != 0 || a.im != 0; }
CX Complex<T> Maximum(Complex<T> a, Complex<T> b) { return LessEqual(b, a) || IsNan(a) ? a : b; }
CX Complex<T> Minimum(Complex<T> a, Complex<T> b) { return LessEqual(a, b) || IsNan(a) ? a : b; }
CX Complex<T> Fmax(Complex<T> a, Complex<T> b) { return LessEqual(b, a) || IsNan(b) ? a : b; }
CX Complex<T> Fmin(Complex<T> a, Complex<T> b) { return LessEqual(a, b) || IsNan(b) ? a : b; }
)";

// All in float64; complex64 is rounded at the end. The inverse functions are Kahan's ("Branch cuts for complex
// elementary functions", 1987).
const std::string_view kPreludeFunctions = R"(FAR C128 Exp(C128 a) {
  if (a.im == 0) return Pair(exp(a.re), a.im);
  if (!IsFinite(a.im)) {
    if (a.re == -Infinity(0.0)) return Pair(0.0, 0.0);
    return Pair(IsInf(a.re) ? a.re : Nan(0.0), Nan(0.0));
  }
  if (a.re > 709 && a.re < 1454) {
    const double half = exp(a.re / 2);
    return Pair(half * cos(a.im) * half, half * sin(a.im) * half);
  }
  const double size = exp(a.re);
  return Pair(size * cos(a.im), size * sin(a.im));
}
FAR C128 Log(C128 a) {
  const double x = fmax(fabs(a.re), fabs(a.im)), y = fmin(fabs(a.re), fabs(a.im));
  const double angle = atan2(a.im, a.re);
  if (x > 0.5 && x < 2) return Pair(0.5 * log1p((x - 1) * (x + 1) + y * y), angle);
  return Pair(log(hypot(a.re, a.im)), angle);
}
FAR C128 Sqrt(C128 a) {
  if (a.re == 0 && a.im == 0) return Pair(0.0, a.im);
  if (IsInf(a.im)) return Pair(Infinity(0.0), a.im);
  if (IsNan(a.re)) return Pair(a.re, Nan(0.0));
  if (IsInf(a.re)) {
    const double none = a.im - a.im;
    return a.re < 0 ? Pair(fabs(none), copysign(a.re, a.im)) : Pair(a.re, copysign(none, a.im));
  }
  double scale = 1;
  if (fabs(a.re) > 4e307 || fabs(a.im) > 4e307) a.re *= 0.25, a.im *= 0.25, scale = 2;
  if (fabs(a.re) < 1e-300 && fabs(a.im) < 1e-300) a.re *= 0x1p108, a.im *= 0x1p108, scale = 0x1p-54;
  if (a.re >= 0) {
    const double t = sqrt((a.re + hypot(a.re, a.im)) * 0.5);
    return Pair(t * scale, a.im / (2 * t) * scale);
  }
  const double t = sqrt((-a.re + hypot(a.re, a.im)) * 0.5);
  return Pair(fabs(a.im) / (2 * t) * scale, copysign(t, a.im) * scale);
}
FN double Times(double a, double b) { return a == 0 || b == 0 ? copysign(0.0, a) * copysign(1.0, b) : a * b; }
FAR C128 Sinh(C128 a) {
  if (a.im == 0) return Pair(sinh(a.re), a.im);
  if (fabs(a.re) > 709 && fabs(a.re) < 1454) {
    const double half = exp(fabs(a.re) / 2), part = 0.5 * half;
    return Pair(copysign(part, a.re) * cos(a.im) * half, part * sin(a.im) * half);
  }
  return Pair(Times(sinh(a.re), cos(a.im)), Times(cosh(a.re), sin(a.im)));
}
FAR C128 Cosh(C128 a) {
  if (a.im == 0) return Pair(cosh(a.re), copysign(0.0, a.re) * copysign(1.0, a.im));
  if (fabs(a.re) > 709 && fabs(a.re) < 1454) {
    const double half = exp(fabs(a.re) / 2), part = 0.5 * half;
    return Pair(part * cos(a.im) * half, copysign(part, a.re) * sin(a.im) * half);
  }
  return Pair(Times(cosh(a.re), cos(a.im)), Times(sinh(a.re), sin(a.im)));
}
FAR C128 Tanh(C128 a) {
  if (!IsFinite(a.re)) {
    if (IsNan(a.re)) return Pair(a.re, a.im == 0 ? a.im : Nan(0.0));
    return Pair(copysign(1.0, a.re), copysign(0.0, IsFinite(a.im) ? sin(a.im) * cos(a.im) : a.im));
  }
  if (!IsFinite(a.im)) return Pair(a.re == 0 ? a.re : Nan(0.0), Nan(0.0));
  if (fabs(a.re) >= 22) {
    const double less = exp(-fabs(a.re));
    return Pair(copysign(1.0, a.re), 4 * sin(a.im) * cos(a.im) * less * less);
  }
  const double t = tan(a.im), beta = 1 + t * t, s = sinh(a.re), rho = sqrt(1 + s * s);
  if (IsInf(t)) return Pair(rho / s, 1 / t);
  const double under = 1 + beta * s * s;
  return Pair(beta * rho * s / under, t / under);
}
FN C128 TimesI(C128 a) { return Pair(-a.im, a.re); }
FN C128 OverI(C128 a) { return Pair(a.im, -a.re); }
FN C128 Sin(C128 a) { return OverI(Sinh(TimesI(a))); }
FN C128 Cos(C128 a) { return Cosh(TimesI(a)); }
FN C128 Tan(C128 a) { return OverI(Tanh(TimesI(a))); }
FAR C128 Arcsin(C128 a) {
  const C128 less = Sqrt(Pair(1 - a.re, -a.im)), more = Sqrt(Pair(1 + a.re, a.im));
  if (fabs(a.re) > 1e150 || fabs(a.im) > 1e150) {
    const C128 l = Log(a);
    const double angle = atan2(a.re, fabs(a.im));
    return Pair(angle, copysign(l.re + 0.693147180559945309417232121458, a.im));
  }
  return Pair(atan2(a.re, less.re * more.re - less.im * more.im), asinh(less.re * more.im - less.im * more.re));
}
FAR C128 Arccos(C128 a) {
  if (fabs(a.re) > 1e150 || fabs(a.im) > 1e150) {
    const C128 l = Log(a);
    return Pair(atan2(fabs(a.im), a.re), copysign(l.re + 0.693147180559945309417232121458, -a.im));
  }
  const C128 less = Sqrt(Pair(1 - a.re, -a.im)), more = Sqrt(Pair(1 + a.re, a.im));
  return Pair(2 * atan2(less.re, more.re), asinh(more.re * less.im - more.im * less.re));
}
FN C128 Arcsinh(C128 a) { return OverI(Arcsin(TimesI(a))); }
FAR C128 Arccosh(C128 a) {
  if (fabs(a.re) > 1e150 || fabs(a.im) > 1e150) {
    const C128 l = Log(a);
    return Pair(l.re + 0.693147180559945309417232121458, l.im);
  }
  const C128 less = Sqrt(Pair(a.re - 1, a.im)), more = Sqrt(Pair(a.re + 1, a.im));
  return Pair(asinh(less.re * more.re + less.im * more.im), 2 * atan2(less.im, more.re));
}
FAR C128 Arctanh(C128 a) {
  const double x = fabs(a.re), y = fabs(a.im), quarter = 1.57079632679489661923132169164;
  if (IsNan(x) || IsNan(y)) {
    if (IsInf(x)) return Pair(copysign(0.0, a.re), Nan(0.0));
    if (IsInf(y)) return Pair(copysign(0.0, a.re), copysign(quarter, a.im));
    return Pair(a.re == 0 ? a.re : Nan(0.0), Nan(0.0));
  }
  if (x > 1e150 || y > 1e150) {
    const double h = hypot(x / 2, y / 2);
    return Pair(copysign(IsInf(h) ? 0.0 : x / h / h / 4, a.re), copysign(quarter, a.im));
  }
  const double less = 1 - x, under = less * less + y * y;
  const double re = y == 0 && x == 1 ? Infinity(0.0) : 0.25 * log1p(4 * x / under);
  return Pair(copysign(re, a.re), y == 0 && x <= 1 ? a.im : 0.5 * atan2(2 * a.im, less * (1 + x) - y * y));
}
FN C128 Arctan(C128 a) { return OverI(Arctanh(TimesI(a))); }
FAR C128 Power(C128 a, C128 b) {
  if (b.re == 0 && b.im == 0) return Pair(1.0, 0.0);
  if (a.re == 0 && a.im == 0) {
    if (b.re > 0 && b.im == 0) return Pair(0.0, 0.0);
    return Pair(Nan(0.0), Nan(0.0));
  }
  if (b.im == 0 && b.re > -100 && b.re < 100 && b.re == floor(b.re)) {
    const int n = (int)b.re;
    if (n == 1) return a;
    if (n == 2) return Multiply(a, a);
    if (n == 3) return Multiply(a, Multiply(a, a));
    C128 result = Pair(1.0, 0.0), base = a;
    for (int left = n < 0 ? -n : n; left != 0; left >>= 1) {
      if (left & 1) result = Multiply(result, base);
      base = Multiply(base, base);
    }
    return n < 0 ? Divide(Pair(1.0, 0.0), result) : result;
  }
  const C128 l = Log(a);
  return Exp(Multiply(b, l));
}
FN C128 Exp2(C128 a) { return Exp(Pair(a.re * 0.693147180559945309417232121458, a.im * 0.693147180559945309417232121458)); }
FN C128 Expm1(C128 a) {
  const double half = sin(a.im / 2);
  return Pair(expm1(a.re) * cos(a.im) - 2 * half * half, exp(a.re) * sin(a.im));
}
FN C128 Log2(C128 a) {
  const C128 l = Log(a);
  return Pair(l.re * 1.44269504088896340735992468100, l.im * 1.44269504088896340735992468100);
}
FN C128 Log10(C128 a) {
  const C128 l = Log(a);
  return Pair(l.re * 0.434294481903251827651128918917, l.im * 0.434294481903251827651128918917);
}
FN C128 Log1p(C128 a) {
  return Pair(fabs(a.re) < 0.5 && fabs(a.im) < 0.5 ? 0.5 * log1p(a.re * (2 + a.re) + a.im * a.im)
                                                   : log(hypot(a.re + 1, a.im)),
              atan2(a.im, a.re + 1));
}
#define WIDE(a) Pair((double)a.re, (double)a.im)
#define ROUNDED(name) FN C64 name(C64 a) { const C128 w = name(WIDE(a)); return Pair((float)w.re, (float)w.im); }
ROUNDED(Exp) ROUNDED(Exp2) ROUNDED(Expm1) ROUNDED(Log) ROUNDED(Log2) ROUNDED(Log10) ROUNDED(Log1p) ROUNDED(Sqrt)
ROUNDED(Sin) ROUNDED(Cos) ROUNDED(Tan) ROUNDED(Arcsin) ROUNDED(Arccos) ROUNDED(Arctan)
ROUNDED(Sinh) ROUNDED(Cosh) ROUNDED(Tanh) ROUNDED(Arcsinh) ROUNDED(Arccosh) ROUNDED(Arctanh)
FN C64 Power(C64 a, C64 b) { const C128 w = Power(WIDE(a), WIDE(b)); return Pair((float)w.re, (float)w.im); }
)";

}  // namespace hotplate::expression
