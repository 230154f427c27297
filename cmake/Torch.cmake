find_package(Torch REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
# Its headers are behind those of libtorch's c10d, which is built with it.
find_package(Gloo REQUIRED)

# Everything below sees torch's headers as system headers, so that -Werror speaks of this project alone.
add_library(batchplus_torch INTERFACE)
# at::parallel_for is a template: in a file compiled without OpenMP it runs on one thread.
target_link_libraries(batchplus_torch INTERFACE ${TORCH_LIBRARIES} OpenMP::OpenMP_CXX)
# libtorch was built with NDEBUG, and some of its classes are laid out differently without it.
target_compile_definitions(batchplus_torch INTERFACE NDEBUG)
target_include_directories(batchplus_torch SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})

# libtorch threads with OpenMP. An OpenBLAS with a thread pool of its own fights that pool for the same cores
# (a batch-128 mlp step took 3 to 4 times as long on two cores), so programs look for the OpenMP one first.
find_path(BATCHPLUS_OPENBLAS_OPENMP libopenblas.so.0
          PATHS /usr/lib/${CMAKE_CXX_LIBRARY_ARCHITECTURE}/openblas-openmp NO_DEFAULT_PATH)
if(BATCHPLUS_OPENBLAS_OPENMP)
  target_link_options(batchplus_torch INTERFACE
                      "LINKER:--disable-new-dtags,-rpath,${BATCHPLUS_OPENBLAS_OPENMP}")
endif()
