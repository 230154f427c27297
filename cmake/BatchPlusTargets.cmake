set(BATCHPLUS_WARNINGS -Wall -Wextra -Werror)

function(batchplus_compile_settings target)
  target_compile_options(${target} PRIVATE ${BATCHPLUS_WARNINGS})
  if(BATCHPLUS_SANITIZE)
    # GCC warns of uninitialised members in its own <regex> and <functional> when they are instrumented.
    target_compile_options(${target} PRIVATE -Wno-maybe-uninitialized)
    target_compile_options(${target} PUBLIC -fsanitize=address,undefined -fno-sanitize-recover=undefined
                                            -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=address,undefined)
  endif()
  if(BATCHPLUS_FUZZ)
    target_compile_definitions(${target} PUBLIC _GLIBCXX_ASSERTIONS)
    target_compile_options(${target} PUBLIC -fsanitize=fuzzer-no-link,address,undefined
                                            -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=address,undefined)
  endif()
endfunction()

# batchplus_folder(NAME core SOURCES a.cpp b.cpp USES util [LIBRARIES fmt::fmt] [TORCH])
# One static library per folder of src/. With TORCH it sees libtorch through one shared precompiled header.
function(batchplus_folder)
  cmake_parse_arguments(ARG "TORCH" "NAME" "SOURCES;USES;LIBRARIES" ${ARGN})
  set(target batchplus_${ARG_NAME})
  add_library(${target} STATIC ${ARG_SOURCES})
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  list(TRANSFORM ARG_USES PREPEND batchplus_)
  target_link_libraries(${target} PUBLIC ${ARG_USES} ${ARG_LIBRARIES})
  batchplus_compile_settings(${target})
  if(ARG_TORCH)
    target_link_libraries(${target} PUBLIC batchplus_torch)
    batchplus_use_torch_header(${target})
  endif()
endfunction()

# torch's headers cost seconds a file: they are precompiled once, by the first target that asks.
function(batchplus_use_torch_header target)
  get_property(owner GLOBAL PROPERTY BATCHPLUS_PCH_OWNER)
  if(owner)
    target_precompile_headers(${target} REUSE_FROM ${owner})
  else()
    target_precompile_headers(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src/core/torch.h)
    set_property(GLOBAL PROPERTY BATCHPLUS_PCH_OWNER ${target})
  endif()
endfunction()

# For files whose loops run through for_this_cpu (src/core/cpu_dispatch.h): vectorised, and the same bits whatever the
# instruction set.
function(batchplus_kernel_source source)
  set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "-O3;-ffp-contract=off" SKIP_PRECOMPILE_HEADERS ON)
endfunction()
