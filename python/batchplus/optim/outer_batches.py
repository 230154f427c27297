"""Groups the batches of a DataLoader into outer batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Optional

Closure = Callable[[], Any]


class Closures(list[Closure]):
    """Closures that know how many samples each one is of. `sizes` is None where that is not known."""

    sizes: Optional[list[int]] = None


class OuterBatch(list[Any]):
    """The inner batches that share a snapshot. `sizes` counts their samples, or is None where batches have no tensors.
    The last one may be smaller than the first: then it is a part of mu and makes no step."""

    sizes: Optional[list[int]] = None

    def closures(self, compute: Callable[..., Any]) -> Closures:
        """One closure for each batch, for SignedSVRG.step. `compute` gets what the loop's body got: the parts of a batch
        that is a tuple or a list, or else the batch. It computes the loss and its gradients, and returns the loss."""

        def closure_of(batch: Any) -> Closure:
            return (lambda: compute(*batch)) if isinstance(batch, (tuple, list)) else (lambda: compute(batch))

        closures = Closures(closure_of(batch) for batch in self)
        closures.sizes = self.sizes
        return closures


class OuterBatches:
    """Goes over a DataLoader, or any iterable of batches, `inner_batches` (K) of them at a time.

    As in the program, a pass that K does not divide ends with a shorter outer batch. A batch that is smaller than the
    first one, as the last of a pass may be, ends its outer batch and is a part of its mu; alone it is left out.
    """

    def __init__(self, loader: Iterable[Any], inner_batches: int = 2) -> None:
        if isinstance(inner_batches, bool) or not isinstance(inner_batches, int) or inner_batches < 1:
            raise ValueError(f"inner_batches is {inner_batches!r}: it must be a whole number, 1 or more")
        self.loader = loader
        self.inner_batches = inner_batches

    def __iter__(self) -> Iterator[OuterBatch]:
        largest: Optional[int] = None
        has_ended = False
        group = OuterBatch()
        for batch in self.loader:
            size = count_samples(batch)
            largest = size if largest is None else largest
            if size is not None and largest is not None and size > largest:
                raise ValueError(f"a batch has {size} samples and the first one {largest}: give all the same size")
            if has_ended:
                raise ValueError(f"a batch follows one with fewer samples than the first one's {largest}: give all the same "
                                 "size but for the last one, or call step(closures, sizes=...) yourself")
            is_short = has_ended = size != largest
            if is_short and not group:
                continue
            group.append(batch)
            group.sizes = None if size is None else [*(group.sizes or []), size]
            if is_short or len(group) == self.inner_batches:
                yield group
                group = OuterBatch()
        if group:
            yield group

    def __len__(self) -> int:
        """Outer batches of a pass, if the loader knows how long it is."""
        batches = len(self.loader)  # type: ignore[arg-type]
        size, sampler = getattr(self.loader, "batch_size", None), getattr(self.loader, "sampler", None)
        if size and hasattr(sampler, "__len__"):
            batches = min(batches, len(sampler) // size or 1)  # type: ignore[arg-type]
        return -(-batches // self.inner_batches)


def count_samples(batch: Any) -> Optional[int]:
    """The length of the first tensor of a batch; None when it has none."""
    if isinstance(batch, Mapping):
        batch = list(batch.values())
    if isinstance(batch, (tuple, list)):
        return count_samples(batch[0]) if batch else None
    shape = getattr(batch, "shape", None)
    return int(shape[0]) if shape else None
