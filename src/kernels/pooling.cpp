#include "kernels/pooling.h"

#include <ATen/Parallel.h>

#include <algorithm>

#include "kernels/trace.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pooling.cpp"
#include <hwy/foreach_target.h>

#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace batchplus::kernels {
namespace HWY_NAMESPACE {
namespace {

namespace hn = simd::hn;
using simd::kLanes;
using simd::Vector;
using PlaceTag = hn::RebindToSigned<simd::Tag>;
using Places = hn::Vec<PlaceTag>;

HWY_INLINE void store_places(uint8_t* to, Places places, int64_t count) {
  HWY_ALIGN int32_t lanes[kLanes];
  hn::Store(places, PlaceTag(), lanes);
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<uint8_t>(lanes[i]);
}

/// x and y, or their gradients, and a byte for each y; a comparison for each x.
KernelWork work_of(const ConstMaps& x, const ConstMaps& y, const char* format) {
  const auto values = static_cast<double>(x.values());
  const auto outputs = static_cast<double>(y.values());
  return {describe(format, {x.channels, x.height, x.width}), values, values + outputs + outputs / 4};
}

}  // namespace

void max_pool_forward(const ConstMaps& x, int64_t side, const Maps& y, uint8_t* places) {
  const TracedCall traced([&] { return work_of(x, y, "max pool {}, {}x{}, forward"); });
  at::parallel_for(0, y.samples * y.height, 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t sample = row / y.height;
      for (int64_t column = 0; column < y.width; ++column) {
        const float* corner = x.pixel(sample, row % y.height * side, column * side);
        const int64_t pixel = row * y.width + column;
        simd::for_vectors(y.channels, [&](int64_t c, int64_t count, auto full) HWY_ATTR {
          constexpr bool kIsFull = decltype(full)::value;
          Vector best = simd::load<kIsFull>(corner + c, count);
          Places place = hn::Zero(PlaceTag());
          for (int64_t k = 1; k < side * side; ++k) {
            const Vector v =
                simd::load<kIsFull>(corner + (k / side * x.width + k % side) * x.stride + c, count);
            // A number that is none wins and stays, as in PyTorch.
            const auto wins = hn::Or(hn::Gt(v, best), hn::IsNaN(v));
            best = hn::IfThenElse(wins, v, best);
            place = hn::IfThenElse(hn::RebindMask(PlaceTag(), wins),
                                   hn::Set(PlaceTag(), static_cast<int32_t>(k)), place);
          }
          simd::store<kIsFull>(y.data + pixel * y.stride + c, best, count);
          store_places(places + pixel * y.channels + c, place, kIsFull ? kLanes : count);
        });
      }
    }
  });
}

void max_pool_tangent(const ConstMaps& x, int64_t side, const Maps& y, uint8_t* places) {
  const TracedCall traced([&] { return work_of(x, y, "max pool {}, {}x{}, tangent"); });
  at::parallel_for(0, y.samples, 1, [&](int64_t begin, int64_t end) {
    for (int64_t sample = begin; sample < end; ++sample) {
      for (int64_t i = 0; i < y.pixels(); ++i) {
        float* to = y.sample(sample) + i * y.stride;
        const uint8_t* place = places + (sample * y.pixels() + i) * y.channels;
        const float* corner = x.pixel(sample, i / y.width * side, i % y.width * side);
        for (int64_t k = 0; k < side * side; ++k) {
          const float* from = corner + (k / side * x.width + k % side) * x.stride;
          for (int64_t c = 0; c < y.channels; ++c) to[c] = place[c] == k ? from[c] : to[c];
        }
      }
    }
  });
}

void max_pool_backward(const ConstMaps& g, int64_t side, const uint8_t* places, const Maps& dx) {
  const TracedCall traced([&] { return work_of(dx, g, "max pool {}, {}x{}, backward"); });
  // Rows and columns that no window covers get zero.
  const bool is_covered = dx.height == g.height * side && dx.width == g.width * side;
  at::parallel_for(0, g.samples, 1, [&](int64_t begin, int64_t end) {
    for (int64_t sample = begin; sample < end; ++sample) {
      if (!is_covered) std::fill_n(dx.sample(sample), dx.pixels() * dx.stride, 0.0F);
      for (int64_t i = 0; i < g.pixels(); ++i) {
        const float* from = g.sample(sample) + i * g.stride;
        const uint8_t* place = places + (sample * g.pixels() + i) * g.channels;
        float* corner = dx.pixel(sample, i / g.width * side, i % g.width * side);
        for (int64_t k = 0; k < side * side; ++k) {
          float* to = corner + (k / side * dx.width + k % side) * dx.stride;
          for (int64_t c = 0; c < g.channels; ++c) to[c] = place[c] == k ? from[c] : 0.0F;
        }
      }
    }
  });
}

void average_pool_forward(const ConstMaps& x, int64_t side, const Maps& y) {
  const auto share = static_cast<float>(side * side);
  at::parallel_for(0, y.samples * y.height, 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t column = 0; column < y.width; ++column) {
        const float* corner = x.pixel(row / y.height, row % y.height * side, column * side);
        float* to = y.data + (row * y.width + column) * y.stride;
        simd::for_vectors(y.channels, [&](int64_t c, int64_t count, auto full) HWY_ATTR {
          constexpr bool kIsFull = decltype(full)::value;
          Vector sum = simd::load<kIsFull>(corner + c, count);
          for (int64_t k = 1; k < side * side; ++k) {
            sum = sum + simd::load<kIsFull>(corner + (k / side * x.width + k % side) * x.stride + c, count);
          }
          simd::store<kIsFull>(to + c, sum / simd::set(share), count);
        });
      }
    }
  });
}

void average_pool_backward(const ConstMaps& g, int64_t side, const Maps& dx) {
  const auto share = static_cast<float>(side * side);
  const bool is_covered = dx.height == g.height * side && dx.width == g.width * side;
  at::parallel_for(0, g.samples, 1, [&](int64_t begin, int64_t end) {
    for (int64_t sample = begin; sample < end; ++sample) {
      if (!is_covered) std::fill_n(dx.sample(sample), dx.pixels() * dx.stride, 0.0F);
      for (int64_t i = 0; i < g.pixels(); ++i) {
        const float* from = g.sample(sample) + i * g.stride;
        float* corner = dx.pixel(sample, i / g.width * side, i % g.width * side);
        simd::for_vectors(g.channels, [&](int64_t c, int64_t count, auto full) HWY_ATTR {
          constexpr bool kIsFull = decltype(full)::value;
          const Vector value = simd::load<kIsFull>(from + c, count) / simd::set(share);
          for (int64_t k = 0; k < side * side; ++k) {
            simd::store<kIsFull>(corner + (k / side * dx.width + k % side) * dx.stride + c, value, count);
          }
        });
      }
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace batchplus::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace batchplus::kernels {

HWY_EXPORT(max_pool_forward);
HWY_EXPORT(max_pool_tangent);
HWY_EXPORT(max_pool_backward);
HWY_EXPORT(average_pool_forward);
HWY_EXPORT(average_pool_backward);

void max_pool_forward(const ConstMaps& x, int64_t side, const Maps& y, uint8_t* places) {
  HWY_DYNAMIC_DISPATCH(max_pool_forward)(x, side, y, places);
}

void max_pool_tangent(const ConstMaps& x, int64_t side, const Maps& y, uint8_t* places) {
  HWY_DYNAMIC_DISPATCH(max_pool_tangent)(x, side, y, places);
}

void max_pool_backward(const ConstMaps& y_gradient, int64_t side, const uint8_t* places,
                       const Maps& x_gradient) {
  HWY_DYNAMIC_DISPATCH(max_pool_backward)(y_gradient, side, places, x_gradient);
}

void average_pool_forward(const ConstMaps& x, int64_t side, const Maps& y) {
  HWY_DYNAMIC_DISPATCH(average_pool_forward)(x, side, y);
}

void average_pool_backward(const ConstMaps& y_gradient, int64_t side, const Maps& x_gradient) {
  HWY_DYNAMIC_DISPATCH(average_pool_backward)(y_gradient, side, x_gradient);
}

}  // namespace batchplus::kernels
#endif
