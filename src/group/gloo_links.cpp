#include "group/gloo_links.h"

#include <ATen/ops/from_blob.h>
#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <optional>

namespace batchplus {
namespace {

constexpr int kTag = 0;

/// The address of this machine from which the meeting point is reached: others reach it there too.
std::string own_address(const Membership& membership) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(membership.port);
  if (::getaddrinfo(membership.address.c_str(), port.c_str(), &hints, &found) != 0) return "";
  std::string address;
  for (const addrinfo* each = found; each != nullptr && address.empty(); each = each->ai_next) {
    const int socket = ::socket(each->ai_family, each->ai_socktype, each->ai_protocol);
    if (socket < 0) continue;
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    std::array<char, NI_MAXHOST> text{};
    // Nothing is sent: the kernel only looks for the way.
    if (::connect(socket, each->ai_addr, each->ai_addrlen) == 0 &&
        ::getsockname(socket, reinterpret_cast<sockaddr*>(&own), &size) == 0 &&
        ::getnameinfo(reinterpret_cast<sockaddr*>(&own), size, text.data(), text.size(), nullptr, 0,
                      NI_NUMERICHOST) == 0) {
      address = text.data();
    }
    ::close(socket);
  }
  ::freeaddrinfo(found);
  return address;
}

at::Tensor bytes_of(const Group::Message& message) {
  return at::from_blob(message.bytes, {message.count}, at::kByte);
}

bool is_timeout(const std::exception& problem) {
  return std::string(problem.what()).find("imed out") != std::string::npos;
}

}  // namespace

GlooLinks::Device GlooLinks::make_device(const Membership& membership) {
  if (const auto interface = read_environment("GLOO_SOCKET_IFNAME"))
    return c10d::ProcessGroupGloo::createDeviceForInterface(*interface);
  const std::string address = own_address(membership);
  return address.empty() ? c10d::ProcessGroupGloo::createDefaultDevice()
                         : c10d::ProcessGroupGloo::createDeviceForHostname(address);
}

GlooLinks::GlooLinks(const c10::intrusive_ptr<c10d::Store>& store, const Membership& membership,
                     const Device& device, std::chrono::milliseconds timeout)
    : timeout_(timeout) {
  // Gloo may write to a connection that a lost rank has closed: that is an error here, and not the end.
  std::signal(SIGPIPE, SIG_IGN);
  const auto options = c10d::ProcessGroupGloo::Options::create(timeout);
  options->devices.push_back(device);
  group_ = c10::make_intrusive<c10d::ProcessGroupGloo>(store, membership.rank, membership.size, options);
}

void GlooLinks::begin(const Group::Message& sent, const Group::Message& received) {
  const std::lock_guard lock(mutex_);
  int peer = received.peer;
  if (!group_) give_up({peer, false});
  try {
    if (received.count > 0) {
      std::vector<at::Tensor> to = {bytes_of(received)};
      works_.push_back({peer, group_->recv(to, peer, kTag)});
    }
    peer = sent.peer;
    if (sent.count > 0) {
      std::vector<at::Tensor> from = {bytes_of(sent)};
      works_.push_back({peer, group_->send(from, peer, kTag)});
    }
  } catch (const std::exception& problem) {
    give_up({peer, is_timeout(problem)});
  }
}

void GlooLinks::finish() {
  {
    const std::lock_guard lock(mutex_);
    if (!group_) give_up({});
    is_waiting_ = true;
  }
  std::optional<Trouble> trouble;
  for (size_t i = 0; i < works_.size() && !trouble; ++i) {
    try {
      // False: it was closed meanwhile.
      if (!works_[i].work->wait(timeout_)) trouble = {works_[i].peer, false};
    } catch (const std::exception& problem) {
      trouble = {works_[i].peer, is_timeout(problem)};
    }
  }
  const std::lock_guard lock(mutex_);
  is_waiting_ = false;
  stopped_waiting_.notify_all();
  if (trouble) give_up(*trouble);
  works_.clear();
}

void GlooLinks::close() {
  std::unique_lock lock(mutex_);
  if (is_waiting_) {
    for (const Work& work : works_) work.work->abort();
    stopped_waiting_.wait(lock, [&] { return !is_waiting_; });
  }
  works_.clear();
  group_.reset();
}

void GlooLinks::give_up(const Trouble& trouble) {
  works_.clear();
  group_.reset();
  throw trouble;
}

}  // namespace batchplus
