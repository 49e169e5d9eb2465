"""Heat maps of networks that classify images, and how far those of two networks agree."""

from voile.explain.networks.agreement import Agreement, MeasureAgreement, compare_maps
from voile.explain.networks.insertion import deletion_auc, insertion_auc
from voile.explain.networks.making import explain_images
from voile.explain.networks.measures import scale_maps, spearman, ssim, top_share_iou
from voile.explain.networks.record import HeatMaps

__all__ = [
    "Agreement",
    "HeatMaps",
    "MeasureAgreement",
    "compare_maps",
    "deletion_auc",
    "explain_images",
    "insertion_auc",
    "scale_maps",
    "spearman",
    "ssim",
    "top_share_iou",
]
