"""A library that fails some allocations of a daemon: which, its control file says, also while the daemon runs."""

import pathlib
import shutil
import subprocess

import numpy as np

# Allocations of any size, of parts of messages, and of whole arrays.
CLASSES = (0, 64 << 10, 1 << 20)  # bytes and more

SOURCE = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t), *__libc_memalign(size_t, size_t);

// As FailingMalloc has them.
enum { kToFail, kToPass, kFrom, kFailed, kCounts };
static const size_t kClasses[] = {CLASSES};
static long *control;

// Programs that the daemon starts allocate as they like.
__attribute__((constructor)) static void Open(void) {
  const char *const path = getenv("FAILING_MALLOC");
  if (path == NULL || strcmp(program_invocation_short_name, "hotplated") != 0) return;
  const int file = open(path, O_RDWR | O_CLOEXEC);
  void *const mapping = (void *)syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (file < 0 || mapping == MAP_FAILED) abort();
  close(file);
  control = mapping;
}

static int Fails(size_t size) {
  if (control == NULL) return 0;
  for (int i = 0; i < 3; ++i) {
    if (size >= kClasses[i]) __atomic_fetch_add(&control[kCounts + i], 1, __ATOMIC_RELAXED);
  }
  if (__atomic_load_n(&control[kToFail], __ATOMIC_ACQUIRE) <= 0 || size < (size_t)control[kFrom]) return 0;
  if (__atomic_fetch_sub(&control[kToPass], 1, __ATOMIC_RELAXED) > 0) return 0;
  if (__atomic_fetch_sub(&control[kToFail], 1, __ATOMIC_RELAXED) <= 0) return 0;
  __atomic_fetch_add(&control[kFailed], 1, __ATOMIC_RELAXED);
  errno = ENOMEM;
  return 1;
}

void *malloc(size_t size) { return Fails(size) ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return Fails(count * size) ? NULL : __libc_calloc(count, size); }
void *realloc(void *old, size_t size) { return size > 0 && Fails(size) ? NULL : __libc_realloc(old, size); }
void *memalign(size_t alignment, size_t size) { return Fails(size) ? NULL : __libc_memalign(alignment, size); }
void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void **memory, size_t alignment, size_t size) {
  void *const made = memalign(alignment, size);
  if (made == NULL) return ENOMEM;
  *memory = made;
  return 0;
}

// Large arrays are mappings of their own. Thread stacks and the heap itself do not come by here.
void *mmap(void *at, size_t size, int protection, int flags, int file, off_t offset) {
  if ((flags & MAP_ANONYMOUS) != 0 && Fails(size)) return MAP_FAILED;
  return (void *)syscall(SYS_mmap, at, size, protection, flags, file, offset);
}
void *mmap64(void *at, size_t size, int protection, int flags, int file, off_t offset) {
  return mmap(at, size, protection, flags, file, offset);
}
"""


class FailingMalloc:
    def __init__(self, folder):
        compiler = shutil.which("cc")
        if compiler is None:
            raise AssertionError("there is no C compiler (cc) for the library whose malloc fails")
        self.library = pathlib.Path(folder) / "failing_malloc.so"
        source = self.library.with_suffix(".c")
        source.write_text(SOURCE.replace("{CLASSES}", "{" + ", ".join(map(str, CLASSES)) + "}"))
        subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-fno-builtin", "-o", self.library, source], check=True)
        self.file = self.library.with_suffix(".control")
        self.file.write_bytes(bytes(4096))
        self.control = np.memmap(self.file, np.int64, "r+")

    def environment(self):
        """For a daemon."""
        return {"LD_PRELOAD": str(self.library), "FAILING_MALLOC": str(self.file)}

    def arm(self, after, count, size):
        """From now on `after` allocations of at least `size` bytes pass, and then `count` of them fail."""
        self.control[0] = 0
        self.control[1:4] = after, size, 0
        self.control[0] = count

    def disarm(self):
        """How many failed."""
        self.control[0] = 0
        return int(self.control[3])

    @property
    def armed(self):
        return self.control[0] > 0

    def counts(self):
        """Allocations so far, of each of CLASSES and larger."""
        return [int(count) for count in self.control[4:4 + len(CLASSES)]]
