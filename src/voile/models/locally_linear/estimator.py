"""LocallyLinearClassifier: private linear maps that a person can look at."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, Self

from voile.models.classes import Classes
from voile.models.classifier import ScoringClassifier
from voile.models.fit import FitJob
from voile.models.locally_linear.files import SavedLocallyLinear
from voile.models.locally_linear.fit import fit_model
from voile.models.locally_linear.model import LocallyLinearModel
from voile.models.locally_linear.settings import Basis, Centring, Preset, Settings
from voile.models.locally_linear.teacher import learn
from voile.privacy.ledger import Ledger
from voile.schema import Level, Schema

Auto = Literal["auto"]


class LocallyLinearClassifier(ScoringClassifier):
    """Private classes by locally linear maps: a few linear maps per class, blended row by row.

    The score of a class is the mean of its maps, weighted by how well each fits the row, so every
    answer is explained by maps of the input's own shape: pictures for pictures, signed bars for
    tables (Harder, Bauer & Park 2020). Trained on noised sums of gradients whose lengths are known
    in closed form.

    Parameters
    ----------
    epsilon, delta : float
        Budget of one fit; ``epsilon=inf`` trains without noise and without a guarantee. Delta is by
        default 1e-6, and at most 0.01 / rows where the schema tells the number of rows.
    schema : Schema, optional
        What is public: bounds, levels, classes. What it lacks is found privately, for a share of
        the budget.
    ledger : Ledger, optional
        Where the fit is recorded; by default one of its own.
    classes : list, optional
        The classes of the target, where no schema lists them: ``[0, 1]``. Without them they are
        found privately.
    positive : class, optional
        Which of two classes explanations, reports and exports speak of (its log-odds, its
        probability); by default the second, or yes where yes and no are found. `classes_`, and with
        it ``predict_proba`` and ``decision_function``, is sorted then, as scikit-learn has it.
    image_shape : tuple of int, optional
        (height, width) or (height, width, channels) if the columns are the pixels of pictures, row
        by row, channels last; an array of pictures needs none. Pixels of type uint8 are known to
        lie from 0 to 255; the range of others, if the schema does not say it, is found privately
        among the usual ones.
    preset : {"accurate", "readable"}
        "readable" takes few maps and holds them near the private means of their classes, so that
        single linear maps can be read; it costs up to two points of accuracy.
    maps : int or "auto"
        Maps per class.
    inverse_temperature : float or "auto"
        Large: the best map of a class decides alone; small: all blend.
    projection : int, optional
        Train behind random projections to so many coordinates, as published, instead of in a
        smooth basis.
    shared_projection : bool
        One projection for all maps instead of one for each.
    basis : {"auto", "smooth", "plain"}
        Pictures are trained in low frequencies ("smooth"), which are fewer than pixels.
    window : bool
        Whether pictures fade at their border first, for linear maps that end smoothly.
    centring : {"auto", "private", "fixed", "none"}
        What is subtracted from rows: a private mean (from the budget), the middle of the public
        bounds, or nothing.
    normalise : bool or "auto"
        Whether rows are brought to length 1.
    copies : bool or "auto"
        Whether gradients are averaged over slightly moved copies of each picture (no cost in
        privacy, more in time).
    sampling_rate, steps, clip, learning_rate : number or "auto"
        Part of the rows in each lot, number of lots, bound of a row's gradient, size of steps.
    random_state : int, optional
        Seeds public choices (the maps' start, projections); never noise.

    Attributes
    ----------
    linear_maps_ : ndarray of shape (classes, maps, features)
        The maps as weights of the features.
    model_ : LocallyLinearModel
    classes_ : ndarray of shape (classes,)
    receipt_ : Receipt
    training_settings_ : dict, or None
        Parameters of the fit as plain data; None if a file of an earlier version lacks them.

    Examples
    --------
    >>> import numpy as np
    >>> from voile import Category, LocallyLinearClassifier, Number, Schema
    >>> X = np.random.default_rng(0).normal(size=(2000, 2)) + np.repeat([[0, 0], [4, 4]], 1000, 0)
    >>> y = np.repeat(["well", "ill"], 1000)
    >>> schema = Schema(
    ...     {"a": Number(-5, 10), "b": Number(-5, 10)}, target=Category(["well", "ill"])
    ... )
    >>> model = LocallyLinearClassifier(epsilon=1.0, schema=schema).fit(X, y)
    >>> print(model.predict([[0, 0], [4, 4]]))
    ['well' 'ill']
    """

    _settings_kind = Settings
    model_: LocallyLinearModel

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float | None = None,
        schema: Schema | None = None,
        ledger: Ledger | None = None,
        classes: Classes | None = None,
        positive: Level | None = None,
        image_shape: tuple[int, ...] | None = None,
        preset: Preset = "accurate",
        maps: int | Auto = "auto",
        inverse_temperature: float | Auto = "auto",
        projection: int | None = None,
        shared_projection: bool = False,
        basis: Basis = "auto",
        window: bool = False,
        centring: Centring = "auto",
        normalise: bool | Auto = "auto",
        copies: bool | Auto = "auto",
        sampling_rate: float | Auto = "auto",
        steps: int | Auto = "auto",
        clip: float | Auto = "auto",
        learning_rate: float | Auto = "auto",
        random_state: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.schema = schema
        self.ledger = ledger
        self.classes = classes
        self.positive = positive
        self.image_shape = image_shape
        self.preset = preset
        self.maps = maps
        self.inverse_temperature = inverse_temperature
        self.projection = projection
        self.shared_projection = shared_projection
        self.basis = basis
        self.window = window
        self.centring = centring
        self.normalise = normalise
        self.copies = copies
        self.sampling_rate = sampling_rate
        self.steps = steps
        self.clip = clip
        self.learning_rate = learning_rate
        self.random_state = random_state

    def fit(self, X: object, y: object = None) -> Self:
        """Train on private rows.

        Parameters
        ----------
        X : data frame, array, mapping, or path of Parquet files; shape (rows, columns)
            An array of shape (rows, height, width[, channels]) holds pictures.
        y : array of shape (rows,), or the name of the target column

        Returns
        -------
        self
        """
        return self._fit(X, y)

    def _train(self, job: FitJob, settings: Settings) -> LocallyLinearModel:
        return fit_model(job, settings)

    def learn_from(self, teacher: Any, X: object = None, *, rows_are_public: bool = False) -> Self:
        """Learn from a richer private model, at no cost: private rows are not looked at.

        Names, bounds and levels are those of the estimator's schema, or of the teacher's; nothing
        of that kind is read off ``X``.

        Parameters
        ----------
        teacher : object
            Any classifier with ``predict_proba`` and a receipt (``receipt_``, a `Receipt`): what
            it answers follows from what its training released.
        X : table of shape (rows, columns), or array of pictures, optional
            Public rows; None makes rows up from the schema (tables only).
        rows_are_public : bool
            Your word that anybody may see ``X``, needed with it: means of these rows stand in the
            model, and neither noise nor a receipt covers them.

        Returns
        -------
        self
            Its receipt is the teacher's; a note says if rows were given as public.
        """
        with self._reading(X):
            X = self._flat(X)
            settings = self._settings()
        self.model_ = learn(teacher, X, self.schema, settings, rows_are_public=rows_are_public)
        self._describe()
        self._describe_rows(X)
        return self

    def _describe(self) -> None:
        super()._describe()
        self.linear_maps_ = self.model_.linear_maps

    @classmethod
    def _told_by(cls, model: LocallyLinearModel) -> dict[str, Any]:
        return {
            "image_shape": model.image_shape,
            "maps": model.maps,
            "inverse_temperature": model.beta,
        }

    def _write(self, path: str | Path) -> Path:
        return SavedLocallyLinear.write(self.model_, path, self.training_settings_)


def load_estimator(data: Any) -> LocallyLinearClassifier:
    """A fitted estimator from what `save` wrote."""
    return LocallyLinearClassifier._from_model(SavedLocallyLinear.model_of(data), data)
