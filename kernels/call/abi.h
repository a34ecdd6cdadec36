/* The plain data that the core passes to a kernel, the same for linked-in kernels and those of a plug-in. Plain C, so
 * that nvcc and other compilers agree on it. Pointers are borrowed for the duration of the call. */
#ifndef HOTPLATE_KERNELS_ABI_H_
#define HOTPLATE_KERNELS_ABI_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HOTPLATE_MAX_RANK 8

/* The numbers of hotplate.v1.Precision. */
enum hotplate_precision {
  HOTPLATE_PRECISION_DEFAULT = 0,
  HOTPLATE_PRECISION_TF32 = 1,
  HOTPLATE_PRECISION_BF16 = 2,
  HOTPLATE_PRECISION_F16 = 3
};

enum hotplate_param_type {
  HOTPLATE_PARAM_INT = 1,
  HOTPLATE_PARAM_FLOAT = 2,
  HOTPLATE_PARAM_BOOL = 3,  /* stored in `integer`: 0 or 1 */
  HOTPLATE_PARAM_CHOICE = 4 /* stored in `text` */
};

typedef struct hotplate_param {
  const char* name;
  int32_t type;
  int64_t integer;
  double real;
  const char* text;
} hotplate_param;

typedef struct hotplate_array {
  const char* name;
  int32_t dtype; /* hotplate::DType's numbers */
  int32_t rank;
  int64_t shape[HOTPLATE_MAX_RANK];
  void* data; /* in the memory of the kernel's device; 64-byte aligned; C order */
  uint64_t bytes;
  /* 0, or the identity of the array's bytes: unique in this process, and the bytes never change. A device with its own
   * memory may keep a copy under this identity until it is told to forget it. */
  uint64_t identity;
  /* Null, except for outputs of at most shape[0]: the kernel's host side stores the actual number here before it
   * returns, and only so many are the output. */
  int64_t* actual_size;
  /* Null, or the flag of an array that may lie on the device alone: 1 while its bytes are not at `data`. A device
   * stores 1 for an output that it leaves where it was made, before run_task returns; and 0 after it has written the
   * bytes to `data`, which it does when it is told to fetch them, and before it frees its memory for another array.
   * Both pointers are valid until the device has forgotten the identity. Accesses are atomic: release and acquire. */
  uint32_t* absent;
} hotplate_array;

typedef struct hotplate_call {
  const hotplate_param* params;
  const hotplate_array* inputs;
  const hotplate_array* outputs;
  int32_t param_count;
  int32_t input_count;
  int32_t output_count;
  int32_t precision;
  void* scratch; /* as large as planned; in the same memory as the arrays */
  uint64_t scratch_bytes;
  int32_t deterministic; /* 1: the same bits each time on this device; INVALID if a library cannot */
  int32_t reserved;      /* zero */
} hotplate_call;

/* Shared by the task's owner and the thread that runs it; every access is atomic and relaxed. */
typedef struct hotplate_control {
  uint32_t cancel;   /* the owner sets it to 1 */
  uint32_t progress; /* the kernel sets it: 0 to 1 000 000 */
} hotplate_control;

enum hotplate_outcome_code {
  HOTPLATE_OK = 0,
  HOTPLATE_CANCELLED = 1,     /* saw control->cancel */
  HOTPLATE_INVALID = 2,       /* the data are not acceptable (a matrix that is not positive definite) */
  HOTPLATE_OUT_OF_MEMORY = 3, /* of the device */
  HOTPLATE_FAILED = 4,        /* an error of the kernel or of a library; the device still works */
  HOTPLATE_DEVICE_LOST = 5    /* the device takes no more work */
};

typedef struct hotplate_outcome {
  int32_t code;
  char message[252]; /* always terminated; when OK empty, or a warning: "divide by zero encountered in remainder" */
} hotplate_outcome;

#ifdef __cplusplus
}
#endif

#endif
