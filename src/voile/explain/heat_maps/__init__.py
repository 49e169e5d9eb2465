"""Heat maps of networks that classify images, and how far those of two networks agree."""

from voile.explain.heat_maps.agreement import Agreement, MeasureAgreement, compare_maps
from voile.explain.heat_maps.insertion import deletion_auc, insertion_auc
from voile.explain.heat_maps.making import explain_images
from voile.explain.heat_maps.measures import scale_maps, spearman, ssim, top_share_iou
from voile.explain.heat_maps.record import HeatMaps

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
