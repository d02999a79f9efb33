"""The plan of the two retraining experiments. It was written down before the first run, the last part later.

Data: Imagenette at 64×64, ten classes. Training uses every second photo of `train/` in alphabetical order
(4,735), accuracy is measured on all 3,925 of `val/`. Pixels that are removed get the mean colour of the
training photos.

Network: a small ResNet of five scales (64², 32², 16², 8², 4²), trained from scratch: SGD with momentum 0.9
and weight decay 5e-4, batches of 64, a one-cycle learning rate with its peak at 0.1, horizontal flips, three
epochs. Everything random follows from the seed: first weights, order of photos, flips, random maps.

Maps come from the network of the same seed trained on whole photos, through the `.onnx` file that `fastcam
export` makes of it. The class of a class map is the predicted one, never the label.

Experiment "layer" (the paper's first): the trained network is cut behind one scale. Its activations there
are masked with the scale's own map and the layers behind it are fine-tuned for two epochs (peak rate
0.02). KAR lets only the 2.5 % most salient pixels through, ROAR only the 10 % least salient, at least one
pixel each; removed activations are 0. Nine statistics and a random map. Scores D and I against the random
map, per layer and summed, and the quartile table, as in the paper.

Experiment "input" (the paper's second): KAR keeps, ROAR removes the most salient 10, 30, 50, 70 and 90 % of
the photo's pixels in training and validation photos; a network of the same kind is trained from scratch on
what is left. Score: the sum of the KAR accuracies minus the sum of the ROAR accuracies. For random pixels
KAR of a share and ROAR of the rest are the same thing and are run once.

Controls that a sceptic would ask for: random pixels, random blobs (noise blurred with a sigma of 1/8 of the
photo), the distance to the centre, and the Sobel filter. Nothing is left out afterwards; a cell that failed
is reported as missing.

Order of the cells, so that a run that ends early has whole columns: layers 5, 4, 3; KAR 10 % and ROAR 50 %
of the cheap methods; layers 2, 1; the other shares; SmoothGrad², which needs sixteen backward passes; then
the same with the next seed.

Expected from the first pilot, at 48×48: random pixels win KAR, because scattered pixels show the whole
photo; the paper's order may not show.

Written down after the first cells were run. It changes no cell, so the version stays. The comparison of
orders was fixed when 71 cells of seed 0 had been run, the rule for seeds after that; the rest was so from
the first cell on.

- Score of a map: the mean over the seeds. Experiment "layer": the layers that the first seed has whole, and
  the other seeds that have every cell of the first. Experiment "input": a seed counts in a column (KAR or
  ROAR at one share) only where it has all maps, SmoothGrad² apart, and a sum is over the columns that every
  map has. If a seed lacks some of them, the sum is that of the columns' means.
- Comparison with the paper: Spearman's rank correlation of these scores with what the paper prints (its D,
  its sums over the same columns), over the maps that both have, at least four. Beside it stands how many of
  10,000 random orders of our scores have the same correlation or a higher one.
- Half of the training photos and three epochs, so that all 492 cells fit into some hours of two cores; all
  photos and six epochs would take four times as long. The price: networks that could learn more, with some
  59 % of whole photos right.
- float32, with the channels last, which saves a quarter of the time. bf16 would save another quarter (a step
  takes 73 ms with neither, 53 ms with the first, 40 ms with both). It was not needed, and differences of a
  point should not depend on an arithmetic of three digits.
- Ties: equal values of a map, such as the zeros of a class map, are ranked in one random order, the same for
  all photos (`fastcam_export/evaluate/measures/masks.py`). So scattered pixels of such a region stay, at the
  same places in every photo.
"""

from __future__ import annotations

VERSION = 1
"""Goes into every result. Count it up with any change of the cells above: old and new ones do not mix."""

SIZE = 64
TRAIN_STRIDE = 2
EPOCHS, PEAK_RATE = 3, 0.1
TUNE_EPOCHS, TUNE_RATE = 2, 0.02
BATCH, MOMENTUM, DECAY = 64, 0.9, 5e-4
WIDTHS = (8, 16, 32, 64, 128)
SEEDS = (0, 1)

SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)
KEPT_IN_LAYER = {"KAR": 0.025, "ROAR": 0.1}
"""KAR: this share of the most salient pixels is kept; ROAR: this share of the least salient."""

RANDOM = "random"
LAYER_METHODS = (
    "smoe", "std", "mean", "shannon", "lognormal_mean", "lognormal_entropy",
    "truncnormal_mean", "truncnormal_std", "truncnormal_entropy",
)  # fmt: skip
CHEAP_INPUT_METHODS = (
    "smoe prior", "Grad-CAM", "smoe × Grad-CAM", "blobs", "centre", "Sobel", "Grad-CAM++",
    "smoe × Grad-CAM++", "smoe linear", "smoe equal", "std", "truncnormal_entropy", "mean",
)  # fmt: skip
SMOOTHGRAD = "gradient, SmoothGrad²"
SMOOTHGRAD_SAMPLES, SMOOTHGRAD_NOISE = 15, 0.15
"""As in the paper's comparison: fifteen noisy copies; noise as a share of the value range."""
FIRST_SHARES = (("KAR", 0.1), ("ROAR", 0.5))
