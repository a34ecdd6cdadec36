// Marks functions compiled for the host and for the device, so that one functor serves both back-ends.
#pragma once

#ifdef __CUDACC__
#define HOTPLATE_HOST_DEVICE __host__ __device__
#else
#define HOTPLATE_HOST_DEVICE
#endif
