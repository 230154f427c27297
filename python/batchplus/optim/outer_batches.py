"""Groups the batches of a DataLoader into outer batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Optional

Count = Callable[[Any], Optional[int]]


class BatchClosure:
    """Computes loss and gradients of one batch, and knows how many `samples` that has; None where that is not known."""

    def __init__(self, compute: Callable[..., Any], batch: Any, samples: Optional[int]) -> None:
        self.samples = samples
        self._compute, self._batch = compute, batch

    def __call__(self) -> Any:
        return self._compute(*self._batch) if isinstance(self._batch, (tuple, list)) else self._compute(self._batch)


class OuterBatch(list[Any]):
    """The inner batches that share a snapshot. The last one may be smaller than the first: then it is a part of mu and
    makes no step."""

    def __init__(self, batches: Iterable[Any] = (), count: Optional[Count] = None) -> None:
        super().__init__(batches)
        self._count = count or count_samples

    @property
    def sizes(self) -> Optional[list[int]]:
        """The samples of each batch; None where that is not known."""
        counts = [self._count(batch) for batch in self]
        known = [count for count in counts if count is not None]
        return known if len(known) == len(counts) else None

    def closures(self, compute: Callable[..., Any]) -> list[BatchClosure]:
        """One closure for each batch, for SignedSVRG.step. `compute` gets what the loop's body got: the parts of a batch
        that is a tuple or a list, or else the batch. It computes the loss and its gradients, and returns the loss."""
        return [BatchClosure(compute, batch, self._count(batch)) for batch in self]


class OuterBatches:
    """Goes over a DataLoader, or any iterable of batches, `inner_batches` (K) of them at a time.

    As in the program, a pass that K does not divide ends with a shorter outer batch. A batch that is smaller than the
    first one, as the last of a pass may be, ends its outer batch and is a part of its mu; alone it is left out.

    `count` says how many samples a batch has, where the first tensor in it does not: count=lambda batch: len(batch[0]).
    Batches that cannot be counted are taken to be equal.
    """

    def __init__(self, loader: Iterable[Any], inner_batches: int = 2, *, count: Optional[Count] = None) -> None:
        if isinstance(inner_batches, bool) or not isinstance(inner_batches, int) or inner_batches < 1:
            raise ValueError(f"inner_batches is {inner_batches!r}: it must be a whole number, 1 or more")
        self.loader = loader
        self.inner_batches = inner_batches
        self._count = count or count_samples

    def __iter__(self) -> Iterator[OuterBatch]:
        largest: Optional[int] = None
        has_ended = False
        group = OuterBatch(count=self._count)
        for batch in self.loader:
            size = self._count(batch)
            if size is None and self._has_remainder():
                raise ValueError("it cannot be seen how many samples a batch has, and the last one has fewer: say it, as in "
                                 "OuterBatches(loader, count=lambda batch: len(batch[0])), or load with drop_last=True")
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
            if is_short or len(group) == self.inner_batches:
                yield group
                group = OuterBatch(count=self._count)
        if group:
            yield group

    def __len__(self) -> int:
        """Outer batches of a pass; a TypeError where it cannot be known whether the last batch has fewer samples."""
        batches = len(self.loader)  # type: ignore[arg-type]
        has_remainder = self._has_remainder()
        if has_remainder is None:
            raise TypeError("the number of outer batches is not known before a pass: the loader does not say whether its last "
                            "batch has fewer samples than the others, and makes no step")
        if has_remainder and batches > 1:
            batches -= 1  # it makes no step
        return -(-batches // self.inner_batches)

    def _has_remainder(self) -> Optional[bool]:
        """Whether the loader ends with a smaller batch; None where that is not known."""
        if isinstance(self.loader, (list, tuple)):
            return bool(self.loader) and self._count(self.loader[0]) != self._count(self.loader[-1])
        # A DataLoader has a BatchSampler, which is its own or the one it was given, or it does not make batches.
        given = getattr(self.loader, "batch_sampler", None)
        batches = self.loader if given is None else given
        size, is_whole = getattr(batches, "batch_size", None), getattr(batches, "drop_last", None)
        samples = self._samples(getattr(batches, "sampler", None))
        if samples is None or is_whole is None or not isinstance(size, int) or size < 1:
            return None
        return not is_whole and samples % size != 0

    def _samples(self, sampler: Any) -> Optional[int]:
        """How many a pass has."""
        if hasattr(sampler, "__len__"):
            return len(sampler)
        # An IterableDataset has no sampler. Each worker that goes over one has a remainder of its own.
        dataset = getattr(self.loader, "dataset", None)
        if getattr(self.loader, "num_workers", 1) == 0 and hasattr(dataset, "__len__"):
            return len(dataset)  # type: ignore[arg-type]
        return None


def count_samples(batch: Any) -> Optional[int]:
    """The length of the first tensor that is the batch or a part of it; None when there is none. Lists in it are not
    looked into: they may have a tensor for each sample."""
    if isinstance(batch, Mapping):
        batch = list(batch.values())
    for part in batch if isinstance(batch, (tuple, list)) else [batch]:
        shape = getattr(part, "shape", None)
        if shape:
            return int(shape[0])
    return None
