"""Bases and moves of pictures: orthonormal before their gains, and moved the way they say."""

import math

import numpy as np
import pytest

from voile.models.locally_linear.pictures import STILL, Move, SmoothBasis, moved

# -- smooth bases ----------------------------------------------------------------------------------


def lengths_of(basis):
    return np.linalg.norm(basis.matrix(), axis=1)


@pytest.mark.parametrize("shape", [(6, 6, 1), (7, 5, 1), (3, 9, 3), (1, 4, 2), (1, 1, 1)])
@pytest.mark.parametrize("cut", [1, 4, 12])
def test_a_basis_is_orthogonal_and_has_the_documented_size(shape, cut):
    height, width, channels = shape
    matrix = SmoothBasis(shape, cut, 5.0).matrix()
    most = min(cut, height) * min(cut, width) * channels
    assert matrix.shape[1] == math.prod(shape)
    assert channels <= len(matrix) <= most
    if cut >= 12:  # more than there are: nothing is lost
        assert len(matrix) == most == math.prod(shape)
    products = matrix @ matrix.T
    assert np.abs(products - np.diag(np.diag(products))).max() < 1e-9
    # Without its gains it is orthonormal.
    plain = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    np.testing.assert_allclose(plain @ plain.T, np.eye(len(plain)), atol=1e-9)


def test_the_first_coordinate_is_the_mean_and_has_gain_one():
    matrix = SmoothBasis((4, 9, 1), 3, 6.0).matrix()
    np.testing.assert_allclose(matrix[0], 1 / 6, atol=1e-12)
    assert lengths_of(SmoothBasis((4, 9, 1), 3, 6.0))[0] == pytest.approx(1.0)


def test_gains_depend_on_the_frequency_alone_and_fall_in_the_end():
    basis, other = (SmoothBasis((30, 30, 1), 25, width) for width in (2.5, 5.0))
    matrix, gains, wide = basis.matrix(), lengths_of(basis), lengths_of(other)
    # How often the waves of each coordinate change their sign down and across is their frequency.
    pictures = matrix.reshape(-1, 30, 30)
    down = (np.diff(np.sign(pictures[:, :, 0]), axis=1) != 0).sum(axis=1)
    across = (np.diff(np.sign(pictures[:, 0, :]), axis=1) != 0).sum(axis=1)
    frequency = np.hypot(down, across)
    assert frequency.max() <= 25
    for one in np.unique(frequency):
        same = gains[frequency == one]
        np.testing.assert_allclose(same, same[0], rtol=1e-9)
    assert gains[frequency > 20].max() < 1e-6
    assert (wide[frequency > 0] > gains[frequency > 0]).all()


def test_a_window_fades_the_border():
    plain, faded = (SmoothBasis((16, 16, 1), 4, 6.0, window).matrix() for window in (False, True))
    ratio = (faded[0] / plain[0]).reshape(16, 16)
    assert (ratio <= 1).all()
    assert ratio[8, 8] > 0.99
    assert ratio[0, 0] < 0.2 < ratio[3, 3]
    np.testing.assert_allclose(ratio, ratio[::-1, ::-1], rtol=1e-9)


@pytest.mark.parametrize("shape", [(6, 5, 3), (4, 4, 2)])
def test_colours_are_treated_alike_and_kept_apart(shape):
    height, width, channels = shape
    one = SmoothBasis((height, width, 1), 3, 6.0).matrix()
    many = SmoothBasis(shape, 3, 6.0).matrix()
    picture = np.random.default_rng(0).uniform(size=(height, width, channels))
    found = (many @ picture.ravel()).reshape(len(one), channels)
    for c in range(channels):
        np.testing.assert_allclose(found[:, c], one @ picture[:, :, c].ravel(), atol=1e-12)


# -- moves -----------------------------------------------------------------------------------------


def copy_of(picture, move):
    """The moved copy itself: in the basis of single pixels."""
    shape = picture.shape if picture.ndim == 3 else (*picture.shape, 1)
    size = picture.size
    return (moved(np.eye(size), shape, move) @ picture.ravel()).reshape(picture.shape)


def some_picture(height=7, width=5, channels=None):
    shape = (height, width) if channels is None else (height, width, channels)
    return np.random.default_rng(1).uniform(0.1, 1, shape)


@pytest.mark.parametrize(("down", "right"), [(1, 0), (-1, 0), (0, 1), (0, -1), (2, -3), (7, 0)])
def test_a_shift_by_whole_pixels_is_a_shift(down, right):
    picture = some_picture()
    wanted = np.zeros_like(picture)
    for y in range(7):
        for x in range(5):
            if 0 <= y - down < 7 and 0 <= x - right < 5:
                wanted[y, x] = picture[y - down, x - right]
    np.testing.assert_allclose(copy_of(picture, Move(down, right)), wanted, atol=1e-12)


def test_a_shift_by_half_a_pixel_is_a_mean():
    picture = some_picture()
    found = copy_of(picture, Move(down=0.5))
    np.testing.assert_allclose(found[1:], (picture[1:] + picture[:-1]) / 2, atol=1e-12)
    np.testing.assert_allclose(found[0], picture[0] / 2, atol=1e-12)


@pytest.mark.parametrize("size", [4, 5])
def test_turns_of_a_square_by_right_angles(size):
    picture = some_picture(size, size)
    found = copy_of(picture, Move(turn=90))
    turned = [np.rot90(picture, 1), np.rot90(picture, -1)]
    assert sum(np.allclose(found, one, atol=1e-7) for one in turned) == 1
    np.testing.assert_allclose(copy_of(found, Move(turn=-90)), picture, atol=1e-7)
    np.testing.assert_allclose(copy_of(picture, Move(turn=180)), picture[::-1, ::-1], atol=1e-7)
    np.testing.assert_allclose(copy_of(picture, Move(turn=360)), picture, atol=1e-7)


def test_small_turns_in_both_directions_are_mirror_images():
    picture = some_picture(9, 9)
    one = copy_of(picture, Move(turn=10))
    other = copy_of(picture[:, ::-1], Move(turn=-10))
    np.testing.assert_allclose(one, other[:, ::-1], atol=1e-9)


def test_a_shear_leaves_the_middle_row_and_moves_rows_further_off_more():
    picture = some_picture(7, 11)
    found = copy_of(picture, Move(shear=1.0))
    np.testing.assert_allclose(found[3], picture[3], atol=1e-12)
    for y in range(7):
        off = y - 3
        wanted = np.zeros(11)
        for x in range(11):
            if 0 <= x + off < 11:
                wanted[x] = picture[y, x + off]
        np.testing.assert_allclose(found[y], wanted, atol=1e-12)
    mirrored = copy_of(picture[:, ::-1], Move(shear=-1.0))[:, ::-1]
    np.testing.assert_allclose(found, mirrored, atol=1e-12)


@pytest.mark.parametrize(
    "move", [Move(1, -1), Move(0.3, 0.6), Move(turn=8), Move(shear=-0.15), Move(1, 0.2, 33, 0.4)]
)
def test_moves_never_brighten_and_treat_colours_alike(move):
    picture = some_picture(6, 5, 3)
    found = copy_of(picture, move)
    assert found.min() >= 0
    assert found.max() <= picture.max() + 1e-12
    for c in range(3):
        np.testing.assert_allclose(found[:, :, c], copy_of(picture[:, :, c], move), atol=1e-12)


def test_a_move_before_a_basis_is_the_basis_of_the_moved_picture():
    shape, move = (6, 5, 2), Move(0.5, -1, 12, 0.1)
    basis = SmoothBasis(shape, 4, 6.0).matrix()
    picture = some_picture(*shape)
    np.testing.assert_allclose(
        moved(basis, shape, move) @ picture.ravel(),
        basis @ copy_of(picture, move).ravel(),
        atol=1e-12,
    )


def test_what_stands_still_is_not_touched():
    basis = SmoothBasis((4, 4, 1), 3, 6.0).matrix()
    assert moved(basis, (4, 4, 1), STILL) is basis
    assert Move() == STILL
