"""Receipts of FedAvgClassifier: who is protected from whom, or that nobody is."""

import math

import pytest
from dp_accounting import dp_event, pld
from fedavg_clients import NO_GUARANTEE, PUBLISHED, classifier, federation

from voile import Budget, Ledger
from voile.privacy.events import Gaussian
from voile.privacy.gaussian_dp import epsilon_of
from voile.privacy.noise import fixed_noise


@pytest.mark.parametrize("noise", NO_GUARANTEE)
def test_modes_without_a_guarantee_say_so_and_why(noise):
    receipt = classifier(noise).fit_federated(federation()).receipt_
    assert receipt.has_guarantee is False
    assert "no guarantee" in receipt.guarantee
    assert receipt.epsilon == math.inf
    text = " ".join(receipt.notes)
    if noise == "none":
        assert "without noise: nobody is protected" in text
    else:
        assert "The published algorithm calls this epsilon 8" in text
        assert "It is no guarantee" in text
    assert ("without any noise, and which ones" in text) is (noise in PUBLISHED[1:])
    assert "protects each row" not in text


def test_raised_noise_is_said():
    receipt = classifier("dp_faithful", noise_factor=5.0).fit_federated(federation()).receipt_
    assert "raised by the factor 5" in " ".join(receipt.notes)


def test_the_receipt_of_a_guarantee_for_clients():
    settings = {"fraction": 0.25, "rounds": 20, "epsilon": 0.5, "delta": 1e-4}
    model = classifier("client", **settings).fit_federated(federation(clients=12, rows=2))
    receipt = model.receipt_
    assert receipt.unit == "client"
    assert receipt.has_guarantee
    assert "for one client added or removed" in receipt.guarantee
    text = " ".join(receipt.notes)
    assert "protects each client, with all of its rows" in text
    assert "is trusted" in text
    assert "protects each row" not in text
    # An accountant of its own, both for clients and for a single row.
    event = receipt.lines[0].event
    whole = dp_event.SelfComposedDpEvent(
        dp_event.PoissonSampledDpEvent(0.25, dp_event.GaussianDpEvent(event.noise_multiplier)), 20
    )
    for_client = pld.PLDAccountant().compose(whole).get_epsilon(receipt.delta)
    assert receipt.epsilon == pytest.approx(for_client, rel=0.01)
    assert receipt.epsilon <= 0.5
    replaced = dp_event.SelfComposedDpEvent(
        dp_event.PoissonSampledDpEvent(0.25, dp_event.GaussianDpEvent(event.noise_multiplier / 2)),
        20,
    )
    doubled = pld.PLDAccountant().compose(replaced).get_epsilon(receipt.delta)
    said = float(text.split("it is (")[1].split(",")[0])
    assert receipt.epsilon < said <= doubled * 1.01


def test_a_row_costs_more_than_a_client_when_all_take_part():
    """A row may move its client's update by twice the clip: half of sigma, in closed form."""
    receipt = classifier("client", epsilon=1.0, delta=1e-3).fit_federated(federation()).receipt_
    sigma = receipt.lines[0].event.noise_multiplier
    said = float(" ".join(receipt.notes).split("it is (")[1].split(",")[0])
    assert said == pytest.approx(epsilon_of(2 * math.sqrt(2) / sigma, 1e-3), rel=1e-3)
    assert said > 2.0


def test_where_a_client_is_replaced_a_row_costs_the_same():
    ledger = Ledger(Budget(8.0, 0.1), relation="replace_one")
    own = {f"client {k}": Ledger(Budget(math.inf, 0.1), relation="replace_one") for k in range(6)}
    made = classifier("client", epsilon=1.0, delta=1e-3, ledger=ledger)
    receipt = made.fit_federated(federation(ledgers=own)).receipt_
    said = float(" ".join(receipt.notes).split("it is (")[1].split(",")[0])
    assert said == pytest.approx(receipt.epsilon, rel=1e-3)


def test_all_clients_in_every_round_is_a_plain_gaussian():
    receipt = classifier("client").fit_federated(federation()).receipt_
    assert isinstance(receipt.lines[0].event, Gaussian)
    assert receipt.delta == 0.1  # 6 ** -1.1 is more
    assert receipt.lines[0].openings == 2


def test_an_infinite_epsilon_guarantees_clients_nothing():
    receipt = classifier("client", epsilon=math.inf).fit_federated(federation()).receipt_
    assert not receipt.has_guarantee
    assert "no guarantee" in " ".join(receipt.notes)
    assert "protects each client" not in " ".join(receipt.notes)


def test_fixed_noise_is_no_guarantee():
    with fixed_noise(1):
        receipt = classifier("client").fit_federated(federation()).receipt_
    assert not receipt.has_guarantee
