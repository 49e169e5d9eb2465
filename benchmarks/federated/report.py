"""What the federated benchmark found, as Markdown tables and a JSON file.

Not a script: see `quality.py`.
"""

import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.kit.script import write_findings
from benchmarks.kit.tables import table

PAPER = {
    ("mnist", "iid"): {"none": 97.71, "ADP 25 %": 91.77, "ADP 75 %": 87.81, "DP": 86.08},
    ("mnist", "dirichlet"): {"none": 96.96, "ADP 25 %": 82.19, "ADP 75 %": 74.34, "DP": 71.45},
}
"""The paper's accuracy (ResNet18, 1000 rounds, "eps 1" without a guarantee; non-IID)."""


@dataclass(frozen=True)
class ModelCell:
    """One model at one epsilon, rows lying in one way: a value per training."""

    set: str
    model: str
    epsilon: float
    lies: str
    values: tuple[float, ...]
    cpu_seconds: float
    questions: int
    bytes: int
    receipt_epsilon: float

    @property
    def mean(self) -> float:
        return sum(self.values) / len(self.values)


@dataclass(frozen=True)
class PlacementCell:
    """One placement of noise."""

    set: str
    placement: str
    epsilon: float
    values: tuple[float, ...]
    receipt_epsilon: float

    @property
    def mean(self) -> float:
        return sum(self.values) / len(self.values)


@dataclass(frozen=True)
class TrustCell:
    """One way to trust; bytes are per client and question, there and back."""

    set: str
    trust: str
    clients: int
    value: float
    questions: int
    seconds_per_question: float
    bytes_per_client: float


@dataclass
class Findings:
    """All that a run found so far."""

    settings: dict[str, object]
    models: list[ModelCell] = field(default_factory=list)
    placements: list[PlacementCell] = field(default_factory=list)
    maps: dict[str, Any] | None = None
    trust: list[TrustCell] = field(default_factory=list)
    paper: dict[str, Any] | None = None
    leakage: dict[str, Any] | None = None

    def model(self, name: str, model: str, epsilon: float, lies: str) -> ModelCell | None:
        for one in self.models:
            if (one.set, one.model, one.epsilon, one.lies) == (name, model, epsilon, lies):
                return one
        return None

    def bars(self) -> dict[str, tuple[float, float, bool]]:
        """Each bar that this run can judge: value, limit, whether it holds."""
        found: dict[str, tuple[float, float, bool]] = {}
        for lies in ("iid", "dirichlet"):
            for model, eps, least in (
                ("maps", 2.0, 0.965),
                ("CNN", 2.0, 0.955),
                ("CNN", 8.0, 0.96),
            ):
                cell = self.model("mnist", model, eps, lies)
                if cell is not None:
                    name = f"mnist {model} eps {eps:g} {lies}"
                    found[name] = (cell.mean, least, cell.mean >= least)
                    if model == "CNN":
                        limit = 180.0
                        found[f"{name}, CPU-seconds"] = (
                            cell.cpu_seconds,
                            limit,
                            cell.cpu_seconds <= limit,
                        )
            pooled, cell = (self.model("adult", "EBM", 1.0, one) for one in ("pooled", lies))
            if pooled is not None and cell is not None:
                gap = pooled.mean - cell.mean
                found[f"adult EBM eps 1 {lies}, AUROC below pooled"] = (gap, 0.004, gap <= 0.004)
        by_name = {one.placement: one for one in self.placements}
        if "uniform" in by_name and "selective" in by_name:
            gap = by_name["uniform"].mean - by_name["selective"].mean
            found["selective below uniform"] = (gap, 0.005, gap <= 0.005)
        if self.maps is not None:
            value = float(self.maps["relative_iou"])
            found["Grad-CAM relative top-20 % IoU"] = (value, 0.75, value >= 0.75)
        if self.leakage is not None:
            least = min(self.leakage["un_noised_psnr"].values())
            most = max(self.leakage["own_gain_when_noised"].values())
            found["PSNR of an un-noised update"] = (least, 25.0, least > 25.0)
            found["PSNR above grey and strangers when noised"] = (most, 1.0, most <= 1.0)
        return found

    @property
    def failed(self) -> bool:
        return not all(holds for _, _, holds in self.bars().values())


def percent(values: tuple[float, ...]) -> str:
    mean = 100 * sum(values) / len(values)
    if len(values) == 1:
        return f"{mean:.2f}"
    spread = 100 * math.sqrt(
        sum((v - mean / 100) ** 2 for v in values) / (len(values) - 1) / len(values)
    )
    return f"{mean:.2f} ± {spread:.2f}"


def markdown(found: Findings) -> str:
    parts = []
    if found.models:
        rows = [
            [
                one.set,
                one.model,
                f"{one.epsilon:g}",
                one.lies,
                percent(one.values),
                f"{one.cpu_seconds:.0f}",
                str(one.questions or ""),
                f"{one.bytes / 1e6:.0f}" if one.bytes else "",
            ]
            for one in found.models
        ]
        for (name, lies), figures in PAPER.items():
            told = ", ".join(f"{mode} {value}" for mode, value in figures.items())
            rows.append([name, "paper (no guarantee)", "", lies, told, "", "", ""])
        header = ["set", "model", "eps", "rows lie", "accuracy or AUROC, %", "CPU-s"]
        parts.append(table([*header, "questions", "MB in all"], rows))
    if found.placements:
        rows = [
            [one.set, one.placement, f"{one.receipt_epsilon:.3g}", percent(one.values)]
            for one in found.placements
        ]
        parts.append(table(["set", "noise", "eps of the receipt", "accuracy, %"], rows))
    if found.maps is not None:
        rows = [[key, f"{value:.3f}"] for key, value in found.maps.items() if _is_number(value)]
        parts.append(table(["heat maps (Grad-CAM)", "value"], rows))
    if found.trust:
        rows = [
            [
                one.trust,
                str(one.clients),
                f"{100 * one.value:.2f}",
                str(one.questions),
                f"{1000 * one.seconds_per_question:.0f}",
                f"{one.bytes_per_client / 1000:.1f}",
            ]
            for one in found.trust
        ]
        header = ["trust", "clients", "AUROC, %", "questions", "ms each", "kB per client"]
        parts.append(table(header, rows))
    bars = found.bars()
    if bars:
        rows = [
            [name, f"{value:.4g}", f"{limit:g}", "holds" if holds else "FAILS"]
            for name, (value, limit, holds) in bars.items()
        ]
        parts.append(table(["bar", "value", "limit", ""], rows))
    return "\n\n".join(parts)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def write(found: Findings, folder: Path) -> None:
    data = asdict(found)
    data["bars"] = {
        name: {"value": value, "limit": limit, "holds": holds}
        for name, (value, limit, holds) in found.bars().items()
    }
    write_findings(folder, "federated", data, markdown(found) + "\n")
