"""What an explainer answers from its summary: contributions, counterfactuals, synthetic rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from voile.errors import SettingError
from voile.explain.blackbox.counterfactuals import find_counterfactuals
from voile.explain.blackbox.local import BlackBoxLocalExplanation
from voile.explain.blackbox.opened import OpenedExplainer
from voile.explain.blackbox.shapley.contributions import Precision
from voile.explain.blackbox.synthetic.sampling import sample_table
from voile.explain.blackbox.synthetic.summary import PaidSummary
from voile.explain.counterfactuals.record import Counterfactuals
from voile.privacy.receipt import Receipt
from voile.progress import progress_bar


class FreeAnswers:
    """Answers of a `PrivateExplainer` that need the summary alone, and cost nothing after it."""

    _opened: OpenedExplainer

    @property
    def summary_(self) -> PaidSummary:
        """The released summary: private output, free to keep, copy and publish."""
        settings, summary = self._opened.settings, self._opened.summary
        if summary is None:
            raise SettingError(f"strategy={settings.strategy!r} has no summary: use 'summary'.")
        return summary

    @property
    def receipt_(self) -> Receipt:
        """What was paid so far and what it guarantees, also for the model's training data."""
        return self._opened.receipt

    def explain(
        self, Z: object, *, sampling_error: float = 0.0015, most_calls: int = 100_000
    ) -> BlackBoxLocalExplanation:
        """Why the model gave these rows their scores: what each column added to the average.

        Contributions are Shapley values against the released synthetic rows and add up to the
        score exactly; free of cost. Trees of scikit-learn are read and need no questions to the
        model; all else is asked about mixtures of the row with synthetic ones.

        Parameters
        ----------
        Z : table of shape (rows, columns), or one row
            The asker's own, as the model takes them: the explanation shows them.
        sampling_error : float
            When sampling stops: the standard error of every contribution by sampling, as a part of
            the model's public range (0.0015: 0.15 percentage points).
        most_calls : int
            How often the model may be asked for one row; sampling stops there in any case.

        Returns
        -------
        BlackBoxLocalExplanation
            A record that prints itself, draws itself in a notebook, and gives JSON. The same
            question has the same answer.

        Raises
        ------
        SettingError
            If the strategy is not "summary", which alone has rows that may be shown to the model.
        """
        precision = Precision(sampling_error, most_calls)
        stand_ins = self._opened.find_stand_ins("explain")
        asked = stand_ins.questions.read(Z)
        with progress_bar("explaining", asked.rows) as progress:
            return stand_ins.explain(Z, asked, precision, self.receipt_, progress)

    def counterfactuals(
        self,
        Z: object,
        want: object = None,
        *,
        change: Sequence[str] | None = None,
        keep: Sequence[str] = (),
        directions: Mapping[str, str] | None = None,
        most: int = 3,
        sure: bool = False,
    ) -> Counterfactuals:
        """What would have to change for another answer of the model; free.

        The model is asked about the row with some values changed to usual ones (of synthetic rows
        that were drawn from the summary). It tells what the model would answer, not what would
        happen to somebody who changes something.

        Parameters
        ----------
        Z : table of shape (rows, columns), or one row
            The asker's own, as the model takes them.
        want : object
            A class; a probability such as ">= 0.7" or {"ill": "<= 20 %"}; of a regressor a number
            (to be reached from where the row is), a range (low, high), or ">= 30". By default
            another class than the present one.
        change : sequence of str, optional
            Columns that may change: those that somebody can do something about. By default all.
        keep : sequence of str
            Columns that may not.
        directions : mapping of str to "up" or "down", optional
            Columns that may only rise or only fall: {"age": "up"}.
        most : int
            How many suggestions, which change different columns.
        sure : bool
            Whether rows that hardly differ from a suggested one must (four in five of them) get
            what is wanted, too. The smallest change ends just beyond the border, where little
            decides.

        Returns
        -------
        Counterfactuals
            A record that prints itself, draws itself in a notebook, and gives JSON.

        Raises
        ------
        SettingError
            If something is wanted that the model does not answer, a column is unknown, or the
            strategy has no summary.
        """
        stand_ins = self._opened.find_stand_ins("counterfactuals")
        return find_counterfactuals(
            stand_ins.questions,
            stand_ins.questions.predict,
            stand_ins.drawn,
            stand_ins.answers,
            self.receipt_,
            Z,
            want,
            change=change,
            keep=keep,
            directions=directions,
            most=most,
            sure=sure,
            public=stand_ins.public,
        )

    def sample(self, n: int, *, random_state: int = 0) -> Any:
        """Synthetic rows from what was bought, in the form that the model takes; free, for anyone.

        **Good for** trying out code, looking at the distribution of a column and at pairs of
        columns, and as a background of explanations (SHAP, LIME). **Not good for** rare groups,
        relations of three or more columns, questions of causes, and training a final model: only
        single columns and pairs of columns were measured, with noise. No synthetic row stands for
        a person; who reads them learns no more than the guarantee of `receipt_` allows.

        Parameters
        ----------
        n : int
            How many rows.
        random_state : int
            Of public choices; never of noise.

        Returns
        -------
        data frame, array, mapping or list
            As the private table was given (a pandas frame where it was a path); the attribute
            ``attrs`` of a pandas frame says the above and the guarantee.

        Raises
        ------
        SettingError
            If the strategy has no summary, or ``n`` is no count.
        """
        stand_ins, summary = self._opened.find_stand_ins("sample"), self.summary_
        drawn = {} if stand_ins.public else {stand_ins.seed: stand_ins.drawn}
        given = stand_ins.questions.given
        return sample_table(summary, given, n, random_state, self.receipt_, drawn)
