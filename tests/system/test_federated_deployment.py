"""A federation over Flower on this machine: TLS, authenticated nodes, and one that is killed."""

import importlib
import json
import sys
from pathlib import Path

import pytest

pytest.importorskip("flwr", reason="needs the extra voile[federated]")
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


@pytest.mark.slow
def test_training_survives_a_killed_node_and_strangers_stay_outside(deployment, tmp_path):
    settings = importlib.import_module("settings")
    sites = ("north", "east", "south")
    output = tmp_path / "output"
    # One column and one round: six questions, and Flower takes about five seconds for each.
    config = {
        "clients": 3, "rows": 900, "columns": "schooling", "rounds-of-model": 1, "dropouts": 1,
        "trust": "shares", "partition": "iid", "timeout": 25.0, "authenticated": True,
        "epsilon": 4.0, "client-epsilon": 8.0, "output": str(output),
    }  # fmt: skip
    with deployment.Deployment(tmp_path / "place", sites) as place:
        place.start_superlink()
        place.open_sites(settings.read_config(config))
        place.run_app(config)

        # Whoever is not registered, or does not speak TLS, is refused.
        forged = deployment.make_node_files(tmp_path / "place" / "keys", "forged").private
        about = {"client-name": "north"}
        stranger = place.start_supernode("stranger", about, key=forged)
        plain = place.start_supernode("plain", about, tls=False)

        # It has the question of the fourth round, and never answers it.
        place.wait_until(
            lambda: (
                "ROUND 4]" in place.log_of("south") or place.processes["run"].poll() is not None
            ),
            180,
            "the fourth round",
        )
        place.kill("south")
        place.finish(240)

        assert stranger.wait(60) != 0
        assert plain.wait(60) != 0
        superlink = place.log_of("superlink")
        assert "No SuperNode found with the given public key" in superlink
        assert "Failed to activate SuperNode" in place.log_of("stranger")
        # In whichever words the transport puts it: nobody who speaks without TLS gets in.
        refused = ("Server disconnected without sending a response", "Connection attempt failed")
        assert any(words in place.log_of("plain") for words in refused)
        assert superlink.count("[Fleet.ActivateNode] Activated") == 3
        assert "https://127.0.0.1" in superlink
        logs = {name: place.log_of(name) for name in (*sites, "run")}

    result = json.loads((output / "result.json").read_text(encoding="utf-8"))
    assert sorted(result["clients"]) == sorted(sites)
    assert {one["client"] for one in result["incidents"]} == {"south"}
    receipt = json.loads((output / "receipt.json").read_text(encoding="utf-8"))
    assert receipt["epsilon"] == pytest.approx(4.0)
    assert (output / "model.html").stat().st_size > 1000
    # Each node's desk was opened once, in a process that outlived the messages.
    assert [logs[name].count("Desk open") for name in sites] == [1, 1, 1]
    assert logs["north"].count("Start `flwr-clientapp` process") >= 5
