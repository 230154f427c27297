#pragma once

#include <filesystem>
#include <string>

#include "util/file.h"

namespace batchplus::testing {

/// CIFAR-10 in the official layout with `records` records a file: label i % 10, pixels (i + position) % 251.
inline std::string cifar_records(int64_t records, int64_t first = 0) {
  std::string bytes;
  for (int64_t i = first; i < first + records; ++i) {
    bytes.push_back(static_cast<char>(i % 10));
    for (int64_t p = 0; p < 3072; ++p) bytes.push_back(static_cast<char>((i + p) % 251));
  }
  return bytes;
}

inline void write_cifar10(const std::filesystem::path& folder, int64_t records) {
  make_directories(folder);
  int64_t first = 0;
  for (const std::string name : {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                                 "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin"}) {
    write_file_atomically(folder / name, cifar_records(records, first));
    first += records;
  }
}

/// CIFAR-100's two files, with fine label i % 100 and coarse label i % 20.
inline std::string cifar100_records(int64_t records) {
  std::string bytes;
  for (int64_t i = 0; i < records; ++i) {
    bytes.push_back(static_cast<char>(i % 20));
    bytes.push_back(static_cast<char>(i % 100));
    for (int64_t p = 0; p < 3072; ++p) bytes.push_back(static_cast<char>((i + p) % 251));
  }
  return bytes;
}

inline std::string big_endian(uint32_t number) {
  std::string bytes;
  for (const int shift : {24, 16, 8, 0}) bytes.push_back(static_cast<char>(number >> shift & 0xff));
  return bytes;
}

}  // namespace batchplus::testing
