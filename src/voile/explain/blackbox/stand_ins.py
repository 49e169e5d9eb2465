"""What a summary gives to explain by: synthetic rows, what the model says of them, and answers.

Synthetic rows stand in for the private ones. The model is asked about them once; slopes and
contributions of any row are then post-processing of released values.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from voile.explain.blackbox.answers.answering import Progress
from voile.explain.blackbox.answers.questions import AskedRows, Questions
from voile.explain.blackbox.local import BlackBoxLocalExplanation
from voile.explain.blackbox.rows.points import ONE
from voile.explain.blackbox.shapley.background import Backgrounds
from voile.explain.blackbox.shapley.contributions import Precision, ShapleyAnswerer
from voile.explain.blackbox.synthetic.population import Population
from voile.explain.blackbox.synthetic.summary import SyntheticRows
from voile.explain.blackbox.units import OWN_UNIT, PROBABILITY
from voile.privacy.receipt import Receipt

Floats = NDArray[np.float64]

COST = "costs nothing: computed from the summary that was paid for once"


@dataclass(frozen=True, eq=False)
class StandIns:
    """Synthetic rows, and what the model says of them.

    Attributes
    ----------
    drawn : SyntheticRows
        Encoded.
    questions : Questions
    answers : ndarray of shape (rows, outputs)
        What the model says of them, in its own unit.
    seed : int
        Of public choices.
    public : bool
        Whether they are rows that the user gave as public, and not drawn.
    """

    drawn: SyntheticRows
    questions: Questions
    answers: Floats
    seed: int
    public: bool

    @classmethod
    def ask(
        cls, drawn: SyntheticRows, questions: Questions, seed: int, *, public: bool
    ) -> StandIns:
        """Ask the model about synthetic rows."""
        return cls(drawn, questions, questions.predict(drawn.columns, drawn.rows), seed, public)

    def ask_model(self, questions: Questions) -> StandIns:
        """The same rows and another model."""
        found = questions.predict(self.drawn.columns, self.drawn.rows)
        return replace(self, questions=questions, answers=found)

    @cached_property
    def population(self) -> Population:
        """The rows as points, for local surrogates."""
        drawn, questions = self.drawn, self.questions
        points = questions.space.place(drawn.columns, drawn.rows) / ONE
        answers = questions.black_box.scale(self.answers)
        return Population(points, answers, drawn.weights, drawn.reweightings)

    @cached_property
    def shapley(self) -> ShapleyAnswerer:
        """Attributes scores to columns."""
        drawn = self.drawn
        backgrounds = Backgrounds(self.population.points, self.answers, drawn.weights, drawn.noise)
        return ShapleyAnswerer(self.questions, drawn.columns, self.answers, backgrounds, self.seed)

    def explain(
        self,
        Z: object,
        asked: AskedRows,
        precision: Precision,
        receipt: Receipt,
        progress: Progress,
    ) -> BlackBoxLocalExplanation:
        """Contributions of asked rows."""
        questions, shapley = self.questions, self.shapley
        scores = questions.predict(asked.columns, asked.rows)
        found = shapley.attribute(asked.columns, scores, precision, progress)
        given, read_as = questions.tell_rows(Z)
        picture = questions.given.image_shape
        pixels = np.zeros((asked.rows, 0))
        if picture is not None:
            given = read_as = ((),) * asked.rows
            strengths = questions.space.features.encode(asked.columns, asked.rows)
            pixels = (np.nan_to_num(strengths.astype(np.float64)) + 1.0) / 2.0
        shape = (asked.rows, len(shapley.players), len(questions.black_box.outputs))
        return BlackBoxLocalExplanation(
            outputs=questions.black_box.outputs,
            units=PROBABILITY if questions.black_box.is_classifier else OWN_UNIT,
            receipt=receipt,
            cost=COST,
            columns=shapley.players.names,
            given=given,
            read_as=read_as,
            values=found.values.reshape(shape),
            standard_errors=found.standard_errors.reshape(shape),
            sampling_errors=found.sampling_errors.reshape(shape),
            base_values=shapley.backgrounds.base_values,
            base_errors=shapley.backgrounds.base_errors,
            scores=scores,
            background=found.background,
            calls=found.calls,
            exact=found.exact,
            picture=picture,
            patch=shapley.players.patch,
            pixels=pixels,
            words=bool(questions.given.vocabulary),
            texts=questions.texts(Z),
        )
