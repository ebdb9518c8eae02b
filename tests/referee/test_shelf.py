"""Memory that a duel's sides use one after another: the same requests find the same places again."""

from hotlap.referee.clock_cuda import Shelf


def test_the_smallest_block_that_is_large_enough_is_taken() -> None:
    shelf = Shelf([(400, 1, "a"), (100, 2, "b"), (200, 3, "c")])
    assert shelf.take(150) == (200, 3, "c")
    assert shelf.take(150) == (400, 1, "a")
    assert shelf.take(150) is None
    assert shelf.blocks == [(100, 2, "b")]


def test_of_equal_blocks_the_first_is_taken_so_that_a_sequence_of_requests_repeats() -> None:
    blocks = [(100, 7, "a"), (100, 3, "b"), (200, 5, "c"), (100, 1, "d")]
    given = []
    for _ in range(2):
        shelf = Shelf(list(blocks))
        given.append([shelf.take(size) for size in (100, 100, 150, 100)])
    assert given[0] == given[1] == [blocks[0], blocks[1], blocks[2], blocks[3]]
