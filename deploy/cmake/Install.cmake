# cmake --install: the programs, the CUDA plug-in beside the daemon that opens it, the catalogue file, and the files
# with which find_package(Hotplate) builds a client. tests/install builds one.
include(CMakePackageConfigHelpers)

# A root of its own: nothing called kernels/ or google/ lands among the system's headers.
set(include_root ${CMAKE_INSTALL_INCLUDEDIR}/hotplate)
set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Hotplate)
set(HOTPLATE_INSTALL_DATADIR ${CMAKE_INSTALL_DATADIR}/hotplate)

# client/cli installs hotplate itself.
install(TARGETS hotplated hotplate-keeper RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(TARGET hotplate_cuda_plugin)
  install(TARGETS hotplate_cuda_plugin LIBRARY DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
# Started by the daemon, from beside it.
install(TARGETS hotplate-nvrtc RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(TARGET hotplate_cuda12_plugin)
  install(PROGRAMS ${HOTPLATE_CUDA_PLUGIN_FOLDER}/libhotplate_cuda12.so DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(FILES ${CMAKE_BINARY_DIR}/share/hotplate/catalogue.pb ${CMAKE_BINARY_DIR}/share/hotplate/catalogue.json
  DESTINATION ${HOTPLATE_INSTALL_DATADIR})
# What warm Pythons run.
install(FILES server/workers/python/hotplate_worker.py server/workers/python/hotplate_calls.py
  DESTINATION ${HOTPLATE_INSTALL_DATADIR})
# For reading, and as examples. The command has its profiles built in.
install(DIRECTORY deploy/sites DESTINATION ${HOTPLATE_INSTALL_DATADIR} FILES_MATCHING PATTERN "*.toml")
# Ready for `sbatch`; and a module file for the site's administrators to adapt.
install(FILES deploy/slurm/hotplated.sbatch deploy/slurm/hotplated-multinode.sbatch
  DESTINATION ${HOTPLATE_INSTALL_DATADIR}/slurm)
install(FILES deploy/modulefiles/hotplate DESTINATION ${HOTPLATE_INSTALL_DATADIR}/modulefiles)
# The pages in the folders of the source tree, so that their links lead somewhere; deploy/bundle.sh does the same.
set(docs ${CMAKE_INSTALL_DATADIR}/doc/hotplate)
install(FILES README.md CHANGELOG.md CONTRIBUTING.md LICENSE CITATION.cff DESTINATION ${docs})
install(DIRECTORY client/docs DESTINATION ${docs}/client)
install(DIRECTORY deploy/docs DESTINATION ${docs}/deploy)
install(DIRECTORY client/python/docs client/python/examples DESTINATION ${docs}/client/python
  PATTERN __pycache__ EXCLUDE)

# Their headers need it; INTERFACE passes it on to everything that links one of them.
target_compile_features(hotplate_array INTERFACE cxx_std_20)
install(TARGETS hotplate_array hotplate_proto hotplate_codec hotplate_client EXPORT HotplateTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} INCLUDES DESTINATION ${include_root})
install(DIRECTORY kernels/array DESTINATION ${include_root}/kernels FILES_MATCHING PATTERN "*.h")
install(FILES client/lib/client.h client/lib/job_handle.h DESTINATION ${include_root}/client/lib)
install(FILES client/lib/include/hotplate/client.h DESTINATION ${include_root}/hotplate)
install(DIRECTORY ${CMAKE_BINARY_DIR}/proto/ DESTINATION ${include_root}
  FILES_MATCHING PATTERN "*.pb.h" PATTERN CMakeFiles EXCLUDE)
# For other languages and for grpcurl.
install(DIRECTORY proto/hotplate proto/google DESTINATION ${HOTPLATE_INSTALL_DATADIR}/proto
  FILES_MATCHING PATTERN "*.proto")

install(EXPORT HotplateTargets NAMESPACE Hotplate:: DESTINATION ${config_folder})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/HotplateConfig.cmake.in
  ${CMAKE_BINARY_DIR}/HotplateConfig.cmake INSTALL_DESTINATION ${config_folder} PATH_VARS HOTPLATE_INSTALL_DATADIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/HotplateConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/HotplateConfig.cmake ${CMAKE_BINARY_DIR}/HotplateConfigVersion.cmake
  DESTINATION ${config_folder})
