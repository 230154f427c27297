#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace batchplus {

/// A file that TensorBoard reads: records of length, masked CRC-32C of the length, a protobuf message, masked
/// CRC-32C of the message. Each event is appended with one write, so that TensorBoard can follow a run.
class EventFile {
 public:
  /// Begins a new file in the directory, which is created if need be.
  explicit EventFile(const std::filesystem::path& directory);

  /// The run goes on after `step`: what earlier files tell about later steps does not count.
  void resume(int64_t step);

  void add_scalars(int64_t step, const std::vector<std::pair<std::string, double>>& scalars);
  /// Shown as Markdown.
  void add_text(const std::string& tag, const std::string& text);

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace batchplus
