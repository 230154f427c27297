#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/image_files.h"
#include "support/machine.h"
#include "support/program.h"
#include "support/scratch.h"

namespace batchplus::testing {

/// A data directory with the datasets of the paper: the real ones wherever the machine has them, else made-up
/// pictures in files of the same layout. It prints which.
class PaperData {
 public:
  PaperData() {
    std::vector<std::string> used;
    for (const Row& row : rows()) used.push_back(add(row));
    fmt::print("note: the paper's specs ran on {}\n", fmt::join(used, ", "));
  }
  const std::filesystem::path& path() const { return scratch_.path(); }

 private:
  struct Row {
    std::string name;
    /// By which a machine is required to have it.
    std::string need;
    std::string folder;
    std::function<void(const std::filesystem::path& folder)> make_up;
  };

  /// More than the smallest scale of a spec takes: 1,000 and 200 of CIFAR-10, 256 and 64 of the others.
  static std::vector<Row> rows() {
    namespace fs = std::filesystem;
    return {{"cifar10", "cifar10", "cifar-10-batches-bin",
             [](const fs::path& folder) { write_cifar10(folder, 250); }},
            {"cifar100", "samples", "cifar-100-binary",
             [](const fs::path& folder) {
               write_file_atomically(folder / "train.bin", cifar100_records(300));
               write_file_atomically(folder / "test.bin", cifar100_records(100));
             }},
            {"svhn", "samples", "svhn", [](const fs::path& folder) {
               write_file_atomically(folder / "train_32x32.mat", svhn_mat(300));
               write_file_atomically(folder / "test_32x32.mat", svhn_mat(100));
             }}};
  }

  /// What is known of it where it is complete: in the machine's data directory, or among the samples.
  static nlohmann::json find(const std::string& name) {
    std::vector<std::vector<std::string>> places = {{}};
    if (!samples_folder().empty()) places.push_back({"--data-dir", samples_folder()});
    for (const std::vector<std::string>& place : places) {
      std::vector<std::string> arguments = {"data", "verify", name, "--json", "--quiet"};
      arguments.insert(arguments.end(), place.begin(), place.end());
      const ProcessResult found = batchplus(arguments);
      if (found.exit_code == 0) return nlohmann::json::parse(found.output);
    }
    return nullptr;
  }

  std::string add(const Row& row) const {
    const nlohmann::json real = find(row.name);
    if (real.is_null()) {
      EXPECT_FALSE(is_required(row.need)) << row.name << " is made up: " << machine_needs().at(row.need);
      make_directories(scratch_ / row.folder);
      row.make_up(scratch_ / row.folder);
      return fmt::format("{} (made up)", row.name);
    }
    const std::filesystem::path place = real["path"].get<std::string>();
    std::filesystem::create_symlink(
        place, scratch_ / (std::filesystem::is_directory(place) ? row.folder : place.filename().string()));
    return fmt::format("{} ({} samples, verified: {})", row.name, real["train_samples"].dump(),
                       real["verified"].get<std::string>());
  }

  Scratch scratch_;
};

}  // namespace batchplus::testing
