#include "datasets/read_samples.h"

#include <fmt/format.h>

#include "datasets/picture_folder.h"
#include "formats/png_image.h"
#include "util/error.h"
#include "util/file.h"

namespace batchplus {
namespace {

void require_shape(const DatasetInfo& info, const ImageBytes& images, const std::string& where) {
  if (images.channels == info.channels && images.height == info.side && images.width == info.side) return;
  throw Error("the images have another size",
              {where, fmt::format("{} x {} x {}", images.channels, images.height, images.width),
               fmt::format("{} has {} x {} x {}", info.name, info.channels, info.side, info.side)});
}

int64_t count_pictures(const std::vector<LabelledPicture>& pictures) {
  for (const LabelledPicture& picture : pictures) decode_png(read_file(picture.path), picture.path.string());
  return static_cast<int64_t>(pictures.size());
}

}  // namespace

LabelledImages read_samples(const DatasetInfo& info, const DatasetLocation& location) {
  BATCHPLUS_CHECK(info.read, "only a dataset with a list of files is read from them");
  LabelledImages samples = info.read(location);
  require_shape(info, samples.train, location.path.string());
  require_shape(info, samples.test, location.path.string());
  return samples;
}

SampleCounts count_samples(const DatasetInfo& info, const DatasetLocation& location) {
  if (info.read) {
    const LabelledImages samples = read_samples(info, location);
    return {samples.train.size(), samples.test.size()};
  }
  if (location.path.empty()) return {info.train_samples, info.test_samples};
  const PictureFolder folder = list_pictures(location.path);
  return {count_pictures(folder.train), count_pictures(folder.test)};
}

}  // namespace batchplus
