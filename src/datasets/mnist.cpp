#include "datasets/mnist.h"

#include "formats/idx_file.h"

namespace batchplus {
namespace {

LabelledImages read(const DatasetLocation& location, std::vector<std::string> class_names) {
  const std::vector<DatasetFile> files = read_dataset_files(location, mnist_files());
  const auto read_pair = [&](const DatasetFile& images, const DatasetFile& labels) {
    return read_idx_pair({images.bytes, images.where}, {labels.bytes, labels.where},
                         static_cast<int64_t>(class_names.size()));
  };
  ImageBytes train = read_pair(files[0], files[1]);
  ImageBytes test = read_pair(files[2], files[3]);
  return {std::move(train), std::move(test), std::move(class_names)};
}

}  // namespace

const std::vector<std::string>& mnist_files() {
  static const std::vector<std::string> files = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                                                 "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};
  return files;
}

LabelledImages read_mnist(const DatasetLocation& location) {
  return read(location, {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"});
}

LabelledImages read_fashion_mnist(const DatasetLocation& location) {
  return read(location, {"t-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker",
                         "bag", "ankle boot"});
}

}  // namespace batchplus
