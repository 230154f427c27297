"""Draws what the coefficient of the control variate does, from the runs of a sweep, with pandas and matplotlib.

    mkdir -p build/results/coefficient-mlp
    tar --directory build/results/coefficient-mlp --extract --xz --file results/coefficient-mlp.tar.xz
    PYTHONPATH=python python3 examples/python/coefficient_figure.py build/results/coefficient-mlp docs/python.svg

The cells between the marks can be run one by one in an editor that knows them.
"""

# %% Which sweep, and where the figure goes
import sys

import matplotlib
import matplotlib.pyplot as plt

import batchplus

SWEEP, FIGURE = sys.argv[1:3] if len(sys.argv) > 2 else ("build/results/coefficient-mlp", "docs/python.svg")

# %% One row a run: how many are there, and did all of them finish?
runs = batchplus.runs(SWEEP)
print(runs.groupby(["method", "status"]).size().to_string())

# %% Mean, 95 % interval and paired differences, as `batchplus report` has them
comparison = batchplus.compare(SWEEP, "test_accuracy")
print(comparison)
is_number = comparison.cells.c.str.fullmatch(r"-?[0-9.]+")
by_coefficient = comparison.cells[is_number].assign(c=lambda cells: cells.c.astype(float))
sgd = comparison.cells[comparison.cells.c == "SGD"].iloc[0]

# %% One row a record: the loss gap on the way, as a mean over seeds at every epoch
records = batchplus.records(SWEEP, config=["method", "coefficient", "seed"])
bp_svrg = records[records.method == "bp-svrg"]
curves = bp_svrg.groupby(["coefficient", "epoch"])[["train_loss", "loss_gap"]].mean()

# %% The figure
matplotlib.rcParams.update({"svg.hashsalt": "batchplus", "svg.fonttype": "none", "font.family": "sans-serif",
                            "axes.spines.top": False, "axes.spines.right": False})
figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.8), constrained_layout=True)

error = by_coefficient.interval_high - by_coefficient["mean"]
left.axhspan(sgd.interval_low, sgd.interval_high, color="0.9")
left.axhline(sgd["mean"], color="0.5", linewidth=1)
left.text(4, sgd["mean"], "SGD", color="0.4", ha="right", va="center", backgroundcolor="0.9", fontsize=9)
left.errorbar(by_coefficient.c, by_coefficient["mean"], yerr=error, fmt="o-", color="C0", capsize=3)
left.set(xlabel="coefficient c", ylabel="test accuracy at the end (%)")
left.set_title("Mean of 10 seeds, 95 % interval", fontsize=10)

shown = [-1.0, 0.0, 1.0, 4.0]
for place, c in enumerate(shown):
    color = plt.get_cmap("viridis")(place / len(shown))
    right.plot(curves.loc[c].train_loss, curves.loc[c].loss_gap, color=color, label=f"c = {c:g}")
right.invert_xaxis()
right.set(xlabel="training loss (falls to the right)", ylabel="loss gap: test minus training", ylim=(0, 4.5))
right.set_title("The same fit, another gap: means after each epoch", fontsize=10)
right.legend(frameon=False)

figure.savefig(FIGURE, metadata={"Date": None} if FIGURE.endswith(".svg") else None)
print("Figure:", FIGURE)
