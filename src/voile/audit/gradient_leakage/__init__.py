"""How much of a training image one shared update gives away: attacks, measures, reports.

The enemy has the network, its weights, and one update of them: the sum of gradients of a few
images, as a federated client sends it, with or without noise. It tries to rebuild the images.

`attack` rebuilds from one update; `leakage_report` compares ways of protecting it. A failed attack
is no guarantee: the receipt of a private training is.
"""

from voile.audit.gradient_leakage.attacks import attack
from voile.audit.gradient_leakage.findings import LeakageReport, Reconstruction
from voile.audit.gradient_leakage.measures import Score, measure_images, psnr, ssim
from voile.audit.gradient_leakage.modes import (
    SeenUpdate,
    clipped,
    gaussian,
    noise_only,
    selective_faithful,
    un_noised,
)
from voile.audit.gradient_leakage.networks import leaky_net
from voile.audit.gradient_leakage.reports import leakage_report

__all__ = [
    "LeakageReport",
    "Reconstruction",
    "Score",
    "SeenUpdate",
    "attack",
    "clipped",
    "gaussian",
    "leakage_report",
    "leaky_net",
    "measure_images",
    "noise_only",
    "psnr",
    "selective_faithful",
    "ssim",
    "un_noised",
]
