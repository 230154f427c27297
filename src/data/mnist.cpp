#include "data/mnist.h"

#include "formats/idx_file.h"

namespace batchplus {
namespace {

Dataset load(const DatasetLocation& location, std::vector<std::string> class_names) {
  const std::vector<DatasetFile> files = read_dataset_files(location, mnist_files());
  Dataset dataset;
  dataset.class_names = std::move(class_names);
  const auto read = [&](const DatasetFile& images, const DatasetFile& labels) {
    return to_image_set(
        read_idx_pair({images.bytes, images.where}, {labels.bytes, labels.where}, dataset.classes()));
  };
  dataset.train = read(files[0], files[1]);
  dataset.test = read(files[2], files[3]);
  return dataset;
}

}  // namespace

const std::vector<std::string>& mnist_files() {
  static const std::vector<std::string> files = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                                                 "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};
  return files;
}

Dataset load_mnist(const DatasetLocation& location) {
  return load(location, {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"});
}

Dataset load_fashion_mnist(const DatasetLocation& location) {
  return load(location, {"t-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker",
                         "bag", "ankle boot"});
}

}  // namespace batchplus
