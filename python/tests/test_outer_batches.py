"""OuterBatches: batches are grouped as the program cuts a pass, and their samples are counted."""

import pytest

torch = pytest.importorskip("torch")

from networks import largest_difference, made_up, small_cnn, state_of, train  # noqa: E402

from batchplus.optim import OuterBatches, SignedSVRG  # noqa: E402
from torch.nn import functional as F  # noqa: E402


def loader(count, b, **options):
    data = torch.utils.data.TensorDataset(torch.arange(count).float(), torch.arange(count))
    return torch.utils.data.DataLoader(data, batch_size=b, **options)


@pytest.mark.parametrize("count, b, K, expected", [
    (24, 4, 2, [[4, 4]] * 3),
    (20, 4, 2, [[4, 4], [4, 4], [4]]),  # a shorter outer batch
    (18, 4, 2, [[4, 4], [4, 4]]),  # two samples alone are left out
    (22, 4, 2, [[4, 4], [4, 4], [4, 2]]),  # two samples behind a whole inner batch are a part of its mu
    (22, 4, 3, [[4, 4, 4], [4, 4, 2]]),
    (3, 4, 2, [[3]]),
])
def test_batches_are_grouped_as_the_program_cuts_a_pass(count, b, K, expected):
    outer = OuterBatches(loader(count, b), K)
    groups = list(outer)
    assert [group.sizes for group in groups] == expected
    assert len(outer) == len(groups)
    assert [len(y) for group in groups for _, y in group] == [size for sizes in expected for size in sizes]


def test_the_loop_sees_every_sample_in_the_loaders_order():
    seen = [y for group in OuterBatches(loader(24, 4), 3) for _, labels in group for y in labels.tolist()]
    assert seen == list(range(24))
    assert len(OuterBatches(loader(22, 4, drop_last=True), 2)) == 3


def batch_sampler(count, b, drop_last):
    data = torch.utils.data.TensorDataset(torch.arange(count).float())
    return torch.utils.data.DataLoader(data, batch_sampler=torch.utils.data.BatchSampler(range(count), b, drop_last))


class Stream(torch.utils.data.IterableDataset):
    def __init__(self, count):
        self.count = count

    def __iter__(self):
        return iter(torch.arange(self.count).float())


class SizedStream(Stream):
    def __len__(self):
        return self.count


@pytest.mark.parametrize("make", [
    batch_sampler,
    lambda count, b, drop_last: torch.utils.data.DataLoader(SizedStream(count), batch_size=b, drop_last=drop_last),
    lambda count, b, drop_last: list(loader(count, b, drop_last=drop_last)),
])
@pytest.mark.parametrize("drop_last", [False, True])
def test_the_length_is_that_of_a_pass(make, drop_last):
    for count in (3, 8, 9, 15, 16, 17, 20, 24, 25):
        for K in (1, 2, 3):
            outer = OuterBatches(make(count, 8, drop_last), K)
            assert len(outer) == len([group for group in outer]), (count, K)


class Buckets:
    """Batches of nobody's kind."""

    def __iter__(self):
        return iter([[0, 1], [2, 3], [4]])

    def __len__(self):
        return 3


class Wrapper(Buckets):
    def __iter__(self):
        return iter([torch.ones(2), torch.ones(2), torch.ones(1)])


@pytest.mark.parametrize("make", [
    lambda data: torch.utils.data.DataLoader(data, batch_sampler=Buckets()),
    lambda data: torch.utils.data.DataLoader(data, batch_size=None),
    lambda data: torch.utils.data.DataLoader(SizedStream(5), batch_size=2, num_workers=2),
    lambda data: torch.utils.data.DataLoader(Stream(5), batch_size=2),
    lambda data: Wrapper(),
    lambda data: (batch for batch in Wrapper()),
])
def test_a_length_that_cannot_be_known_is_refused(make):
    outer = OuterBatches(make(torch.utils.data.TensorDataset(torch.arange(5).float())), 2)
    with pytest.raises(TypeError):
        len(outer)


def test_closures_take_the_parts_of_a_batch_or_the_batch():
    for batches, expected in (([(1, 2), [3, 4]], [(1, 2), (3, 4)]), ([{"x": 5}], [({"x": 5},)])):
        got = []
        for group in OuterBatches(batches, 2):
            for closure in group.closures(lambda *parts: got.append(parts)):
                closure()
        assert got == expected


def test_the_wrapped_loop_is_the_loop_by_hand():
    images, labels = made_up(44)
    by_hand, wrapped = small_cnn(), small_cnn()
    train(by_hand, SignedSVRG(by_hand.parameters(), 0.1), images, labels, 16, 8)
    optimizer = SignedSVRG(wrapped.parameters(), 0.1)

    def compute(x, y):
        loss = F.cross_entropy(wrapped(x), y)
        loss.backward()
        return loss

    data = torch.utils.data.TensorDataset(images, labels)
    for batches in OuterBatches(torch.utils.data.DataLoader(data, batch_size=8), 2):
        optimizer.step(batches.closures(compute))
    assert largest_difference(state_of(by_hand), state_of(wrapped)) == 0
    assert optimizer.gradient_evaluations == 3 + 3 + 1.5


def test_growing_batches_and_wrong_counts_are_refused():
    with pytest.raises(ValueError, match="same size"):
        list(OuterBatches([torch.ones(2), torch.ones(3)]))
    with pytest.raises(ValueError, match="a batch follows one with fewer"):
        list(OuterBatches([torch.ones(4), torch.ones(3), torch.ones(4)], 1))
    for wrong in (0, -1, 1.5, True):
        with pytest.raises(ValueError, match="inner_batches is"):
            OuterBatches([], wrong)


@pytest.mark.parametrize("batches, sizes", [
    ([{"text": ["a", "b"], "x": torch.ones(2, 3)}, {"text": ["c"], "x": torch.ones(1, 3)}], [2, 1]),
    ([([torch.ones(3, 5, 5)] * 4, torch.ones(4)), ([torch.ones(3, 5, 5)] * 2, torch.ones(2))], [4, 2]),  # pictures, labels
    ([((torch.ones(4, 2), torch.ones(4, 2)), torch.ones(4)), ((torch.ones(3, 2), torch.ones(3, 2)), torch.ones(3))], [4, 3]),
    ([torch.ones(4, 2), torch.ones(2, 2)], [4, 2]),
    # Lists alone may hold a tensor a sample or a tensor an input: not known.
    ([[[torch.ones(3, 5, 5)] * 4], [[torch.ones(3, 5, 5)] * 2]], None),
    ([("a", 1.0), ("b", 2.0)], None),
])
def test_samples_are_counted_by_the_first_tensor_that_is_a_part_of_the_batch(batches, sizes):
    assert [group.sizes for group in OuterBatches(batches, 2)] == [sizes]


def pictures_alone(count, b, **options):
    def collate(samples):
        return [[image for image, _ in samples]]

    data = torch.utils.data.TensorDataset(torch.ones(count, 3, 5, 5), torch.arange(count))
    return torch.utils.data.DataLoader(data, batch_size=b, collate_fn=collate, **options)


def test_a_remainder_that_cannot_be_counted_is_refused_unless_somebody_counts():
    with pytest.raises(ValueError, match="count="):
        next(iter(OuterBatches(pictures_alone(22, 4), 3)))
    assert [group.sizes for group in OuterBatches(pictures_alone(22, 4), 3, count=lambda batch: len(batch[0]))] == [
        [4, 4, 4], [4, 4, 2]]
    for whole in (pictures_alone(24, 4), pictures_alone(22, 4, drop_last=True)):
        assert all(group.sizes is None for group in OuterBatches(whole, 3))


def weigh(closures, **options):
    w = torch.nn.Parameter(torch.zeros(1))
    optimizer = SignedSVRG([w], 0.1)
    optimizer.step(closures(lambda x: setattr(w, "grad", x.mean().reshape(1))), **options)
    return optimizer.inner_steps, optimizer.gradient_evaluations


def test_closures_know_their_samples_in_any_list():
    group = next(iter(OuterBatches([torch.ones(4), torch.ones(4), torch.ones(2)], 3)))
    assert weigh(group.closures) == (2, 3.5)
    assert weigh(lambda compute: list(group.closures(compute))) == (2, 3.5)
    assert weigh(lambda compute: group.closures(compute)[1:]) == (1, 1.5)
    group.pop()
    assert group.sizes == [4, 4] and weigh(group.closures) == (2, 3)


def test_closures_of_which_only_some_know_their_samples_are_refused():
    group = next(iter(OuterBatches([torch.ones(4), torch.ones(2)], 2)))

    def mixed(compute):
        first, second = group.closures(compute)
        return [first, lambda: second()]

    with pytest.raises(ValueError, match="sizes="):
        weigh(mixed)
    assert weigh(mixed, sizes=group.sizes) == (1, 1.5)
