// Stands before the fake driver in the kit's own test: another process takes memory of the device while the file that
// FULL_DEVICE names is there and says how much. Everything else is the fake driver's, which this library is linked with.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define OUT_OF_MEMORY 2

typedef int InfoFunction(size_t*, size_t*);
typedef int AllocateFunction(unsigned long long*, size_t, void*, void*);

static void* Next(const char* name) {
  void* const driver = dlopen(getenv("FULL_DEVICE_DRIVER"), RTLD_NOW | RTLD_NOLOAD);
  return dlsym(driver, name);
}

static size_t Taken(void) {
  FILE* const file = fopen(getenv("FULL_DEVICE"), "r");
  if (file == NULL) return 0;
  unsigned long long bytes = 0;
  if (fscanf(file, "%llu", &bytes) != 1) bytes = 0;
  fclose(file);
  return (size_t)bytes;
}

int cuMemGetInfo_v2(size_t* free_bytes, size_t* total) {
  const int answer = ((InfoFunction*)Next("cuMemGetInfo_v2"))(free_bytes, total);
  const size_t taken = Taken();
  if (answer == 0) *free_bytes = taken < *free_bytes ? *free_bytes - taken : 0;
  return answer;
}

// A simplification that is enough here: what the pool keeps is not looked at, as if it were empty.
int cuMemAllocFromPoolAsync(unsigned long long* memory, size_t bytes, void* pool, void* stream) {
  size_t free_bytes = 0, total = 0;
  if (Taken() > 0 && (cuMemGetInfo_v2(&free_bytes, &total) != 0 || bytes > free_bytes)) return OUT_OF_MEMORY;
  return ((AllocateFunction*)Next("cuMemAllocFromPoolAsync"))(memory, bytes, pool, stream);
}
