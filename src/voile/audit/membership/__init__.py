"""Membership inference: was this row in the training table? Attacks on any model.

`membership_report` trains a model many times on random halves of a pool of rows and runs three
attacks: the loss threshold, LiRA and RMIA. They are attacks on average rows: what they find is a
fact about the model, what they do not find is no guarantee. The receipt of a private training is.
"""

from voile.audit.membership.attacks import lira, loss_threshold, membership_report, rmia
from voile.audit.membership.curves import allowed_tpr
from voile.audit.membership.findings import MembershipAttack, MembershipReport, Roc, RocPoint
from voile.audit.membership.shadows import Shadows, train_shadows

__all__ = [
    "MembershipAttack",
    "MembershipReport",
    "Roc",
    "RocPoint",
    "Shadows",
    "allowed_tpr",
    "lira",
    "loss_threshold",
    "membership_report",
    "rmia",
    "train_shadows",
]
