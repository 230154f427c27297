#include "group/group.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "util/error.h"
#include "util/text.h"

namespace batchplus {
namespace {

bool is_power_of_two(int n) {
  return std::has_single_bit(static_cast<unsigned>(n));
}

/// The first line in which two texts differ, as they have it.
std::pair<std::string, std::string> first_difference(const std::string& a, const std::string& b) {
  const std::vector<std::string> of_a = split(a, '\n');
  const std::vector<std::string> of_b = split(b, '\n');
  for (size_t i = 0; i < std::max(of_a.size(), of_b.size()); ++i) {
    const std::string line_a = i < of_a.size() ? of_a[i] : "nothing";
    const std::string line_b = i < of_b.size() ? of_b[i] : "nothing";
    if (line_a != line_b) return {line_a, line_b};
  }
  return {};
}

}  // namespace

void Group::sum(float* values, int64_t count) {
  sum_of(values, count);
}

void Group::sum(double* values, int64_t count) {
  sum_of(values, count);
}

template <class Number>
void Group::sum_of(Number* values, int64_t count) {
  if (is_solo()) return;
  const int64_t most = piece_bytes() / static_cast<int64_t>(sizeof(Number));
  for (int64_t begin = 0; begin < count; begin += most)
    sum_piece(values + begin, std::min(most, count - begin));
}

template <class Number>
void Group::sum_piece(Number* values, int64_t count) {
  // Both ways give the same bits. By pairs takes fewer messages, by shares fewer bytes where there are more
  // than two ranks.
  constexpr int64_t kFew = 4096;
  if (is_power_of_two(size()) && (size() == 2 || count <= kFew)) {
    sum_by_pairs(values, count);
  } else {
    sum_by_shares(values, count);
  }
}

template <class Number>
void Group::sum_by_pairs(Number* values, int64_t count) {
  const auto bytes = count * static_cast<int64_t>(sizeof(Number));
  std::vector<Number> others(static_cast<size_t>(count));
  for (int distance = 1; distance < size(); distance *= 2) {
    const int peer = rank() ^ distance;
    exchange({peer, values, bytes}, {peer, others.data(), bytes});
    // Both of a pair add the same two numbers, and a + b = b + a.
    for (int64_t i = 0; i < count; ++i) values[i] += others[static_cast<size_t>(i)];
  }
}

void Group::exchange_shares(const void* own, int64_t count, int64_t bytes_each, void* terms) {
  const auto share = [&](int rank) { return share_begin(count, rank + 1) - share_begin(count, rank); };
  const int64_t bytes = share(rank()) * bytes_each;
  // Only sent; a message is described in the same way in both directions.
  char* all = static_cast<char*>(const_cast<void*>(own));
  const auto part = [&](int rank) { return all + share_begin(count, rank) * bytes_each; };
  const auto term = [&](int rank) { return static_cast<char*>(terms) + bytes * rank; };
  std::copy_n(part(rank()), bytes, term(rank()));
  for (int distance = 1; distance < size(); ++distance) {
    const int to = (rank() + distance) % size();
    const int from = (rank() - distance + size()) % size();
    exchange({to, part(to), share(to) * bytes_each}, {from, term(from), bytes});
  }
}

template <class Number>
void Group::sum_by_shares(Number* values, int64_t count) {
  constexpr auto kBytes = static_cast<int64_t>(sizeof(Number));
  const int64_t own_begin = share_begin(count, rank());
  const int64_t own_count = share_begin(count, rank() + 1) - own_begin;
  // What each rank has of the numbers that this one adds up.
  std::vector<Number> terms(static_cast<size_t>(own_count * size()));
  const auto term = [&](int rank) { return terms.data() + own_count * rank; };
  exchange_shares(values, count, kBytes, terms.data());
  const auto add = [&](int to, int from) {
    for (int64_t i = 0; i < own_count; ++i) term(to)[i] += term(from)[i];
  };
  if (is_power_of_two(size())) {
    for (int distance = 1; distance < size(); distance *= 2) {
      for (int first = 0; first < size(); first += 2 * distance) add(first, first + distance);
    }
  } else {
    for (int other = 1; other < size(); ++other) add(0, other);
  }
  std::copy_n(term(0), own_count, values + own_begin);
  gather(values, count, kBytes);
}

void Group::gather_pieces(char* all, const std::vector<int64_t>& ends) {
  const auto piece = [&](int rank) -> Message {
    const int64_t begin = rank == 0 ? 0 : ends[static_cast<size_t>(rank - 1)];
    return {rank, all + begin, ends[static_cast<size_t>(rank)] - begin};
  };
  for (int distance = 1; distance < size(); ++distance) {
    Message own = piece(rank());
    own.peer = (rank() + distance) % size();
    exchange(own, piece((rank() - distance + size()) % size()));
  }
}

void Group::gather(void* all, int64_t count, int64_t bytes_each) {
  std::vector<int64_t> ends;
  for (int rank = 1; rank <= size(); ++rank) ends.push_back(share_begin(count, rank) * bytes_each);
  gather_pieces(static_cast<char*>(all), ends);
}

std::vector<std::string> Group::gather(const std::string& own) {
  std::vector<int64_t> lengths(static_cast<size_t>(size()));
  lengths[static_cast<size_t>(rank())] = static_cast<int64_t>(own.size());
  gather(lengths.data(), size(), sizeof(int64_t));
  std::vector<int64_t> ends;
  int64_t total = 0;
  for (const int64_t length : lengths) ends.push_back(total += length);
  std::string all(static_cast<size_t>(total), '\0');
  const auto begin_of = [&](int rank) { return rank == 0 ? 0 : ends[static_cast<size_t>(rank - 1)]; };
  std::copy(own.begin(), own.end(), all.begin() + begin_of(rank()));
  gather_pieces(all.data(), ends);
  std::vector<std::string> texts;
  for (int rank = 0; rank < size(); ++rank) {
    texts.push_back(all.substr(static_cast<size_t>(begin_of(rank)),
                               static_cast<size_t>(lengths[static_cast<size_t>(rank)])));
  }
  return texts;
}

void Group::broadcast(void* bytes, int64_t count) {
  // A rank sends once it has the bytes: 0 to 1, 0 and 1 to 2 and 3, ...
  for (int have = 1; have < size(); have *= 2) {
    const int to = rank() + have;
    if (rank() < have && to < size()) exchange({to, bytes, count}, {to, nullptr, 0});
    if (rank() >= have && rank() < 2 * have)
      exchange({rank() - have, nullptr, 0}, {rank() - have, bytes, count});
  }
}

void Group::broadcast(std::string& text) {
  auto length = static_cast<int64_t>(text.size());
  broadcast(&length, sizeof length);
  text.resize(static_cast<size_t>(length));
  if (length > 0) broadcast(text.data(), length);
}

void Group::agree(const std::string& what, const std::string& own, const std::string& hint) {
  if (is_solo()) return;
  const std::vector<std::string> texts = gather(own);
  for (int rank = 1; rank < size(); ++rank) {
    const std::string& other = texts[static_cast<size_t>(rank)];
    if (other == texts[0]) continue;
    const auto [its, first] = first_difference(other, texts[0]);
    throw Error(fmt::format("{} of {} is not that of {}", what, name_of(rank), name_of(0)),
                {"", fmt::format("{} and {}", its, first), hint});
  }
}

std::string Group::name_of(int rank) const {
  return fmt::format("rank {}", rank);
}

void SoloGroup::exchange(const Message&, const Message&) {
  BATCHPLUS_CHECK(false, "a process by itself has nobody to exchange with");
}

void throw_lost(const std::string& rank, const std::string& why) {
  throw Error(fmt::format("lost {}: {}", rank, why), {}, Error::kFailure);
}

}  // namespace batchplus
