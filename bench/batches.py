"""The networks that are measured, and the batch sizes: the paper's."""

BATCHES = {"vgg11": [128], "vgg19": [128], "resnet32": [128], "resnet56": [128], "densenet": [64], "densenet-bc": [64],
           "alexnet": [128], "mlp": [128, 10]}
