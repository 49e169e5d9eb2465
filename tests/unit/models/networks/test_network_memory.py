"""Networks that remember: each kind is planted, refused, and harmless where the check misses it."""

import copy
import math
import threading
from dataclasses import replace

import network_modules
import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from voile.errors import SettingError
from voile.federated.fedavg.work import ClientUpdate, LocalTraining
from voile.models.networks import architectures
from voile.models.networks import per_example_engine as engine
from voile.models.networks.architectures import (
    Description,
    initial_weights,
    register,
)
from voile.models.networks.images import CLASSES, IMAGES, Standard
from voile.models.networks.parameters import trained_parameters
from voile.models.networks.probes import CALLS, Probe
from voile.models.networks.queries import NetworkSteps
from voile.models.networks.state import Snapshot, copy_of, refuse_shared
from voile.privacy.queries import Block

SHAPE, GRID = (1, 4, 4), 2.0**-30
OUTSIDE = {"calls": 0, "last": 0.0}


class Plain(nn.Module):
    """Scores are weights times pixels; what is planted comes on top."""

    def __init__(self, shape, classes):
        super().__init__()
        self.last = nn.Linear(math.prod(shape), classes)
        self.begin()

    def begin(self):
        pass

    def scale(self, images):
        return 1.0

    def forward(self, images):
        return self.last(images.flatten(1)) * self.scale(images)


class BufferInEvaluation(Plain):
    def begin(self):
        self.register_buffer("mean", torch.zeros(()))

    def scale(self, images):
        if not self.training:
            self.mean.mul_(0.9).add_(images.detach().nan_to_num(0, 1, -1).clamp(-1, 1).mean())
        return 1.0 + self.mean.clone()


class NewBuffer(Plain):
    def scale(self, images):
        if not self.training:
            self.register_buffer("late", torch.ones(2))
        return 1.0


class PlainNumber(Plain):
    seen = 0.0

    def begin(self):
        self.seen = 0.0

    def scale(self, images):
        before, self.seen = self.seen, 0.5
        return 1.0 + before


class UnusedCounter(Plain):
    def begin(self):
        self.calls = 0

    def scale(self, images):
        self.calls += 1
        return 1.0


class GrowingList(Plain):
    def begin(self):
        self.seen = []

    def scale(self, images):
        self.seen.append(len(images))
        return 1.0 + 0.01 * len(self.seen)


class TensorAttribute(Plain):
    def begin(self):
        self.held = [torch.zeros(3)]

    def scale(self, images):
        self.held[0] += 1.0
        return 1.0


class CacheByShape(Plain):
    def begin(self):
        self.cache = {}

    def scale(self, images):
        spread = images.detach().nan_to_num(0, 1, -1).clamp(-3, 3).mean()
        return 1.0 + self.cache.setdefault(tuple(images.shape), spread)


class InAnObject(Plain):
    class Holder:
        __slots__ = ("count",)

    def begin(self):
        self.holder = InAnObject.Holder()
        self.holder.count = 0

    def scale(self, images):
        self.holder.count += 1
        return 1.0


class OnATensor(Plain):
    def scale(self, images):
        self.last.weight.note = len(images)
        return 1.0


class TrainsItself(Plain):
    def scale(self, images):
        with torch.no_grad():
            self.last.bias.data.add_(0.001)
        return 1.0


class ClassAttribute(Plain):
    calls = 0

    def scale(self, images):
        ClassAttribute.calls += 1
        return 1.0 + 0.01 * ClassAttribute.calls


class Global(Plain):
    def scale(self, images):
        before = OUTSIDE["last"]
        OUTSIDE["last"] = float(images.detach().nan_to_num(0, 1, -1).clamp(-1, 1).mean())
        return 1.0 + before


def make_closure(shape, classes):
    seen = []

    class Closure(Plain):
        def scale(self, images):
            seen.append(1)
            return 1.0 + 0.01 * len(seen)

    return Closure(shape, classes)


class OutsideAfterTwenty(Plain):
    def scale(self, images):
        OUTSIDE["calls"] += 1
        return 1.0 if OUTSIDE["calls"] <= 20 else 2.0


class PreviousImages(Plain):
    """The attack: a dark image turns round the gradients of all that follow."""

    def begin(self):
        self.sign = 1.0

    def scale(self, images):
        before = self.sign
        if float(images.detach()[0].mean()) < 0:
            self.sign = -self.sign
        return before


class Dropout(Plain):
    def forward(self, images):
        return self.last(functional.dropout(images.flatten(1), 0.5, training=True))


class Noise(Plain):
    def scale(self, images):
        return 1.0 + torch.rand(())


class DrawsForNothing(Plain):
    def scale(self, images):
        torch.rand(())
        return 1.0


class NumpyNoise(Plain):
    def begin(self):
        self.rng = np.random.RandomState(0)

    def scale(self, images):
        return 1.0 + float(self.rng.rand())


class Fails(Plain):
    def scale(self, images):
        if not bool(images.isfinite().all()):
            raise ValueError("no finite image")
        return 1.0


class Lock(Plain):
    def begin(self):
        self.lock = threading.Lock()


class Itself(Plain):
    def __deepcopy__(self, memo):
        return self


PLANTED = [
    (BufferInEvaluation, r"buffer 'mean'.*changes"),
    (NewBuffer, r"buffer 'late'.*changes"),
    (PlainNumber, r"attribute 'seen'.*changes"),
    (UnusedCounter, r"attribute 'calls'.*changes"),
    (GrowingList, r"attribute 'seen.*changes"),
    (TensorAttribute, r"attribute 'held.0'.*changes"),
    (CacheByShape, r"attribute 'cache.*changes"),
    (InAnObject, r"attribute 'holder.*changes"),
    (OnATensor, r"attribute 'last.weight.*changes"),
    (TrainsItself, r"'last.bias'.*changes"),
    (ClassAttribute, "depends on other images"),
    (Global, "depends on other images"),
    (make_closure, "depends on other images"),
    (OutsideAfterTwenty, "depends on other images"),
    (PreviousImages, r"attribute 'sign'.*changes"),
    (Dropout, "depends on other images"),
    (Noise, "depends on other images"),
    (DrawsForNothing, "draws random numbers"),
    (NumpyNoise, r"'rng.*changes"),
    (Fails, "fails on some images"),
    (Lock, "cannot be copied"),
    (Itself, "shares 'itself'"),
]


def registered(factory, name=None):
    name = name or f"test memory {factory.__name__}"
    if name not in architectures.names():
        register(name, factory)
    return name


@pytest.mark.parametrize(
    ("factory", "message"), PLANTED, ids=lambda one: getattr(one, "__name__", str(one))
)
def test_what_remembers_is_refused(factory, message):
    OUTSIDE.update(calls=0, last=0.0)
    with pytest.raises(SettingError, match=message):
        Description(registered(factory), SHAPE, 3).build()


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        *(("cnn", (1, 28, 28)), ("cnn", (3, 8, 8)), ("resnet8", (1, 12, 12))),
        *((name, (1, 6, 6)) for name in network_modules.MODULES),
    ],
)
def test_what_does_not_remember_passes(name, shape):
    Description(name, shape, 5).build()


class Recurrent(nn.Module):
    def __init__(self, shape, classes):
        super().__init__()
        self.lines = nn.LSTM(shape[2], 5, batch_first=True)
        self.last = nn.Linear(5, classes)

    def forward(self, images):
        return self.last(self.lines(images.flatten(1, 2))[0][:, -1])


def make_attention(shape, classes):
    layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
    return nn.Sequential(nn.Flatten(1, 2), layer, nn.Flatten(), nn.Linear(16, classes))


def make_weight_norm(shape, classes):
    layer = nn.utils.parametrizations.weight_norm(nn.Linear(16, classes))
    return nn.Sequential(nn.Flatten(), layer)


@pytest.mark.filterwarnings("ignore:There is a performance drop")  # by torch's vmap
@pytest.mark.parametrize("factory", [Plain, Recurrent, make_attention, make_weight_norm])
def test_ordinary_networks_pass_by_whatever_way(factory):
    """Mapping leaves something in recurrent layers, so their rows go one by one."""
    query = steps(factory)
    images, classes = rows(6)
    whole = query.total(block_of(images, classes), GRID)
    alone = [query.total(block_of(images[i : i + 1], classes[i : i + 1]), GRID) for i in range(6)]
    assert np.array_equal(whole, sum(alone))
    assert whole.any()


def test_layers_without_a_size_are_refused():
    register("test memory lazy", lambda s, c: nn.Sequential(nn.Flatten(), nn.LazyLinear(c)))
    with pytest.raises(SettingError, match="find their size"):
        Description("test memory lazy", SHAPE, 3).build()


@pytest.mark.slow
def test_the_large_network_passes_too():
    Description("resnet18", (1, 1, 1), 3).build()


def test_state_after_as_many_calls_as_are_tried_is_found():
    """And what begins later is missed: the proof says so."""
    found = []
    for late in (CALLS, 10_000):
        count = [0]

        class Late(Plain):
            def scale(self, images, late=late, count=count):
                count[0] += 1
                return 1.0 if count[0] <= late else 2.0

        module = Late(SHAPE, 3).eval()
        try:
            Probe(module, "late", SHAPE, 3).refuse_memory()
            found.append(False)
        except SettingError:
            found.append(True)
    assert found == [True, False]


def test_torch_goes_on_drawing_where_it_was():
    torch.manual_seed(7)
    expected = torch.rand(2)
    torch.manual_seed(7)
    Description("cnn", (1, 9, 9), 3, 5).build()
    assert torch.equal(torch.rand(2), expected)


# -- where the check is not enough ---------------------------------------------------------------


@pytest.fixture
def unchecked(monkeypatch):
    """Descriptions that nobody probes."""
    monkeypatch.setattr(Probe, "refuse_memory", lambda self: None)
    monkeypatch.setattr(architectures, "_CHECKED", set())
    monkeypatch.setattr(engine, "_LOCAL", threading.local())
    monkeypatch.setattr(engine, "_ROWS_AT_ONCE", {})
    monkeypatch.setattr(engine, "check_rows_apart", lambda *_: True)
    architectures.parameter_count.cache_clear()
    yield
    architectures.parameter_count.cache_clear()


def steps(factory, clip=1.0):
    name = registered(factory)
    weights = initial_weights(Description(name, SHAPE, 3))
    return NetworkSteps(name, SHAPE, 3, 0, weights, Standard((0.3,), (0.2,), 8), clip)


def block_of(images, classes):
    kept = {IMAGES: np.asarray(images, np.uint8), CLASSES: np.asarray(classes, np.int32)}
    return Block(len(classes), lambda name: None, kept)


def rows(count, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 256, (count, 16)), rng.integers(0, 3, count)


def influence(query, images, classes, pieces):
    """How far the first row moves the sum, in bounds; blocks are summed one after another."""
    totals = []
    for some in (slice(None), slice(1, None)):
        engine._LOCAL = threading.local()  # as in two runs
        parts = np.array_split(np.arange(len(classes))[some], pieces)
        found = sum(query.total(block_of(images[p], classes[p]), GRID) for p in parts)
        totals.append(found.astype(np.float64) * GRID)
    return np.linalg.norm(totals[0] - totals[1]) / query.bound


def without_the_net(monkeypatch):
    monkeypatch.setattr(
        engine.PerExampleEngine, "_end", lambda self: setattr(self, "_as_made", True)
    )


ATTACKS = [PreviousImages, GrowingList, CacheByShape, BufferInEvaluation]


def far_apart():
    """A black image before bright ones."""
    images = np.random.default_rng(0).integers(150, 256, (12, 16)).astype(np.uint8)
    images[0] = 0
    return images, np.zeros(12, np.int32)


@pytest.mark.usefixtures("unchecked")
def test_without_check_and_net_a_row_moves_the_sum_by_more_than_its_bound(monkeypatch):
    without_the_net(monkeypatch)
    query = steps(PreviousImages, clip=0.5)
    assert influence(query, *far_apart(), pieces=12) > 3.1


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("factory", ATTACKS)
@pytest.mark.parametrize("pieces", [1, 12])
def test_state_in_the_network_moves_no_other_row(factory, pieces):
    """The last net: what the check would have missed is thrown away, chunk by chunk."""
    query = steps(factory, clip=0.5)
    images, classes = far_apart()
    assert influence(query, images, classes, pieces) <= 1.0
    whole = query.total(block_of(images, classes), GRID)
    alone = sum(
        query.total(block_of(images[i : i + 1], classes[i : i + 1]), GRID) for i in range(12)
    )
    assert np.array_equal(whole, alone)
    backwards = query.total(block_of(images[::-1], classes[::-1]), GRID)
    assert np.array_equal(whole, backwards)


@pytest.mark.usefixtures("unchecked")
def test_the_net_is_not_told_and_needs_no_second_pass_for_one_row(monkeypatch):
    query = steps(UnusedCounter)
    images, classes = rows(5)
    plain = query.total(block_of(images, classes), GRID)
    honest = steps(Plain).total(block_of(images, classes), GRID)
    assert np.array_equal(plain, honest)
    passes = []
    each = engine.PerExampleEngine._differentiate
    monkeypatch.setattr(
        engine.PerExampleEngine,
        "_differentiate",
        lambda self, *rest: passes.append(1) or each(self, *rest),
    )
    query.total(block_of(images[:1], classes[:1]), GRID)
    assert len(passes) == 1
    query.total(block_of(images, classes), GRID)
    assert len(passes) == 1 + 1 + 5


@pytest.mark.usefixtures("unchecked")
def test_an_interrupted_pass_leaves_nothing(monkeypatch):
    query = steps(PlainNumber)
    images, classes = rows(3)
    expected = query.total(block_of(images, classes), GRID)

    def interrupt(self):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(engine.PerExampleEngine, "_end", interrupt)
        with pytest.raises(KeyboardInterrupt):
            query.total(block_of(images, classes), GRID)
    assert np.array_equal(query.total(block_of(images, classes), GRID), expected)


class Unlike(Plain):
    def scale(self, images):
        if not self.training:
            self.last.bias.data = self.last.bias.data.double()
        return 1.0


@pytest.mark.usefixtures("unchecked")
def test_what_cannot_be_compared_any_more_is_thrown_away_and_nobody_is_told():
    images, classes = rows(4)
    block = block_of(images, classes)
    assert np.array_equal(steps(Unlike).total(block, GRID), steps(Plain).total(block, GRID))


@pytest.mark.usefixtures("unchecked")
def test_quick_sums_begin_with_a_network_as_it_was_made():
    query = replace(steps(PlainNumber), exact=False)
    images, classes = rows(300)
    block = block_of(images, classes)
    assert np.array_equal(query.total(block, GRID), query.total(block, GRID))


@pytest.mark.usefixtures("unchecked")
def test_clients_of_one_process_do_not_reach_each_other():
    name = registered(GrowingList)
    training = LocalTraining(
        *(name, SHAPE, 3, 0, initial_weights(Description(name, SHAPE, 3))),
        *((0.3,), (0.2,), 8, 2, 4, 0.1, 0),
    )
    work = ClientUpdate(training, 10.0)
    one, other = ([block_of(*rows(9, seed))] for seed in (1, 2))
    alone = work.run(one)
    work.run(other)
    assert np.array_equal(work.run(one), alone)


# -- copies and comparisons ------------------------------------------------------------------------


class Holding(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.tensor([math.nan, 1.0]))
        self.numbers = {"a": [1, 2.5, math.nan], "b": {3, 4}, "c": (1, [2])}
        self.array = np.arange(3.0)
        self.layers = nn.ModuleList([nn.Linear(2, 2)])
        self.call = self.forward
        self.rng = __import__("random").Random(3)


CHANGES = [
    (lambda one: one.table.fill_(0.0), "table"),
    (lambda one: one.numbers["a"].append(1), "numbers.a"),
    (lambda one: one.numbers["a"].__setitem__(2, 0.0), "numbers.a.2"),
    (lambda one: one.numbers["b"].add(9), "numbers.b"),
    (lambda one: one.numbers["c"][1].clear(), "numbers.c.1"),
    (lambda one: one.numbers.pop("b"), "numbers"),
    (lambda one: one.array.__setitem__(0, 5.0), "array"),
    (lambda one: setattr(one.layers[0], "note", 1), "layers.0.note"),
    (lambda one: one.layers[0].weight.data.add_(1.0), "layers.0.weight"),
    (lambda one: one.layers[0](torch.ones(1, 2)).sum().backward(), "layers.0"),
    (lambda one: one.rng.random(), "rng"),
    (lambda one: one.train(False), "training"),
    (lambda one: one.layers.append(nn.ReLU()), "layers"),
    (lambda one: delattr(one, "array"), ""),
]


@pytest.mark.parametrize(("change", "path"), CHANGES)
def test_changes_are_found_where_they_are(change, path):
    module = Holding()
    snapshot = Snapshot(module, "holding", [])
    assert snapshot.change() is None
    change(module)
    assert snapshot.change().startswith(path)


def test_equal_values_are_no_change():
    module = Holding()
    snapshot = Snapshot(module, "holding", [])
    module.array = module.array
    module.numbers["a"] = [1, 2.5, math.nan]
    module.table = torch.tensor([math.nan, 1.0])
    assert snapshot.change() is None


def test_free_parameters_may_change():
    module = nn.Linear(2, 2)
    snapshot = Snapshot(module, "linear", trained_parameters(module))
    with torch.no_grad():
        module.weight.add_(1.0)
    assert snapshot.change() is None


def test_copies_share_nothing_that_can_change():
    module = Holding()
    refuse_shared(module, copy_of(module, "holding"), "holding")
    shallow = copy.copy(module)
    with pytest.raises(SettingError, match="shares"):
        refuse_shared(module, shallow, "holding")


def test_what_cannot_be_compared_is_refused():
    module = nn.Linear(2, 2)
    module.lines = (line for line in ())
    with pytest.raises(SettingError, match=r"'lines', a generator that cannot be compared"):
        Snapshot(module, "linear", [])


def test_a_pointer_to_half_a_program_is_refused(monkeypatch):
    from voile.models.networks import state

    monkeypatch.setattr(state, "_MOST_PARTS", 5)
    with pytest.raises(SettingError, match="keep data out of networks"):
        Snapshot(nn.Linear(2, 2), "linear", [])


# -- what a hostile server may name ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "shape", "classes", "message"),
    [
        ("cnn", (4096, 4096, 4096), 10_000, "4194304 numbers"),
        ("cnn", (1, 4096, 4096), 2, "4194304 numbers"),
        ("resnet18", (1, 2048, 2048), 10, "numbers of one image"),
        ("resnet8", (1, 2048, 2048), 10_000, "numbers of one image"),
    ],
)
def test_networks_that_are_too_large_are_refused_before_they_are_made(
    name, shape, classes, message
):
    with pytest.raises(SettingError, match=message):
        Description(name, shape, classes).build()


def test_parameters_are_counted_before_they_are_made():
    made = []

    def factory(shape, classes):
        module = nn.Sequential(nn.Flatten(), nn.Linear(math.prod(shape), classes))
        made.append(module[1].weight.device.type)
        return module

    register("test memory wide", factory)
    with pytest.raises(SettingError, match="parameters to train"):
        Description("test memory wide", (1, 1024, 1024), 1000).build()
    assert made == ["meta"]


def test_factories_that_need_numbers_are_counted_once_they_are_made():
    def factory(shape, classes):
        float(torch.zeros(1))
        return nn.Sequential(nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(4, classes))

    register("test memory numbers", factory)
    Description("test memory numbers", (1, 300, 300), 3).build()


def test_a_factory_makes_a_new_network_each_time():
    kept = nn.Sequential(nn.Flatten(), nn.Linear(16, 3))
    register("test memory kept", lambda shape, classes: kept)
    with pytest.raises(SettingError, match="a new network each time"):
        Description("test memory kept", SHAPE, 3).build()
