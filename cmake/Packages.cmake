# Debian packages of the program and of its libraries: script/package.
set(BATCHPLUS_MAINTAINER "BatchPlus <batchplus@example.org>")
if(DEFINED ENV{DEBFULLNAME} AND DEFINED ENV{DEBEMAIL})
  set(BATCHPLUS_MAINTAINER "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
endif()

# Every package says whose it is and what version. What has changed is in CHANGELOG.md of the source.
execute_process(COMMAND ${GIT_EXECUTABLE} log -1 --format=%cD WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
                OUTPUT_VARIABLE BATCHPLUS_DATE OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT BATCHPLUS_DATE)
  string(TIMESTAMP BATCHPLUS_DATE "%a, %d %b %Y %H:%M:%S +0000" UTC)
endif()
set(debian ${PROJECT_BINARY_DIR}/debian)
configure_file(${PROJECT_SOURCE_DIR}/cmake/debian/changelog.in ${debian}/changelog @ONLY)
execute_process(COMMAND gzip -9 -n -c ${debian}/changelog OUTPUT_FILE ${debian}/changelog.gz)
foreach(package "program;batchplus" "development;libbatchplus-dev")
  list(GET package 0 component)
  list(GET package 1 name)
  install(FILES ${debian}/changelog.gz ${PROJECT_SOURCE_DIR}/cmake/debian/copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${name}
          COMPONENT ${component})
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name})
endforeach()

install(FILES ${PROJECT_SOURCE_DIR}/cmake/debian/batchplus.lintian-overrides DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides
        RENAME batchplus COMPONENT program)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME batchplus)
set(CPACK_PACKAGE_CONTACT "${BATCHPLUS_MAINTAINER}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "laboratory for SVRG-family optimisers of deep networks")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_COMPONENTS_ALL program development)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "gnuplot-nox, fonts-dejavu-core, libopenblas0-openmp")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "dataset-fashion-mnist, npm, python3-batchplus")
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "Trains networks with variance-reduced optimisers and their variants with a
signed control variate, measures how well the results generalise, and compares
methods at equal gradient evaluations or at equal training loss.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
# What find_package(BatchPlus) looks for (Dependencies.cmake, Torch.cmake).
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libtorch-dev, libgloo-dev, libcli11-dev, libtomlplusplus-dev, nlohmann-json3-dev, libfmt-dev, libssl-dev, libcurl4-openssl-dev, zlib1g-dev, libpng-dev, libboost-dev, libprotobuf-dev, protobuf-compiler, libarchive-dev, libmatio-dev, libcairo2-dev, libhwy-dev, libxsmm-dev, libblas-dev, pkg-config")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "Static libraries, headers and CMake files of BatchPlus: its methods, networks,
datasets and metrics for programs of one's own, by find_package(BatchPlus).")
include(CPack)
