#include "data/svhn.h"

#include "formats/svhn_mat.h"

namespace batchplus {

const std::vector<std::string>& svhn_files() {
  static const std::vector<std::string> files = {"train_32x32.mat", "test_32x32.mat"};
  return files;
}

Dataset load_svhn(const DatasetLocation& location) {
  Dataset dataset;
  dataset.class_names = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
  dataset.train = to_image_set(read_svhn_mat(location.path / svhn_files()[0]));
  dataset.test = to_image_set(read_svhn_mat(location.path / svhn_files()[1]));
  return dataset;
}

}  // namespace batchplus
