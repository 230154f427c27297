"""The optimiser of the SVRG family for PyTorch. Needs torch; everything else of the package does not."""

from batchplus.optim.outer_batches import OuterBatch, OuterBatches
from batchplus.optim.signed_svrg import SignedSVRG

__all__ = ["OuterBatch", "OuterBatches", "SignedSVRG"]
