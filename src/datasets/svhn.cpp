#include "datasets/svhn.h"

#include "formats/svhn_mat.h"

namespace batchplus {

const std::vector<std::string>& svhn_files() {
  static const std::vector<std::string> files = {"train_32x32.mat", "test_32x32.mat"};
  return files;
}

LabelledImages read_svhn(const DatasetLocation& location) {
  return {read_svhn_mat(location.path / svhn_files()[0]),
          read_svhn_mat(location.path / svhn_files()[1]),
          {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}};
}

}  // namespace batchplus
