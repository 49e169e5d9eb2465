"""A replay catches every violation that is planted, and nothing where none is."""

import pytest
from replay_bugs import BUGS
from replay_paths import COUNTS, Path, make_paths, small_blocks
from replay_tables import schema_of

from voile import protect
from voile.audit import replay
from voile.privacy.events import Gaussian, Plan
from voile.privacy.grant import reserve
from voile.privacy.mechanisms import gaussian_sum


def too_many(rows, ledger):
    """Takes twice as many tickets as it paid for."""
    table = protect(rows.X, rows.y, schema=schema_of())
    grant = reserve(table, ledger, Plan.of(sums=Gaussian(2, 9.0)), "sums")
    return [gaussian_sum(table, COUNTS, grant.take("sums")) for _ in range(4)]


PATHS = {path.name: path for path in (*make_paths(), Path("too many", too_many, ()))}


def replay_path(path, relation, neighbours=4):
    rows, near = path.tables(relation)
    telling = ("corner", "unlisted", "missing")
    order = sorted(near, key=lambda name: [word not in name for word in telling])
    chosen = [near[name] for name in order[:neighbours]]
    with small_blocks():
        return replay(
            path.run,
            rows,
            *chosen,
            budget=path.budget,
            relation=relation,
            filter=path.filter,
            name=path.name,
        )


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_a_planted_violation_is_caught(bug):
    with bug.plant():
        found = replay_path(PATHS[bug.path], bug.relation)
    assert found.kinds & bug.kinds, str(found)
