"""PrivateExplainer: explains any model without giving away the rows behind the explanation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from voile.errors import SettingError
from voile.explain.blackbox.answers import opening
from voile.explain.blackbox.answers.answer import Answer
from voile.explain.blackbox.answers.answering import FromRows
from voile.explain.blackbox.answers.questions import Questions
from voile.explain.blackbox.free_answers import FreeAnswers
from voile.explain.blackbox.opened import open_explainer
from voile.explain.blackbox.public_check import ask_for_quality
from voile.explain.blackbox.quality import Quality
from voile.explain.blackbox.rows.black_box import Scores
from voile.explain.blackbox.rows.given_model import read_model
from voile.explain.blackbox.rows.given_rows import read_rows
from voile.explain.blackbox.settings import Settings, Strategy, Weighting, usual_radius
from voile.explain.blackbox.solvers.weights import Weight, WeightName
from voile.explain.blackbox.surrogate.local_surrogate import LocalSurrogate
from voile.explain.blackbox.synthetic.crossover import choose_strategy
from voile.privacy.budget import Budget
from voile.privacy.ledger import Ledger
from voile.privacy.origins import uses_of
from voile.privacy.vault import protect
from voile.progress import progress_bar
from voile.schema import Schema

Floats = NDArray[np.float64]

_OF_MODEL, _OF_WEIGHT = ("output", "scores", "output_range"), ("weight", "width", "c")


class PrivateExplainer(FreeAnswers):
    """Explain any model around single rows, from a private table, for one price paid once.

    By default ("summary") one private summary of the table is bought when the explainer is made;
    every explanation is then free, for ever, and the model is never asked about a private row.
    `explain` tells what each column of a row added to its score (contributions), `explain_slopes`
    how the score changes around the row (a local surrogate).

    Parameters
    ----------
    model : object
        A fitted scikit-learn classifier or regressor, one of this library, the path of a saved one,
        or a function from rows to scores of shape (rows,) or (rows, outputs) in [-1, 1].
    X : table of shape (rows, columns), pictures, texts, or path of Parquet files
        Private: the rows behind the explanations, as the model takes them.
    schema : Schema, optional
        What is public; what it lacks is found privately for 15 % of the budget (of mu^2).
    epsilon, delta : float
        The price, in all. Delta is by default 1e-6, and at most 0.01 / rows of the schema.
    ledger : Ledger, optional
        The budget of the data set; by default one in memory that holds just this price.
    strategy : {"summary", "release", "interactive", "adaptive", "enhanced", "offline", "auto"}
        "release" buys a noised pair (A, b) per question, best for few questions at a large epsilon.
        "interactive", "adaptive" and "enhanced" are the published algorithms (Patel, Shokri & Zick
        2022), made sound. "offline" answers from stored answers of an earlier explainer of the
        same name and never reads rows. "auto" chooses by `queries`, the public row count and
        epsilon. When the budget is gone, new questions are refused, or answered "offline" if
        questions are shared.
    shared_questions : bool
        Whether all who ask under this `name` may know the rows asked about: because these are
        public, or one person asks alone. Needed by "adaptive", "enhanced" and "offline", by which
        earlier questions serve later ones. Otherwise no answer depends on what others asked.
    key : str or path, optional
        File of the key under which answers are kept, made if it is missing. By default it lies
        beside the ledger's file; a ledger in PostgreSQL needs it named. A summary needs none.
    queries : int
        Into how many questions at full price the budget is divided, where each costs something.
    output : object, optional
        One class (by label) or output (by position); by default all, of two classes the second.
    scores : {"auto", "probabilities", "labels"}
        What of a classifier is explained: 2 p - 1, or labels as +1 and -1.
    output_range : tuple of float, optional
        Public bounds of a regressor's predictions or a function's answers.
    weight : {"stable", "exponential", "gaussian"} or callable, optional
        How rows count for slopes by their distance; a function is checked against the envelope.
        By default a Gaussian as wide for each row as 30 % of the table allow ("summary"), or
        "stable", which describes nearly the whole table (strategies that read rows).
    width, c : float
        Of the weight, see `voile.explain.blackbox.solvers.weights.read_weight`.
    radius : float, optional
        Largest length of a local model's coefficients; 2/3 of the root of the number of columns,
        but within 2.5 and 5, unless given.
    intercept : bool
        Whether local models have one. ``radius=1, intercept=False`` is the published setting.
    steps : int
        Most gradient steps per question of the published algorithms.
    parts : int
        For "release": questions asked together look at disjoint parts of the table each.
    faithful : bool
        The published adaptive rule as it is, for comparison: the receipt says "no guarantee".
    vocabulary : sequence of str, optional
        Public words, if rows are texts.
    texts_to_model : bool
        Whether the model reads texts instead of the table of words.
    image_shape : tuple of int, optional
        (height, width[, channels]) if rows are pictures.
    public : table, optional
        Public rows like the private ones: they stand in for synthetic rows.
    name : str
        Under which answers are kept beside the ledger. An explainer made again with the same name
        finds what was paid for.
    random_state : int
        Of public choices, such as synthetic rows; never of noise.

    Examples
    --------
    >>> import numpy as np
    >>> from voile import Number, PrivateExplainer, Schema
    >>> X = np.random.default_rng(0).uniform(0, 1, (2000, 2))
    >>> schema = Schema({"age": Number(0, 1), "dose": Number(0, 1)})
    >>> explainer = PrivateExplainer(lambda X: X[:, 0] - X[:, 1], X, schema=schema, epsilon=1)
    >>> explainer.explain([[0.2, 0.3]]).top(1)[0].column in ("age", "dose")
    True
    """

    def __init__(
        self,
        model: Any,
        X: object,
        *,
        schema: Schema | None = None,
        epsilon: float = 1.0,
        delta: float | None = None,
        ledger: Ledger | None = None,
        strategy: Strategy | Literal["auto"] = "summary",
        shared_questions: bool = False,
        key: str | Path | None = None,
        queries: int = 1000,
        output: object = None,
        scores: Scores = "auto",
        output_range: tuple[float, float] | None = None,
        weight: WeightName | Callable[[Floats], Floats] | Weight | None = None,
        width: float | None = None,
        c: float = 1.0,
        radius: float | None = None,
        intercept: bool = True,
        steps: int = 300,
        parts: int = 1,
        faithful: bool = False,
        vocabulary: Sequence[str] | None = None,
        texts_to_model: bool = False,
        image_shape: tuple[int, ...] | None = None,
        public: object = None,
        name: str = "explainer",
        random_state: int = 0,
    ) -> None:
        budget = Budget.of_job(epsilon, delta, None if schema is None else schema.rows)
        if not isinstance(name, str) or not 0 < len(name) <= 150:
            raise SettingError(f"The 'name' must be text of 1 to 150 letters. Got {name!r}.")
        black_box = read_model(
            model,
            output=output,
            scores=scores,
            output_range=output_range,
            target=None if schema is None else schema.target,
        )
        rows, described, given = read_rows(
            X,
            schema=schema,
            names_read=black_box.names_read,
            vocabulary=vocabulary,
            image_shape=image_shape,
            texts_to_model=texts_to_model,
        )
        table = protect(rows, schema=None if described is None else described.with_target(None))
        if strategy == "auto":
            strategy = choose_strategy(queries, table.schema, budget)
        self._target = None if schema is None else schema.target
        self._weighting = Weighting(weight, width, c)
        settings = Settings(
            strategy=strategy,
            weight=self._weighting.table,
            local=self._weighting.is_local and strategy == "summary",
            radius=usual_radius(table.schema) if radius is None else radius,
            intercept=bool(intercept),
            queries=queries,
            steps=steps,
            parts=parts,
            faithful=bool(faithful),
            random_state=random_state,
            shared_questions=bool(shared_questions),
        )
        self._opened = open_explainer(
            table,
            Questions(table.schema, given, black_box),
            settings,
            budget,
            opening.find_ledger(ledger, budget, uses_of(X), faithful=bool(faithful)),
            name,
            key,
            public,
        )

    # -- answering -------------------------------------------------------------------------------

    def explain_slopes(self, Z: object) -> LocalSurrogate:
        """How the score changes around these rows: a linear model of the black box near each.

        Parameters
        ----------
        Z : table of shape (rows, columns), or one row
            The asker's own, as the model takes them: the explanation shows them.

        Returns
        -------
        LocalSurrogate
            Slopes, and how far to trust them. The same question has the same answer, at no further
            cost.

        Raises
        ------
        BudgetExceeded
            If some rows cannot be paid for; what was answered is kept, and free when asked again.
        """
        opened = self._opened
        asked = opened.questions.read(Z)
        scores = opened.questions.predict(asked.columns, asked.rows)
        with progress_bar("explaining", asked.rows) as progress:
            answers = opened.answerer.answer(asked.points, progress)
        return opened.questions.tell(Z, asked, scores, answers, opened.settings, self.receipt_)

    # -- what was paid, and how good it is -------------------------------------------------------

    @property
    def strategy_(self) -> str:
        """The strategy in use ("auto" has chosen)."""
        return self._opened.settings.strategy

    @property
    def schema_(self) -> Schema:
        """What is known of the columns, with what was found privately."""
        return self._opened.questions.schema

    def history(self) -> tuple[Answer, ...]:
        """Every answer so far, oldest first, if questions are shared; else nothing.

        Answers tell which rows were asked about: show them to those alone who may know that.
        """
        answerer = self._opened.answerer
        return answerer.history if isinstance(answerer, FromRows) else ()

    def with_model(self, model: Any, **changes: Any) -> PrivateExplainer:
        """Explain another model, or with another weight or radius, from the same summary: free.

        Parameters
        ----------
        model : object
            As for the constructor; None keeps the model.
        **changes
            ``output``, ``scores``, ``output_range`` (with a new model), ``weight``, ``width``,
            ``c``, ``radius``, ``intercept``.
        """
        opened = self._opened
        opened.find_stand_ins("with_model")
        asked = {key: changes.pop(key) for key in _OF_MODEL if key in changes}
        weights: dict[str, Any] = {key: changes.pop(key) for key in _OF_WEIGHT if key in changes}
        fits = {key: changes.pop(key) for key in ("radius", "intercept") if key in changes}
        if changes or (asked and model is None):
            raise SettingError(
                f"Nothing else can change without paying again, or without a model: "
                f"{', '.join(sorted(changes or asked))}."
            )
        before = Weighting() if "weight" in weights else self._weighting
        weighting = replace(before, **weights)
        settings = replace(
            opened.settings, weight=weighting.table, local=weighting.is_local, **fits
        )
        questions = None
        if model is not None:
            black_box = read_model(model, target=self._target, **asked)
            questions = replace(opened.questions, black_box=black_box)
        other = object.__new__(PrivateExplainer)
        other.__dict__.update(self.__dict__)
        other._weighting = weighting
        other._opened = opened.with_settings(settings, questions)
        return other

    def quality(self, public: object, *, asked: object = 200) -> Quality:
        """How good explanations are, measured on public rows like the private ones.

        Parameters
        ----------
        public : table of shape (rows, columns)
            Public: its rows stand in for those of the private table.
        asked : int, or table
            How many of the public rows are asked about, or rows to ask about. Where questions cost
            something, so does this.
        """
        return self._measure(public, asked, None)

    def quality_by(
        self, group: str | Sequence[Any], public: object, *, asked: int = 400
    ) -> Quality:
        """The same for each group of the asked rows: what minorities pay.

        Parameters
        ----------
        group : str, or sequence of shape (rows,)
            A column of the schema (numbers are cut at their middle), or the group of each row.
        public : table of shape (rows, columns)
        asked : int
        """
        return self._measure(public, asked, group)

    def _measure(self, public: object, asked: object, group: str | Sequence[Any] | None) -> Quality:
        return ask_for_quality(
            self._opened.questions,
            self._opened.answerer,
            self._opened.settings,
            lambda: self.receipt_,
            public,
            asked,
            group,
        )
