#include "store/event_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <boost/crc.hpp>
#include <chrono>

#include "store/event.pb.h"
#include "util/error.h"
#include "util/file.h"
#include "util/process.h"

namespace batchplus {
namespace {

/// TensorFlow's DT_STRING.
constexpr int kTextType = 7;

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// CRC-32C (Castagnoli), rotated and shifted, as records of a file that may itself hold CRCs need it.
uint32_t masked_crc(std::string_view bytes) {
  boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc;
  crc.process_bytes(bytes.data(), bytes.size());
  const uint32_t sum = crc.checksum();
  constexpr uint32_t kShift = 0xa282ead8;
  return ((sum >> 15) | (sum << 17)) + kShift;
}

/// The lowest byte first.
template <class Integer>
std::string little_endian(Integer value) {
  std::string bytes;
  for (size_t i = 0; i < sizeof value; ++i) bytes.push_back(static_cast<char>(value >> (8 * i) & 0xff));
  return bytes;
}

void append_event(const std::filesystem::path& path, events::Event event) {
  event.set_wall_time(seconds_since_1970());
  const std::string message = event.SerializeAsString();
  const std::string length = little_endian(static_cast<uint64_t>(message.size()));
  append_bytes(path, fmt::format("{}{}{}{}", length, little_endian(masked_crc(length)), message,
                                 little_endian(masked_crc(message))));
}

}  // namespace

EventFile::EventFile(const std::filesystem::path& directory) {
  if (std::filesystem::is_symlink(directory)) {
    throw Error("the directory for events is a symbolic link", {directory.string(), "", "remove it"});
  }
  make_directories(directory);
  path_ = directory /
          fmt::format("events.out.tfevents.{:010.0f}.{}.{}", seconds_since_1970(), host_name(), ::getpid());
  events::Event event;
  event.set_file_version("brain.Event:2");
  append_event(path_, event);
}

void EventFile::resume(int64_t step) {
  constexpr int kStart = 1;
  events::Event event;
  // TensorBoard drops the step itself too.
  event.set_step(step + 1);
  event.mutable_session_log()->set_status(kStart);
  append_event(path_, event);
}

void EventFile::add_scalars(int64_t step, const std::vector<std::pair<std::string, double>>& scalars) {
  events::Event event;
  event.set_step(step);
  for (const auto& [tag, number] : scalars) {
    auto* value = event.mutable_summary()->add_value();
    value->set_tag(tag);
    value->set_simple_value(static_cast<float>(number));
  }
  append_event(path_, event);
}

void EventFile::add_text(const std::string& tag, const std::string& text) {
  events::Event event;
  auto* value = event.mutable_summary()->add_value();
  value->set_tag(tag);
  value->mutable_metadata()->mutable_plugin_data()->set_plugin_name("text");
  auto* tensor = value->mutable_tensor();
  tensor->set_dtype(kTextType);
  tensor->mutable_tensor_shape()->add_dim()->set_size(1);
  tensor->add_string_val(text);
  append_event(path_, event);
}

}  // namespace batchplus
