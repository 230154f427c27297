#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "support/random_bytes.h"
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

/// n digits as SVHN has them, in a MATLAB 5 file without compression: labels 1 to 10 in turn, random
/// pixels.
inline std::string svhn_mat(uint32_t n) {
  const auto number = [](uint32_t value) { return std::string(reinterpret_cast<const char*>(&value), 4); };
  // A tag of type and size, then the bytes, filled up to multiples of eight.
  const auto element = [&](uint32_t type, std::string bytes) {
    const auto size = static_cast<uint32_t>(bytes.size());
    bytes.resize((bytes.size() + 7) / 8 * 8, '\0');
    return number(type) + number(size) + bytes;
  };
  constexpr uint32_t kInt8 = 1, kUint8 = 2, kInt32 = 5, kUint32 = 6, kMatrix = 14, kClassUint8 = 9;
  const auto variable = [&](const std::string& name, const std::vector<uint32_t>& extents,
                            std::string bytes) {
    std::string sizes;
    for (const uint32_t extent : extents) sizes += number(extent);
    return element(kMatrix, element(kUint32, number(kClassUint8) + number(0)) + element(kInt32, sizes) +
                                element(kInt8, name) + element(kUint8, std::move(bytes)));
  };
  std::string labels;
  for (uint32_t i = 0; i < n; ++i) labels.push_back(static_cast<char>(1 + i % 10));
  std::string header = "MATLAB 5.0 MAT-file";
  header.resize(124, ' ');
  return header + std::string("\x00\x01IM", 4) +
         variable("X", {32, 32, 3, n}, random_bytes(size_t{3072} * n)) + variable("y", {n, 1}, labels);
}

inline std::string big_endian(uint32_t number) {
  std::string bytes;
  for (const int shift : {24, 16, 8, 0}) bytes.push_back(static_cast<char>(number >> shift & 0xff));
  return bytes;
}

}  // namespace batchplus::testing
