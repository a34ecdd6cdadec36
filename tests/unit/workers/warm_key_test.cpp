// Which scripts share a warm Python, and which have none.
#include <gtest/gtest.h>

#include "server/workers/warm_pythons.h"

namespace hotplate::server {
namespace {

Program Script(std::vector<std::string> words, std::vector<std::string> environment = {}) {
  words.insert(words.begin(), "python3");
  return {.file = "/usr/bin/python3",
          .arguments = std::move(words),
          .environment = std::move(environment),
          .folder = "/home/me"};
}

TEST(WarmKeyTest, WhatNeedsAPythonThatStartsAnew) {
  const struct {
    std::vector<std::string> words, environment;
    const char* why;
  } rows[] = {
      {{"train.py"}, {}, ""},
      {{"train.py", "-O", "-m"}, {}, ""},
      {{"-m", "json.tool"}, {}, ""},
      {{"-c", "print(1)", "-x"}, {}, ""},
      {{"-c", ""}, {}, ""},
      {{}, {}, "no script"},
      {{"-m"}, {}, "option -m without a value"},
      {{"-c"}, {}, "option -c without a value"},
      {{"-O", "train.py"}, {}, "option -O"},
      {{"-mjson.tool"}, {}, "option -mjson.tool"},
      {{"-"}, {}, "option -"},
      {{""}, {}, "option "},
      {{"--version"}, {}, "option --version"},
      {{"train.py"}, {"PYTHONINSPECT=1"}, "PYTHONINSPECT is set"},
      {{"train.py"}, {"PYTHONINSPECT="}, ""},
      {{"train.py"}, {"PYTHONVERBOSE=1"}, "PYTHONVERBOSE is set"},
      {{"train.py"}, {"PYTHONPROFILEIMPORTTIME=1"}, "PYTHONPROFILEIMPORTTIME is set"},
      {{"train.py"}, {"PYTHONDEBUG=1"}, "PYTHONDEBUG is set"},
      {{"train.py"}, {"PYTHONDUMPREFS=1"}, "PYTHONDUMPREFS is set"},
      {{"train.py"}, {"PYTHONPATH=/a:/b"}, ""},
      {{"train.py"}, {"PYTHONPATH="}, ""},
      {{"train.py"}, {"PYTHONPATH=lib"}, "PYTHONPATH has a relative folder"},
      {{"train.py"}, {"PYTHONPATH=/a:lib"}, "PYTHONPATH has a relative folder"},
      {{"train.py"}, {"PYTHONPATH=/a:"}, "PYTHONPATH has a relative folder"},
      {{"train.py"}, {"PYTHONPATH=:/a"}, "PYTHONPATH has a relative folder"},
      {{"-O", "train.py"}, {"PYTHONINSPECT=1"}, "option -O"},
  };
  for (const auto& row : rows) EXPECT_EQ(WarmKeyOf(Script(row.words, row.environment)).why_not, row.why);
}

TEST(WarmKeyTest, VariablesThatMakeItAnother) {
  const std::string plain = WarmKeyOf(Script({"train.py"})).text;
  for (const char* const variable : {"PYTHONHASHSEED=0",
                                     "PYTHONPATH=/a",
                                     "PYTHONUNBUFFERED=1",
                                     "OMP_PROC_BIND=true",
                                     "OPENBLAS_CORETYPE=Haswell",
                                     "BLIS_NUM_THREADS=1",
                                     "MKL_DEBUG_CPU_TYPE=5",
                                     "NUMBA_DISABLE_JIT=1",
                                     "JAX_ENABLE_X64=1",
                                     "XLA_FLAGS=x",
                                     "MPLBACKEND=Agg",
                                     "LD_LIBRARY_PATH=/x",
                                     "LD_PRELOAD=/x",
                                     "LC_ALL=C",
                                     "LANG=C",
                                     "HOME=/home/me",
                                     "CUDA_PATH=/usr/local/cuda",
                                     "CUPY_CACHE_DIR=/x",
                                     "TF_CPP_MIN_LOG_LEVEL=1",
                                     "MALLOC_ARENA_MAX=1"}) {
    EXPECT_NE(WarmKeyOf(Script({"train.py"}, {variable})).text, plain) << variable;
  }
}

TEST(WarmKeyTest, WhatDoesNotMatter) {
  const std::string plain = WarmKeyOf(Script({"train.py"}, {"HOME=/home/me", "LANG=C"})).text;
  Program other = Script({"-m", "other", "-x"},
                         {"LANG=C", "OMP_NUM_THREADS=3", "OPENBLAS_NUM_THREADS=3", "MKL_NUM_THREADS=3", "USER=me",
                          "NUMBA_NUM_THREADS=3", "CUDA_VISIBLE_DEVICES=GPU-1", "MINE=1", "HOME=/home/me", "PWD=/x"});
  other.folder = "/somewhere";
  other.memory_bytes = 5;
  EXPECT_EQ(WarmKeyOf(other).text, plain);  // nor the order of variables
  other.file = "/opt/python3";
  EXPECT_NE(WarmKeyOf(other).text, plain);
}

TEST(WarmKeyTest, ValuesAreNotTakenForOthers) {
  EXPECT_NE(WarmKeyOf(Script({"x"}, {"LC_ALL=a", "LC_TIME=b"})).text,
            WarmKeyOf(Script({"x"}, {"LC_ALL=aLC_TIME=b"})).text);
  EXPECT_NE(WarmKeyOf(Script({"x"}, {"LANG="})).text, WarmKeyOf(Script({"x"})).text);
}

}  // namespace
}  // namespace hotplate::server
