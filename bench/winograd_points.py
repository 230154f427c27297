"""The rounding of Winograd's F(4x4) for 3x3 filters by its points: which to interpolate at.

    python3 bench/winograd_points.py [--outputs 64] [--tiles 64]

Transforms and products in single precision, everything in NumPy; inputs max(0, N(0, 1)), filters N(0, 1). Prints the
root mean square of the difference to double precision over that of the exact result, for each number of channels. The
points are 0, a, -a, b, -b and infinity; "direct" is the convolution itself in single precision."""

import argparse

import numpy as np

CHANNELS = (16, 64, 512)
POINTS = ((1, 2), (1 / 2, 1), (1 / 2, 3 / 2), (1 / 2, 2), (2 / 3, 4 / 3), (2 / 3, 3 / 2), (3 / 4, 5 / 4), (3 / 4, 3 / 2),
          (3 / 4, 2), (1, 3 / 2))


def transforms(a, b):
    """A^T [4,6], G [6,3] and B^T [6,6] with y = A^T [(G w) . (B^T d)], of the points 0, a, -a, b, -b and infinity."""
    points = [0, a, -a, b, -b]
    outputs = np.zeros((4, 6))
    filters = np.zeros((6, 3))
    inputs = np.zeros((6, 6))
    for i, p in enumerate(points):
        others = [q for q in points if q != p]
        outputs[:, i] = [p**k for k in range(4)]
        filters[i] = np.array([p**k for k in range(3)]) / np.prod([p - q for q in others])
        inputs[i, :5] = np.poly(others)[::-1]
    outputs[3, 5] = filters[5, 2] = 1
    inputs[5] = np.poly(points)[::-1]
    return outputs, filters, inputs


def winograd(d, w, a, b):
    """d: [T,C,6,6], w: [K,C,3,3] to [T,K,4,4], in the precision of d and w."""
    outputs, filters, inputs = (matrix.astype(d.dtype) for matrix in transforms(a, b))
    v = inputs @ d @ inputs.T
    u = filters @ w @ filters.T
    # A product of [T,C] and [C,K] for each of the 36 places.
    m = v.transpose(2, 3, 0, 1) @ u.transpose(2, 3, 1, 0)
    return outputs @ m.transpose(2, 3, 0, 1) @ outputs.T


def direct(d, w):
    """The same by products of patches."""
    patches = np.lib.stride_tricks.sliding_window_view(d, (3, 3), axis=(2, 3))  # [T,C,4,4,3,3]
    rows = patches.transpose(0, 2, 3, 1, 4, 5).reshape(len(d) * 16, -1)
    return (rows @ w.reshape(len(w), -1).T).reshape(len(d), 4, 4, len(w)).transpose(0, 3, 1, 2)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--outputs", type=int, default=64, help="filters")
    parser.add_argument("--tiles", type=int, default=64, help="squares of 4x4 outputs")
    options = parser.parse_args()
    random = np.random.default_rng(1)
    errors = {"direct": [], **{points: [] for points in POINTS}}
    for channels in CHANNELS:
        d = np.maximum(0, random.standard_normal((options.tiles, channels, 6, 6))).astype(np.float32)
        w = random.standard_normal((options.outputs, channels, 3, 3)).astype(np.float32)
        exact = direct(d.astype(np.float64), w.astype(np.float64))
        for key in errors:
            ours = direct(d, w) if key == "direct" else winograd(d, w, *key)
            errors[key].append(np.sqrt(np.mean((ours - exact)**2) / np.mean(exact**2)))
    print(f"{'points':>12}" + "".join(f"{f'{channels} channels':>14}" for channels in CHANNELS))
    for key, row in errors.items():
        name = key if key == "direct" else f"{key[0]:.3g}, {key[1]:.3g}"
        print(f"{name:>12}" + "".join(f"{error:14.1e}" for error in row))


main()
