# One function per thing that is said more than once.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE})
endif()

# Hardening against memory errors. Every program and library of ours, including plug-ins and the Python module, is
# loaded at a random address (PIE, the static one too), has no address table that stays writable, and detects overruns
# of buffers of known size on the stack and in libc calls. The latter needs optimised code. Instrumented builds have
# checks of their own, and with the stack protector beside AddressSanitizer GCC 12 misplaces variables of 64-byte
# alignment. tests/hardening checks the built files.
if(NOT HOTPLATE_SANITIZER)
  add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:-fstack-protector-strong>"
                      "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-fstack-protector-strong>")
  set(optimised "$<CONFIG:Release,RelWithDebInfo,MinSizeRel>")
  add_compile_options("$<$<AND:$<COMPILE_LANGUAGE:C,CXX>,${optimised}>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>"
    "$<$<AND:$<COMPILE_LANGUAGE:CUDA>,${optimised}>:-Xcompiler=-U_FORTIFY_SOURCE,-D_FORTIFY_SOURCE=2>")
endif()
add_link_options(LINKER:-z,relro LINKER:-z,now LINKER:-z,noexecstack)
# A target with the property HOTPLATE_STATIC_PIE is linked with -static-pie, which excludes -pie and -static-libstdc++.
set(no_static_pie "$<NOT:$<BOOL:$<TARGET_PROPERTY:HOTPLATE_STATIC_PIE>>>")
add_link_options("$<$<AND:$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>,${no_static_pie}>:-pie>"
                 "$<$<NOT:${no_static_pie}>:-static-pie>")
# Programs look for OpenBLAS only in the folder where it was found, unless that is a system folder. A path that changes
# at installation would get an empty entry at its end, which stands for the current folder.
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)

# Compiler settings of all our targets. One binary runs on every node of a site: the baseline is x86-64-v2, and hot
# loops are dispatched at run time (kernels/devices/cpu/multiversion.h).
add_library(hotplate_settings INTERFACE)
target_include_directories(hotplate_settings INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
target_compile_options(hotplate_settings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wshadow -Wnon-virtual-dtor -Werror>)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  target_compile_options(hotplate_settings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-march=x86-64-v2>)
endif()
if(CMAKE_UNITY_BUILD)
  # Given for every class whose Impl holds a type that is private to its own file.
  target_compile_options(hotplate_settings INTERFACE -Wno-subobject-linkage)
endif()
# GCC collects its garbage from 128 MiB on: a tenth of its time, for files that need ten times as much.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:--param ggc-min-heapsize=524288>")
endif()
if(HOTPLATE_SANITIZER)
  add_compile_options(-fsanitize=${HOTPLATE_SANITIZER} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${HOTPLATE_SANITIZER})
  if(HOTPLATE_SANITIZER MATCHES undefined)
    # Asked at every access, and a third of the build's time. AddressSanitizer ends a program that goes through null;
    # alignment is asked about where the elements of arrays are read and written (HOTPLATE_ELEMENT_OPTIONS).
    add_compile_options(-fno-sanitize=null,alignment)
  endif()
  if(HOTPLATE_SANITIZER MATCHES thread)
    # protobuf's and absl's headers lay some classes out differently when they see this (map fields: two counters
    # more), and Debian's libraries were built without it. libstdc++ asks by a name of its own, and needs to know:
    # its shared_ptr ends otherwise in a way that only looks like a race.
    add_compile_options(-U__SANITIZE_THREAD__ -D_GLIBCXX_TSAN=1)
  endif()
  target_compile_definitions(hotplate_settings INTERFACE HOTPLATE_SANITIZED)
  # GCC warns falsely of these in instrumented code, as its manual says.
  target_compile_options(hotplate_settings INTERFACE -Wno-maybe-uninitialized -Wno-restrict)
endif()

# For arithmetic: instrumented and not optimised it would take longer than all else. What else an instrumented
# build holds takes longer to optimise than to run.
set(HOTPLATE_ARITHMETIC_OPTIONS "")
if(HOTPLATE_SANITIZER)
  set(HOTPLATE_ARITHMETIC_OPTIONS -O1)
endif()
# For arithmetic of ours on arrays' elements.
set(HOTPLATE_ELEMENT_OPTIONS ${HOTPLATE_ARITHMETIC_OPTIONS})
if(HOTPLATE_SANITIZER MATCHES undefined)
  list(APPEND HOTPLATE_ELEMENT_OPTIONS -fsanitize=alignment)
endif()

# SELDOM targets hold code that runs seldom. A release build compiles it with -O1, which takes GCC a fifth less time than
# CMake's -O3.
# (_FORTIFY_SOURCE needs at least that.)
set(HOTPLATE_SELDOM_OPTIONS "$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release>>:-O1>")

# hotplate_library(NAME [SELDOM] SOURCES … [LINK …]): a static library hotplate_NAME with the alias hotplate::NAME. It may
# include only what it links: the layers of client/docs/how-it-works.md.
function(hotplate_library name)
  cmake_parse_arguments(arg "SELDOM" "" "SOURCES;LINK" ${ARGN})
  add_library(hotplate_${name} STATIC ${arg_SOURCES})
  add_library(hotplate::${name} ALIAS hotplate_${name})
  # Twice the presets' batches: each batch of the command spends 5 s on headers.
  set_target_properties(hotplate_${name} PROPERTIES EXPORT_NAME ${name} UNITY_BUILD_BATCH_SIZE 32)
  target_link_libraries(hotplate_${name} PUBLIC ${arg_LINK} PRIVATE $<BUILD_INTERFACE:hotplate_settings>)
  target_include_directories(hotplate_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
  if(arg_SELDOM)
    target_compile_options(hotplate_${name} PRIVATE ${HOTPLATE_SELDOM_OPTIONS})
  endif()
endfunction()

# hotplate_program(NAME [SELDOM] SOURCES … [LINK …])
function(hotplate_program name)
  cmake_parse_arguments(arg "SELDOM" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINK} hotplate_settings)
  if(arg_SELDOM)
    target_compile_options(${name} PRIVATE ${HOTPLATE_SELDOM_OPTIONS})
  endif()
endfunction()
