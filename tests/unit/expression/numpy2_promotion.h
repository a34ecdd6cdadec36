// Made by numpy2_promotion.py with NumPy 2.4.6: do not edit.
#pragma once

#include <string_view>

namespace hotplate::expression::numpy2 {

// Results are told by a letter for each of kDTypes, in the order of kLetters; "-" is a TypeError.
inline constexpr std::string_view kLetters = "obBhHiIlLefdFD";
inline constexpr std::string_view kDTypes[] = {"bool",    "int8",    "uint8",     "int16",     "uint16",
                                               "int32",   "uint32",  "int64",     "uint64",    "float16",
                                               "float32", "float64", "complex64", "complex128"};
inline constexpr std::string_view kNumbers[] = {"True", "1", "1.0", "1j"};

struct One {
  std::string_view name, dtypes, numbers;
};
// A word for each of the first argument's dtypes (or numbers).
struct Two {
  std::string_view name, dtypes, number_on_the_right, number_on_the_left, numbers;
};
struct Reduced {
  std::string_view name, dtypes;
};

inline constexpr One kOne[] = {
    {"negative", "-bBhHiIlLefdFD", "-ldD"},    {"positive", "-bBhHiIlLefdFD", "-ldD"},
    {"absolute", "obBhHiIlLefdfd", "oldd"},    {"sign", "-bBhHiIlLefdFD", "-ldD"},
    {"square", "bbBhHiIlLefdFD", "bldD"},      {"sqrt", "eeeffddddefdFD", "eddD"},
    {"cbrt", "eeeffddddefd--", "edd-"},        {"reciprocal", "bbBhHiIlLefdFD", "bldD"},
    {"exp", "eeeffddddefdFD", "eddD"},         {"exp2", "eeeffddddefdFD", "eddD"},
    {"expm1", "eeeffddddefdFD", "eddD"},       {"log", "eeeffddddefdFD", "eddD"},
    {"log2", "eeeffddddefdFD", "eddD"},        {"log10", "eeeffddddefdFD", "eddD"},
    {"log1p", "eeeffddddefdFD", "eddD"},       {"sin", "eeeffddddefdFD", "eddD"},
    {"cos", "eeeffddddefdFD", "eddD"},         {"tan", "eeeffddddefdFD", "eddD"},
    {"arcsin", "eeeffddddefdFD", "eddD"},      {"arccos", "eeeffddddefdFD", "eddD"},
    {"arctan", "eeeffddddefdFD", "eddD"},      {"sinh", "eeeffddddefdFD", "eddD"},
    {"cosh", "eeeffddddefdFD", "eddD"},        {"tanh", "eeeffddddefdFD", "eddD"},
    {"arcsinh", "eeeffddddefdFD", "eddD"},     {"arccosh", "eeeffddddefdFD", "eddD"},
    {"arctanh", "eeeffddddefdFD", "eddD"},     {"floor", "obBhHiIlLefd--", "old-"},
    {"ceil", "obBhHiIlLefd--", "old-"},        {"trunc", "obBhHiIlLefd--", "old-"},
    {"rint", "eeeffddddefdFD", "eddD"},        {"isnan", "oooooooooooooo", "oooo"},
    {"isinf", "oooooooooooooo", "oooo"},       {"isfinite", "oooooooooooooo", "oooo"},
    {"signbit", "oooooooooooo--", "ooo-"},     {"invert", "obBhHiIlL-----", "ol--"},
    {"logical_not", "oooooooooooooo", "oooo"}, {"real", "obBhHiIlLefdfd", "lldd"},
    {"imag", "obBhHiIlLefdfd", "lldd"},        {"conjugate", "bbBhHiIlLefdFD", "bldD"},
    {"round", "ebBhHiIlLefdFD", "eldD"},
};

inline constexpr Two kTwo[] = {
    {"add",
     "obBhHiIlLefdFD bbhhiilldefdFD BhBhHiIlLefdFD hhhhiilldffdFD HiHiHiIlLffdFD iiiiiillddddDD IlIlIlIlLdddDD "
     "llllllllddddDD LdLdLdLdLdddDD eeeffddddefdFD fffffddddffdFD ddddddddddddDD FFFFFDDDDFFDFD DDDDDDDDDDDDDD",
     "oldD bbdD BBdD hhdD HHdD iidD IIdD lldD LLdD eeeF fffF dddD FFFF DDDD",
     "oldD bbdD BBdD hhdD HHdD iidD IIdD lldD LLdD eeeF fffF dddD FFFF DDDD", "oldD lldD dddD DDDD"},
    {"subtract",
     "-bBhHiIlLefdFD bbhhiilldefdFD BhBhHiIlLefdFD hhhhiilldffdFD HiHiHiIlLffdFD iiiiiillddddDD IlIlIlIlLdddDD "
     "llllllllddddDD LdLdLdLdLdddDD eeeffddddefdFD fffffddddffdFD ddddddddddddDD FFFFFDDDDFFDFD DDDDDDDDDDDDDD",
     "-ldD bbdD BBdD hhdD HHdD iidD IIdD lldD LLdD eeeF fffF dddD FFFF DDDD",
     "-ldD bbdD BBdD hhdD HHdD iidD IIdD lldD LLdD eeeF fffF dddD FFFF DDDD", "-ldD lldD dddD DDDD"},
    {"multiply",
     "obBhHiIlLefdFD bbhhiilldefdFD BhBhHiIlLefdFD hhhhiilldffdFD HiHiHiIlLffdFD iiiiiillddddDD IlIlIlIlLdddDD "
     "llllllllddddDD LdLdLdLdLdddDD eeeffddddefdFD fffffddddffdFD ddddddddddddDD FFFFFDDDDFFDFD DDDDDDDDDDDDDD",
     "oldD bbdD BBdD hhdD HHdD iidD IIdD lldD LLdD eeeF fffF dddD FFFF DDDD",
     "oldD bbdD BBdD hhdD HHdD iidD IIdD lldD LLdD eeeF fffF dddD FFFF DDDD", "oldD lldD dddD DDDD"},
    {"divide",
     "dddddddddefdFD dddddddddefdFD dddddddddefdFD dddddddddffdFD dddddddddffdFD ddddddddddddDD ddddddddddddDD "
     "ddddddddddddDD ddddddddddddDD eeeffddddefdFD fffffddddffdFD ddddddddddddDD FFFFFDDDDFFDFD DDDDDDDDDDDDDD",
     "dddD dddD dddD dddD dddD dddD dddD dddD dddD eeeF fffF dddD FFFF DDDD",
     "dddD dddD dddD dddD dddD dddD dddD dddD dddD eeeF fffF dddD FFFF DDDD", "dddD dddD dddD DDDD"},
    {"floor_divide",
     "bbBhHiIlLefd-- bbhhiilldefd-- BhBhHiIlLefd-- hhhhiilldffd-- HiHiHiIlLffd-- iiiiiilldddd-- IlIlIlIlLddd-- "
     "lllllllldddd-- LdLdLdLdLddd-- eeeffddddefd-- fffffddddffd-- dddddddddddd-- -------------- --------------",
     "bld- bbd- BBd- hhd- HHd- iid- IId- lld- LLd- eee- fff- ddd- ---- ----",
     "bld- bbd- BBd- hhd- HHd- iid- IId- lld- LLd- eee- fff- ddd- ---- ----", "bld- lld- ddd- ----"},
    {"remainder",
     "bbBhHiIlLefd-- bbhhiilldefd-- BhBhHiIlLefd-- hhhhiilldffd-- HiHiHiIlLffd-- iiiiiilldddd-- IlIlIlIlLddd-- "
     "lllllllldddd-- LdLdLdLdLddd-- eeeffddddefd-- fffffddddffd-- dddddddddddd-- -------------- --------------",
     "bld- bbd- BBd- hhd- HHd- iid- IId- lld- LLd- eee- fff- ddd- ---- ----",
     "bld- bbd- BBd- hhd- HHd- iid- IId- lld- LLd- eee- fff- ddd- ---- ----", "bld- lld- ddd- ----"},
    {"fmod",
     "bbBhHiIlLefd-- bbhhiilldefd-- BhBhHiIlLefd-- hhhhiilldffd-- HiHiHiIlLffd-- iiiiiilldddd-- IlIlIlIlLddd-- "
     "lllllllldddd-- LdLdLdLdLddd-- eeeffddddefd-- fffffddddffd-- dddddddddddd-- -------------- --------------",
     "bld- bbd- BBd- hhd- HHd- iid- IId- lld- LLd- eee- fff- ddd- ---- ----",
     "bld- bbd- BBd- hhd- HHd- iid- IId- lld- LLd- eee- fff- ddd- ---- ----", "bld- lld- ddd- ----"},
    {"power",
     "bbBhHiIlLefdFD bbhhiilldefdFD BhBhHiIlLefdFD hhhhiilldffdFD HiHiHiIlLffdFD iiiiiillddddDD IlIlIlIlLdddDD "
     "llllllllddddDD LdLdLdLdLdddDD eeeffddddefdFD fffffddddffdFD ddddddddddddDD FFFFFDDDDFFDFD DDDDDDDDDDDDDD",
     "bldD bbdD BBdD hhdD HHdD iidD IIdD lldD LLdD eeeF fffF dddD FFFF DDDD",
     "bldD bbdD BBdD hhdD HHdD iidD IIdD lldD LLdD eeeF fffF dddD FFFF DDDD", "bldD lldD dddD DDDD"},
    {"arctan2",
     "eeeffddddefd-- eeeffddddefd-- eeeffddddefd-- fffffddddffd-- fffffddddffd-- dddddddddddd-- dddddddddddd-- "
     "dddddddddddd-- dddddddddddd-- eeeffddddefd-- fffffddddffd-- dddddddddddd-- -------------- --------------",
     "edd- eed- eed- ffd- ffd- ddd- ddd- ddd- ddd- eee- fff- ddd- ---- ----",
     "edd- eed- eed- ffd- ffd- ddd- ddd- ddd- ddd- eee- fff- ddd- ---- ----", "edd- ddd- ddd- ----"},
    {"hypot",
     "eeeffddddefd-- eeeffddddefd-- eeeffddddefd-- fffffddddffd-- fffffddddffd-- dddddddddddd-- dddddddddddd-- "
     "dddddddddddd-- dddddddddddd-- eeeffddddefd-- fffffddddffd-- dddddddddddd-- -------------- --------------",
     "edd- eed- eed- ffd- ffd- ddd- ddd- ddd- ddd- eee- fff- ddd- ---- ----",
     "edd- eed- eed- ffd- ffd- ddd- ddd- ddd- ddd- eee- fff- ddd- ---- ----", "edd- ddd- ddd- ----"},
    {"copysign",
     "eeeffddddefd-- eeeffddddefd-- eeeffddddefd-- fffffddddffd-- fffffddddffd-- dddddddddddd-- dddddddddddd-- "
     "dddddddddddd-- dddddddddddd-- eeeffddddefd-- fffffddddffd-- dddddddddddd-- -------------- --------------",
     "edd- eed- eed- ffd- ffd- ddd- ddd- ddd- ddd- eee- fff- ddd- ---- ----",
     "edd- eed- eed- ffd- ffd- ddd- ddd- ddd- ddd- eee- fff- ddd- ---- ----", "edd- ddd- ddd- ----"},
    {"maximum",
     "obBhHiIlLefdFD bbhhiilldefdFD BhBhHiIlLefdFD hhhhiilldffdFD HiHiHiIlLffdFD iiiiiillddddDD IlIlIlIlLdddDD "
     "llllllllddddDD LdLdLdLdLdddDD eeeffddddefdFD fffffddddffdFD ddddddddddddDD FFFFFDDDDFFDFD DDDDDDDDDDDDDD",
     "oldD bbdD BBdD hhdD HHdD iidD IIdD lldD LLdD eeeF fffF dddD FFFF DDDD",
     "oldD bbdD BBdD hhdD HHdD iidD IIdD lldD LLdD eeeF fffF dddD FFFF DDDD", "oldD lldD dddD DDDD"},
    {"minimum",
     "obBhHiIlLefdFD bbhhiilldefdFD BhBhHiIlLefdFD hhhhiilldffdFD HiHiHiIlLffdFD iiiiiillddddDD IlIlIlIlLdddDD "
     "llllllllddddDD LdLdLdLdLdddDD eeeffddddefdFD fffffddddffdFD ddddddddddddDD FFFFFDDDDFFDFD DDDDDDDDDDDDDD",
     "oldD bbdD BBdD hhdD HHdD iidD IIdD lldD LLdD eeeF fffF dddD FFFF DDDD",
     "oldD bbdD BBdD hhdD HHdD iidD IIdD lldD LLdD eeeF fffF dddD FFFF DDDD", "oldD lldD dddD DDDD"},
    {"fmax",
     "obBhHiIlLefdFD bbhhiilldefdFD BhBhHiIlLefdFD hhhhiilldffdFD HiHiHiIlLffdFD iiiiiillddddDD IlIlIlIlLdddDD "
     "llllllllddddDD LdLdLdLdLdddDD eeeffddddefdFD fffffddddffdFD ddddddddddddDD FFFFFDDDDFFDFD DDDDDDDDDDDDDD",
     "oldD bbdD BBdD hhdD HHdD iidD IIdD lldD LLdD eeeF fffF dddD FFFF DDDD",
     "oldD bbdD BBdD hhdD HHdD iidD IIdD lldD LLdD eeeF fffF dddD FFFF DDDD", "oldD lldD dddD DDDD"},
    {"fmin",
     "obBhHiIlLefdFD bbhhiilldefdFD BhBhHiIlLefdFD hhhhiilldffdFD HiHiHiIlLffdFD iiiiiillddddDD IlIlIlIlLdddDD "
     "llllllllddddDD LdLdLdLdLdddDD eeeffddddefdFD fffffddddffdFD ddddddddddddDD FFFFFDDDDFFDFD DDDDDDDDDDDDDD",
     "oldD bbdD BBdD hhdD HHdD iidD IIdD lldD LLdD eeeF fffF dddD FFFF DDDD",
     "oldD bbdD BBdD hhdD HHdD iidD IIdD lldD LLdD eeeF fffF dddD FFFF DDDD", "oldD lldD dddD DDDD"},
    {"logaddexp",
     "eeeffddddefd-- eeeffddddefd-- eeeffddddefd-- fffffddddffd-- fffffddddffd-- dddddddddddd-- dddddddddddd-- "
     "dddddddddddd-- dddddddddddd-- eeeffddddefd-- fffffddddffd-- dddddddddddd-- -------------- --------------",
     "edd- eed- eed- ffd- ffd- ddd- ddd- ddd- ddd- eee- fff- ddd- ---- ----",
     "edd- eed- eed- ffd- ffd- ddd- ddd- ddd- ddd- eee- fff- ddd- ---- ----", "edd- ddd- ddd- ----"},
    {"bitwise_and",
     "obBhHiIlL----- bbhhiill------ BhBhHiIlL----- hhhhiill------ HiHiHiIlL----- iiiiiill------ IlIlIlIlL----- "
     "llllllll------ L-L-L-L-L----- -------------- -------------- -------------- -------------- --------------",
     "ol-- bb-- BB-- hh-- HH-- ii-- II-- ll-- LL-- ---- ---- ---- ---- ----",
     "ol-- bb-- BB-- hh-- HH-- ii-- II-- ll-- LL-- ---- ---- ---- ---- ----", "ol-- ll-- ---- ----"},
    {"bitwise_or",
     "obBhHiIlL----- bbhhiill------ BhBhHiIlL----- hhhhiill------ HiHiHiIlL----- iiiiiill------ IlIlIlIlL----- "
     "llllllll------ L-L-L-L-L----- -------------- -------------- -------------- -------------- --------------",
     "ol-- bb-- BB-- hh-- HH-- ii-- II-- ll-- LL-- ---- ---- ---- ---- ----",
     "ol-- bb-- BB-- hh-- HH-- ii-- II-- ll-- LL-- ---- ---- ---- ---- ----", "ol-- ll-- ---- ----"},
    {"bitwise_xor",
     "obBhHiIlL----- bbhhiill------ BhBhHiIlL----- hhhhiill------ HiHiHiIlL----- iiiiiill------ IlIlIlIlL----- "
     "llllllll------ L-L-L-L-L----- -------------- -------------- -------------- -------------- --------------",
     "ol-- bb-- BB-- hh-- HH-- ii-- II-- ll-- LL-- ---- ---- ---- ---- ----",
     "ol-- bb-- BB-- hh-- HH-- ii-- II-- ll-- LL-- ---- ---- ---- ---- ----", "ol-- ll-- ---- ----"},
    {"left_shift",
     "bbBhHiIlL----- bbhhiill------ BhBhHiIlL----- hhhhiill------ HiHiHiIlL----- iiiiiill------ IlIlIlIlL----- "
     "llllllll------ L-L-L-L-L----- -------------- -------------- -------------- -------------- --------------",
     "bl-- bb-- BB-- hh-- HH-- ii-- II-- ll-- LL-- ---- ---- ---- ---- ----",
     "bl-- bb-- BB-- hh-- HH-- ii-- II-- ll-- LL-- ---- ---- ---- ---- ----", "bl-- ll-- ---- ----"},
    {"right_shift",
     "bbBhHiIlL----- bbhhiill------ BhBhHiIlL----- hhhhiill------ HiHiHiIlL----- iiiiiill------ IlIlIlIlL----- "
     "llllllll------ L-L-L-L-L----- -------------- -------------- -------------- -------------- --------------",
     "bl-- bb-- BB-- hh-- HH-- ii-- II-- ll-- LL-- ---- ---- ---- ---- ----",
     "bl-- bb-- BB-- hh-- HH-- ii-- II-- ll-- LL-- ---- ---- ---- ---- ----", "bl-- ll-- ---- ----"},
    {"logical_and",
     "oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo "
     "oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo",
     "oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo",
     "oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo", "oooo oooo oooo oooo"},
    {"logical_or",
     "oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo "
     "oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo",
     "oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo",
     "oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo", "oooo oooo oooo oooo"},
    {"logical_xor",
     "oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo "
     "oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo",
     "oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo",
     "oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo", "oooo oooo oooo oooo"},
    {"equal",
     "oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo "
     "oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo",
     "oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo",
     "oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo", "oooo oooo oooo oooo"},
    {"not_equal",
     "oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo "
     "oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo",
     "oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo",
     "oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo", "oooo oooo oooo oooo"},
    {"less",
     "oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo "
     "oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo",
     "oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo",
     "oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo", "oooo oooo oooo oooo"},
    {"less_equal",
     "oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo "
     "oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo",
     "oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo",
     "oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo", "oooo oooo oooo oooo"},
    {"greater",
     "oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo "
     "oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo",
     "oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo",
     "oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo", "oooo oooo oooo oooo"},
    {"greater_equal",
     "oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo "
     "oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo oooooooooooooo",
     "oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo",
     "oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo oooo", "oooo oooo oooo oooo"},
    {"where",
     "obBhHiIlLefdFD bbhhiilldefdFD BhBhHiIlLefdFD hhhhiilldffdFD HiHiHiIlLffdFD iiiiiillddddDD IlIlIlIlLdddDD "
     "llllllllddddDD LdLdLdLdLdddDD eeeffddddefdFD fffffddddffdFD ddddddddddddDD FFFFFDDDDFFDFD DDDDDDDDDDDDDD",
     "oldD bbdD BBdD hhdD HHdD iidD IIdD lldD LLdD eeeF fffF dddD FFFF DDDD",
     "oldD bbdD BBdD hhdD HHdD iidD IIdD lldD LLdD eeeF fffF dddD FFFF DDDD", "oldD lldD dddD DDDD"},
};

inline constexpr Reduced kReductions[] = {
    {"sum", "llLlLlLlLefdFD"},  {"prod", "llLlLlLlLefdFD"}, {"min", "obBhHiIlLefdFD"},    {"max", "obBhHiIlLefdFD"},
    {"any", "oooooooooooooo"},  {"all", "oooooooooooooo"},  {"argmin", "llllllllllllll"}, {"argmax", "llllllllllllll"},
    {"mean", "dddddddddefdFD"}, {"std", "dddddddddefdfd"},  {"var", "dddddddddefdfd"},
};

}  // namespace hotplate::expression::numpy2
