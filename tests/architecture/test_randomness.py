"""Only voile.privacy.noise draws randomness."""

import ast

import pytest
from source_tree import Module, find_violations, is_within, read_modules

THE_ONE_MODULE = "voile.privacy.noise"

PUBLIC_CHOICES: dict[str, set[str]] = {
    # A nonce of masks, and a salt of digests: secrets that no noise rests on.
    "voile.privacy.clients.masks": {"os.urandom"},
    "voile.privacy.clients.agent_job": {"os.urandom"},
    # The random splits of the published algorithm look at no data.
    "voile.models.ebm.cyclic": {"numpy.random.Generator"},
    "voile.models.ebm.fit": {"numpy.random.default_rng"},
    # Places where several prototypes of a class begin.
    "voile.models.lvq.train": {"numpy.random.default_rng"},
    "voile.models.lvq.means": {"numpy.random.default_rng"},
    # Where maps begin, and their projections.
    "voile.models.locally_linear.train": {
        "numpy.random.Generator",
        "numpy.random.default_rng",
    },
    # Rows made up from public bounds, and the order of public rows.
    "voile.models.locally_linear.teacher": {"numpy.random.default_rng"},
    # Synthetic rows drawn from released tables, made-up rows, and which public rows are asked.
    "voile.explain.blackbox.synthetic.cells": {"numpy.random.Generator"},
    "voile.explain.blackbox.synthetic.copula": {"numpy.random.Generator"},
    "voile.explain.blackbox.public_check": {"numpy.random.default_rng"},
    "voile.explain.blackbox.answers.questions": {"numpy.random.default_rng"},
    "voile.explain.blackbox.synthetic.summary": {
        "numpy.random.Generator",
        "numpy.random.default_rng",
    },
    # Other draws of the noise of released tables: how far contributions may be off.
    "voile.explain.blackbox.synthetic.pair_tables": {"numpy.random.Generator"},
    "voile.explain.blackbox.synthetic.reweighting": {"numpy.random.Generator"},
    "voile.explain.blackbox.synthetic.sampling": {"numpy.random.default_rng"},
    "voile.explain.blackbox.synthetic.tree_rows": {"numpy.random.Generator"},
    # Which synthetic rows and which orders of columns a black box is asked about.
    "voile.explain.blackbox.shapley.background": {"numpy.random.default_rng"},
    "voile.explain.blackbox.shapley.contributions": {"numpy.random.default_rng"},
    "voile.explain.blackbox.shapley.permutations": {"numpy.random.default_rng"},
    # Rows that hardly differ from one that is suggested.
    "voile.explain.counterfactuals.usual": {"numpy.random.default_rng"},
    # The order of rows in a client's own steps.
    "voile.federated.fedavg.work": {"numpy.random.default_rng"},
    # Where networks begin, made-up images, and whether rows are kept apart.
    "voile.models.networks.architectures": {
        "torch.random.fork_rng",
        "torch.random.manual_seed",
    },
    "voile.models.networks.fit": {"numpy.random.default_rng"},
    "voile.models.networks.placement": {"numpy.random.Generator"},
    "voile.models.networks.train": {"numpy.random.Generator"},
    "voile.models.networks.per_example_engine": {"numpy.random.default_rng"},
    # Who holds which rows, in experiments.
    "voile.federated.partition": {"numpy.random.default_rng"},
    # Names of jobs, and the public randomness that a restarted server needs again.
    "voile.privacy.clients.session": {"secrets.randbelow", "secrets.token_hex"},
    # Noisy copies of public images, and resampling of them.
    "voile.explain.networks.attribution": {"numpy.random.default_rng"},
    "voile.explain.networks.agreement": {"numpy.random.Generator", "numpy.random.default_rng"},
    # Where attacks on updates begin, and networks to attack.
    "voile.audit.gradient_leakage.attacks": {
        "numpy.random.Generator",
        "numpy.random.default_rng",
    },
    "voile.audit.gradient_leakage.networks": {"numpy.random.default_rng"},
    # In which world a run is, and which canaries take part.
    "voile.audit.many_canaries": {"numpy.random.default_rng"},
    "voile.audit.paired": {"numpy.random.default_rng"},
    # Made-up rows of trials.
    "voile.audit.trials.federated.clients": {"numpy.random.default_rng"},
    "voile.audit.trials.networks": {"numpy.random.default_rng"},
    # Which row is in which training.
    "voile.audit.membership.shadows": {"numpy.random.default_rng"},
    # Made-up tables.
    "voile.audit.leaks.lvq": {"numpy.random.Generator", "numpy.random.default_rng"},
}
"""Modules that draw for a public choice alone (never noise): module -> dotted names it may use."""

SOURCES = (
    "numpy.random",
    "random",
    "secrets",
    "os.urandom",
    "os.getrandom",
    "scipy.stats.qmc",
    "sklearn.utils.check_random_state",
    "torch.Generator",
    "torch.bernoulli",
    "torch.distributions",
    "torch.manual_seed",
    "torch.multinomial",
    "torch.normal",
    "torch.poisson",
    "torch.rand",
    "torch.rand_like",
    "torch.randint",
    "torch.randint_like",
    "torch.randn",
    "torch.randn_like",
    "torch.random",
    "torch.randperm",
)
METHODS = {"bernoulli_", "exponential_", "normal_", "random_", "rvs", "uniform_"}
DEVICES = ("/dev/random", "/dev/urandom")


def find_randomness(module: Module) -> list[str]:
    if module.name == THE_ONE_MODULE:
        return []
    used = [(one.path, one.line) for one in module.imports] + list(module.dotted_names)
    allowed = PUBLIC_CHOICES.get(module.name, set())
    found = {
        f"{module.name}:{line} uses {path}"
        for path, line in used
        if any(is_within(path, source) for source in SOURCES)
        and not any(is_within(path, one) or is_within(one, path) for one in allowed)
    }
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Attribute) and node.attr in METHODS:
            found.add(f"{module.name}:{node.lineno} uses .{node.attr}")
        elif isinstance(node, ast.Constant) and node.value in DEVICES:
            found.add(f"{module.name}:{node.lineno} uses {node.value}")
    return sorted(found)


def test_only_the_noise_module_draws():
    assert find_violations(find_randomness) == []


def test_allowed_public_choices_are_in_modules_that_exist():
    assert set(PUBLIC_CHOICES) <= {module.name for module in read_modules()}


@pytest.mark.parametrize(
    "text",
    [
        "import random",
        "import secrets",
        "from secrets import token_bytes",
        "import numpy as np\nnp.random.default_rng(0)",
        "import numpy\nx = numpy.random.normal(size=3)",
        "import numpy.random as npr",
        "from numpy import random as nr",
        "from numpy.random import default_rng",
        "import os\nos.urandom(8)",
        "from os import urandom",
        "import torch\ntorch.randn(3)",
        "import torch\ndef f(x):\n    return x.normal_()",
        "from scipy import stats\nstats.norm.rvs()",
        "open('/dev/urandom', 'rb')",
        "import importlib\nimportlib.import_module('random')",
    ],
)
def test_planted_randomness_is_found(text):
    assert find_randomness(Module("voile.models.ebm.train", text)) != []
    assert find_randomness(Module(THE_ONE_MODULE, text)) == []


@pytest.mark.parametrize(
    "text",
    [
        "import numpy as np\nx = np.asarray([1])",
        "def f(random_state):\n    random = random_state\n    return random",
        "import os\nos.environ",
        "from voile.privacy import noise",
    ],
)
def test_harmless_text_passes(text):
    assert find_randomness(Module("voile.models.ebm.train", text)) == []
