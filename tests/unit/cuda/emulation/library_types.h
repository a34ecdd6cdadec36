// In the place of NVIDIA's: what cuFFT's and cuSOLVER's headers share.
#pragma once

// NOLINTNEXTLINE(readability-identifier-naming): NVIDIA's name.
enum libraryPropertyType { MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL };
