# Third-party libraries, all from Debian's packages (deploy/install-deps.sh) but the CUDA Toolkit.

find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(absl REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(Protobuf REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(PNG REQUIRED)
find_package(ZLIB REQUIRED)
if(HOTPLATE_STATIC)
  find_library(HOTPLATE_SQLITE libsqlite3.a REQUIRED)
  mark_as_advanced(HOTPLATE_SQLITE)
  set(SQLite3_LIBRARY ${HOTPLATE_SQLITE} CACHE FILEPATH "taken for the next one's own" FORCE)
endif()
find_package(SQLite3 REQUIRED)  # asked for by the next, which does not look for it
find_package(SQLiteCpp REQUIRED)
pkg_check_modules(OPENBLAS REQUIRED IMPORTED_TARGET openblas)
find_file(HOTPLATE_VQSORT_HEADER hwy/contrib/sort/vqsort-inl.h REQUIRED)  # Highway; only its headers are used
mark_as_advanced(HOTPLATE_VQSORT_HEADER)

# hotplate_pkg_config(VARIABLE OPTION…): what pkg-config says of gRPC and Protocol Buffers, as a list. Asked once a build
# folder, and only what is used: an answer takes a second, and pkg_check_modules asks for fifteen.
function(hotplate_pkg_config variable)
  if(NOT DEFINED ${variable})
    execute_process(COMMAND ${PKG_CONFIG_EXECUTABLE} ${ARGN} grpc++ protobuf OUTPUT_VARIABLE said
      OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    separate_arguments(said UNIX_COMMAND "${said}")
    set(${variable} "${said}" CACHE INTERNAL "pkg-config ${ARGN} grpc++ protobuf")
  endif()
endfunction()

find_program(PROTOC protoc REQUIRED)
find_program(GRPC_CPP_PLUGIN grpc_cpp_plugin REQUIRED)

# hotplate_grpc: gRPC with Protocol Buffers and the libcrypto that it brings, static (a program then starts in a fifth
# of the time and is one file) or shared (links faster: for development and sanitizers).
add_library(hotplate_grpc INTERFACE)
hotplate_pkg_config(HOTPLATE_GRPC_SHARED --libs)
set(shared ${HOTPLATE_GRPC_SHARED} OpenSSL::Crypto)
if(HOTPLATE_STATIC)
  # Debian 13's grpc++.pc does not list re2's own dependencies.
  pkg_check_modules(RE2 REQUIRED re2)
  hotplate_pkg_config(HOTPLATE_GRPC_ARCHIVES --static --libs-only-l)
  set(archives ${HOTPLATE_GRPC_ARCHIVES})
  list(TRANSFORM archives REPLACE "^-l" "")
  list(REMOVE_ITEM RE2_STATIC_LIBRARIES ${archives})
  list(APPEND archives ${RE2_STATIC_LIBRARIES})
  list(REMOVE_ITEM archives dl pthread rt atomic m)
  list(TRANSFORM archives PREPEND "-l")
  list(JOIN archives " " archives)
  set(archives "-Wl,-Bstatic -Wl,--start-group ${archives} -Wl,--end-group -Wl,-Bdynamic")
  string(REPLACE "," "$<COMMA>" archives "${archives}")
  string(REPLACE "," "$<COMMA>" shared "${shared}")
  # The Python module gets the shared libraries: some objects in the archives are compiled for programs only.
  set(module "$<STREQUAL:$<TARGET_PROPERTY:TYPE>,MODULE_LIBRARY>")
  target_link_libraries(hotplate_grpc INTERFACE "$<IF:${module},${shared},${archives}>" Threads::Threads dl rt)
  target_link_options(hotplate_grpc INTERFACE
    "$<$<AND:${no_static_pie},$<NOT:${module}>>:-static-libstdc++>" "$<$<NOT:${module}>:-static-libgcc>")
  # absl's own targets name its shared libraries. A program that has gRPC's archives must not have absl a second time.
  get_property(imported DIRECTORY PROPERTY IMPORTED_TARGETS)
  list(FILTER imported INCLUDE REGEX "^absl::")
  foreach(target IN LISTS imported)
    get_target_property(location ${target} IMPORTED_LOCATION_NONE)
    if(location)
      string(REGEX REPLACE "\\.so\\..*$" ".a" archive "${location}")
      if(NOT EXISTS "${archive}")
        message(FATAL_ERROR "no ${archive} beside ${location}")
      endif()
      set_target_properties(${target} PROPERTIES IMPORTED_LOCATION_NONE "${archive}")
    endif()
  endforeach()
else()
  target_link_libraries(hotplate_grpc INTERFACE ${shared} Threads::Threads)
endif()

# hotplate_spdlog: header-only, since Debian has no static spdlog or fmt.
add_library(hotplate_spdlog INTERFACE)
target_link_libraries(hotplate_spdlog INTERFACE fmt::fmt-header-only Threads::Threads)
target_compile_definitions(hotplate_spdlog INTERFACE SPDLOG_FMT_EXTERNAL)
