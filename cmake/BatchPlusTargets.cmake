include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(BATCHPLUS_INSTALL_INCLUDE ${CMAKE_INSTALL_INCLUDEDIR}/batchplus)
set(BATCHPLUS_WARNINGS -Wall -Wextra -Werror)

function(batchplus_compile_settings target)
  target_compile_options(${target} PRIVATE ${BATCHPLUS_WARNINGS})
  if(BATCHPLUS_SANITIZE)
    # GCC warns of uninitialised members in its own <regex> and <functional> when they are instrumented.
    target_compile_options(${target} PRIVATE -Wno-maybe-uninitialized)
    target_compile_options(${target} PUBLIC -fsanitize=${BATCHPLUS_SANITIZE} -fno-sanitize-recover=undefined
                                            -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=${BATCHPLUS_SANITIZE})
  endif()
  if(BATCHPLUS_FUZZ)
    target_compile_definitions(${target} PUBLIC _GLIBCXX_ASSERTIONS)
    target_compile_options(${target} PUBLIC -fsanitize=fuzzer-no-link,address,undefined
                                            -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=address,undefined)
  endif()
endfunction()

# batchplus_folder(NAME core SOURCES a.cpp b.cpp USES util [LIBRARIES fmt::fmt] [TORCH])
# One static library per folder of src/, installed with its headers as BatchPlus::core. With TORCH it sees libtorch
# through one shared precompiled header.
function(batchplus_folder)
  cmake_parse_arguments(ARG "TORCH" "NAME" "SOURCES;USES;LIBRARIES" ${ARGN})
  set(target batchplus_${ARG_NAME})
  add_library(${target} STATIC ${ARG_SOURCES})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>
                                              $<INSTALL_INTERFACE:${BATCHPLUS_INSTALL_INCLUDE}>)
  list(TRANSFORM ARG_USES PREPEND batchplus_)
  target_link_libraries(${target} PUBLIC ${ARG_USES} ${ARG_LIBRARIES})
  batchplus_compile_settings(${target})
  if(ARG_TORCH)
    # An installed library leaves it to the package's config to find libtorch where the other program is built.
    target_link_libraries(${target} PUBLIC $<BUILD_INTERFACE:batchplus_torch> $<INSTALL_INTERFACE:BatchPlus::torch>)
    batchplus_use_torch_header(${target} folders)
  endif()
  batchplus_install_folder(${ARG_NAME})
endfunction()

function(batchplus_install_folder name)
  set_target_properties(batchplus_${name} PROPERTIES EXPORT_NAME ${name})
  install(TARGETS batchplus_${name} EXPORT BatchPlusTargets COMPONENT development)
  install(DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} DESTINATION ${BATCHPLUS_INSTALL_INCLUDE} COMPONENT development
          FILES_MATCHING PATTERN "*.h")
endfunction()

# What find_package(BatchPlus) reads in another program. It looks for the libraries below with the same files as this
# build, so that there is one list of them.
function(batchplus_install_package)
  set(directory ${CMAKE_INSTALL_LIBDIR}/cmake/BatchPlus)
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/BatchPlusConfig.cmake.in
                                ${PROJECT_BINARY_DIR}/BatchPlusConfig.cmake INSTALL_DESTINATION ${directory})
  # Before 1.0 a minor version may change anything.
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/BatchPlusConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/BatchPlusConfig.cmake ${PROJECT_BINARY_DIR}/BatchPlusConfigVersion.cmake
                ${PROJECT_SOURCE_DIR}/cmake/Dependencies.cmake ${PROJECT_SOURCE_DIR}/cmake/Torch.cmake
          DESTINATION ${directory} COMPONENT development)
  install(EXPORT BatchPlusTargets NAMESPACE BatchPlus:: DESTINATION ${directory} COMPONENT development)
endfunction()

# torch's headers cost seconds a file: they are precompiled once, by the first target that asks. `options` names those with
# the same compile options, because a precompiled header is good for its own alone.
function(batchplus_use_torch_header target options)
  set(property BATCHPLUS_PCH_OWNER_${options})
  get_property(owner GLOBAL PROPERTY ${property})
  if(owner)
    target_precompile_headers(${target} REUSE_FROM ${owner})
  else()
    target_precompile_headers(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src/core/torch.h <fmt/format.h> <nlohmann/json.hpp>)
    set_property(GLOBAL PROPERTY ${property} ${target})
  endif()
endfunction()

# Headers that all files of one target include. Several files that are compiled at once read them once anyway.
function(batchplus_precompile target)
  if(NOT CMAKE_UNITY_BUILD)
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
endfunction()

# For files whose loops run through for_this_cpu (src/kernels/for_this_cpu.h): vectorised, and the same bits whatever the
# instruction set.
function(batchplus_kernel_source source)
  set(options -ffp-contract=off)
  if(NOT BATCHPLUS_SANITIZE) # with sanitizers -O3 takes GCC minutes a file
    list(APPEND options -O3)
  endif()
  set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${options}" SKIP_PRECOMPILE_HEADERS ON)
endfunction()
