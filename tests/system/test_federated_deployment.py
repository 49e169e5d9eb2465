"""A federation over Flower on this machine: TLS, known nodes, and all that can befall them."""

import importlib
import json
import sys
from pathlib import Path

import flwr  # noqa: F401
import pytest

if sys.platform == "win32":
    pytest.skip("needs Unix sockets and process groups", allow_module_level=True)

EXAMPLE = Path(__file__).parents[2] / "examples" / "federated"


@pytest.fixture
def deployment(monkeypatch):
    """The example's module; its neighbours are imported by their bare names."""
    monkeypatch.syspath_prepend(str(EXAMPLE))
    before = set(sys.modules)
    yield importlib.import_module("deployment")
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(EXAMPLE)):
            del sys.modules[name]


SITES = ("north", "east", "south", "west", "centre")

# One column: each access to the rows is one round of Flower, of about five seconds. A client
# that was away is asked again every fifth question: there are two such occasions for the
# restarted one.
CONFIG = {
    "clients": 5, "rows": 1500, "columns": "schooling", "rounds-of-model": 10, "dropouts": 3,
    "trust": "shares", "partition": "iid", "timeout": 25.0, "authenticated": True,
    "epsilon": 4.0, "client-epsilon": 8.0,
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.waits
def test_strangers_stay_outside(deployment, tmp_path):
    with deployment.Deployment(tmp_path / "place", ("north",)) as place:
        place.start_superlink()
        # Whoever is not registered, or does not speak TLS, is refused.
        forged = deployment.make_node_files(tmp_path / "place" / "keys", "forged").private
        about = {"client-name": "north"}
        place.start_supernode("north", about)
        stranger = place.start_supernode("stranger", about, key=forged)
        plain = place.start_supernode("plain", about, tls=False)
        assert stranger.wait(60) != 0
        assert plain.wait(60) != 0
        place.wait_until(
            lambda: "[Fleet.ActivateNode] Activated" in place.log_of("superlink"), 60, "north"
        )
        superlink = place.log_of("superlink")
        assert "No SuperNode found with the given public key" in superlink
        assert "Failed to activate SuperNode" in place.log_of("stranger")
        # In whichever words the transport puts it: nobody who speaks without TLS gets in.
        refused = ("Server disconnected without sending a response", "Connection attempt failed")
        assert any(words in place.log_of("plain") for words in refused)
        assert superlink.count("[Fleet.ActivateNode] Activated") == 1
        assert "https://127.0.0.1" in superlink


@pytest.mark.slow
@pytest.mark.waits
def test_training_survives_a_death_a_restart_and_a_late_answer(deployment, tmp_path):
    settings, trouble = map(importlib.import_module, ("settings", "trouble"))
    output = tmp_path / "output"
    config = {**CONFIG, "output": str(output)}
    with deployment.Deployment(tmp_path / "place", SITES) as place:
        place.start_superlink()
        place.open_sites(settings.read_config(config))
        place.run_app(config)
        trouble.Trouble(place, dead="south", restarted="west", late="centre").make(print)
        place.finish(300)
        logs = {name: place.log_of(name) for name in (*SITES, "run")}

    # The model is there, and guarantees what was asked for.
    result = json.loads((output / "result.json").read_text(encoding="utf-8"))
    assert sorted(result["clients"]) == sorted(SITES)
    receipt = json.loads((output / "receipt.json").read_text(encoding="utf-8"))
    assert receipt["epsilon"] == pytest.approx(4.0)
    assert (output / "model.json").stat().st_size > 1000
    assert (output / "model.html").stat().st_size > 1000

    # Those who failed are named, with what they missed first.
    first = {one["client"]: (one["at"], one["reason"]) for one in reversed(result["incidents"])}
    assert set(first) == {"south", "west", "centre"}
    assert {name: at for name, (at, _) in first.items()} == {
        "south": "bins of numbers 0",
        "west": "bins of numbers 0",
        "centre": "rounds 1",
    }
    assert all(reason.startswith("it did not answer within") for _, reason in first.values())

    # Desks outlived the messages; the one that was killed was opened once more.
    assert {name: logs[name].count("ClientAgent open") for name in SITES} == {
        "north": 1, "east": 1, "south": 1, "west": 2, "centre": 1,
    }  # fmt: skip
    assert not any("Traceback" in text for text in logs.values())

    journal = trouble.read_journal(output)
    released = {
        (line["look"].label, line["look"].index): (line["attempt"], line["answered"])
        for line in journal
        if line["line"] == "release"
    }
    assert len(released) == 12
    folder = tmp_path / "place" / "sites"
    accounts = {name: trouble.read_account(folder, name, journal[0]["job"]) for name in SITES}
    for one in accounts.values():
        # Paid once, whatever happened; every attempt at an access answered at most once.
        assert len(one.paid) == 1
        assert one.planned == 12
        assert len(set(one.answered)) == len(one.answered)
        assert one.accesses <= set(released)
        assert list(one.answered) == sorted(
            one.answered, key=lambda a: (list(released).index(a[:2]), a[2])
        )

    # No sum was released over others than those who answered it: the server did not add a late one.
    for (step, index), (attempt, answered) in released.items():
        who = {name for name, one in accounts.items() if (step, index, attempt) in one.answered}
        assert len(who) == answered
    for name in ("north", "east"):
        assert accounts[name].accesses == set(released)
    assert accounts["south"].accesses == {("the target", 0)}

    # The late answer was given, to the first attempt, and the sum was finished without it.
    assert ("rounds", 1, 0) in accounts["centre"].answered
    assert ("rounds", 1, 1) not in accounts["centre"].answered
    assert released["rounds", 1] == (1, 2)
    assert ("rounds", 9) in accounts["centre"].accesses

    # The restarted client answered before and after, and nothing in between.
    west = accounts["west"].accesses
    assert ("the target", 0) in west
    assert ("rounds", 9) in west
    assert not west & {("bins of numbers", 0), ("rounds", 0), ("rounds", 1)}
