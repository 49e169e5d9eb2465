"""Sets of pictures: digits, clothes, faces and blood cells, with channels of one byte."""

from __future__ import annotations

import math

from voile.datasets.entry import Entry, StoredPictures
from voile.datasets.facts import Facts
from voile.schema import Category, Level, Number, Schema

CLOTHES = (
    "T-shirt/top",
    "Trouser",
    "Pullover",
    "Dress",
    "Coat",
    "Sandal",
    "Shirt",
    "Sneaker",
    "Bag",
    "Ankle boot",
)
MOODS = ("sad", "happy")
CELLS = ("EOSINOPHIL", "LYMPHOCYTE", "MONOCYTE", "NEUTROPHIL")

_BYTES = "pixels are bytes, 0 to 255; classes are those of its documentation"


def pixel_schema(shape: tuple[int, ...], classes: list[Level], brightest: float = 255) -> Schema:
    """Describe pictures of a shape, from black (0) to `brightest`, row by row."""
    count = math.prod(shape)
    digits = len(str(count - 1))
    names = (f"pixel_{k:0{digits}}" for k in range(count))
    return Schema({name: Number(0, brightest) for name in names}, target=Category(classes))


def entries() -> tuple[Entry, ...]:
    """Return the sets of pictures."""
    digits = Facts(
        name="mnist",
        title="MNIST handwritten digits",
        task="classification",
        rows=70_000,
        schema=pixel_schema((28, 28), list(range(10))),
        source="NIST forms of employees and pupils; LeCun, Cortes and Burges",
        bounds=_BYTES,
        licence="not stated",
        citation=(
            "LeCun, Y. et al. (1998). Gradient-based learning applied to document recognition. "
            "Proceedings of the IEEE 86, 2278-2324."
        ),
        splits=("train", "test"),
        image_shape=(28, 28),
    )
    clothes = Facts(
        name="fashion_mnist",
        title="Fashion-MNIST",
        task="classification",
        rows=70_000,
        schema=pixel_schema((28, 28), list(CLOTHES)),
        source="Pictures of the shop of Zalando",
        bounds=_BYTES,
        licence="MIT",
        citation="Xiao, H., Rasul, K. and Vollgraf, R. (2017). Fashion-MNIST. arXiv:1708.07747.",
        splits=("train", "test"),
        image_shape=(28, 28),
    )
    faces = Facts(
        name="fer",
        title="FER2013 faces, happy or sad",
        task="classification",
        rows=15_066,
        schema=pixel_schema((48, 48), list(MOODS)),
        source="Faces found by a search engine; Goodfellow et al. (2013), Kaggle",
        bounds=_BYTES,
        licence="for research (Kaggle)",
        citation=(
            "Goodfellow, I. et al. (2013). Challenges in representation learning. ICONIP, 117-124."
        ),
        note="Two of the seven moods. The splits are Training, PublicTest and PrivateTest.",
        splits=("train", "val", "test"),
        image_shape=(48, 48),
    )
    cells = Facts(
        name="blood_cells",
        title="White blood cells (BCCD), augmented",
        task="classification",
        rows=4_600,
        schema=pixel_schema((28, 28, 3), list(CELLS)),
        source="BCCD; a subset of dataset2 of Paul Mooney on Kaggle, made small",
        bounds=_BYTES,
        licence="MIT (BCCD)",
        citation="Shenggan. BCCD dataset.",
        note=(
            "Made from about 350 original pictures by turning and shifting, so that a promise for "
            "a row is none for a person."
        ),
        splits=("train", "test"),
        image_shape=(28, 28, 3),
    )
    return (
        Entry(digits, StoredPictures()),
        Entry(clothes, StoredPictures(CLOTHES)),
        Entry(faces, StoredPictures(MOODS)),
        Entry(cells, StoredPictures(CELLS)),
    )
