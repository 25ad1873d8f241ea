"""The drawing of the tree: no two open lines share a lane, and the main line is leftmost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from playground.tree import MOST_PASSING_LANES, Line, Node, lanes, lines_across, nearest_common_ancestor


def tree(*parents: int | None) -> list[Node]:
    """Versions 1..n by the number of each one's parent, newest first."""
    nodes = [Node(number=i, parents=(p,) if p else ()) for i, p in enumerate(parents, start=1)]
    return nodes[::-1]


def test_a_straight_history_is_one_lane() -> None:
    assert set(lanes(tree(None, 1, 2, 3)).values()) == {0}


def test_a_side_branch_opens_the_next_lane_and_main_stays_left() -> None:
    nodes = tree(None, 1, 2, 2, 3)  # 5 continues 3, 4 is a sibling of 3
    assert lanes(nodes, first=[5]) == {5: 0, 3: 0, 2: 0, 1: 0, 4: 1}
    assert lanes(nodes, first=[4])[4] == 0


def test_a_lane_is_used_again_after_its_line_ended() -> None:
    nodes = tree(None, 1, 1, 2, 4, 4, 5)
    assert max(lanes(nodes, first=[7]).values()) == 1


def test_a_merge_draws_its_second_parent_in_a_lane_of_its_own() -> None:
    nodes = [Node(number=4, parents=(2, 3)), Node(number=3, parents=(1,)), Node(number=2, parents=(1,)), Node(number=1)]
    placed = lanes(nodes, first=[4])
    assert placed[4] == placed[2] == placed[1] == 0
    assert placed[3] == 1


@st.composite
def histories(draw: st.DrawFn) -> list[Node]:
    nodes = []
    for number in range(1, draw(st.integers(1, 40)) + 1):
        count = draw(st.integers(0, 2)) if number > 2 else min(1, number - 1)
        parents = (
            draw(st.lists(st.integers(1, number - 1), min_size=count, max_size=count, unique=True)) if count else []
        )
        nodes.append(Node(number=number, parents=tuple(parents)))
    return nodes[::-1]


@given(histories())
def test_between_a_version_and_its_first_parent_no_other_version_sits_in_their_lane(nodes: list[Node]) -> None:
    placed = lanes(nodes, first=[nodes[0].number])
    assert set(placed) == {node.number for node in nodes}
    for node in nodes:
        if not node.parents:
            continue
        parent = node.parents[0]
        between = [each.number for each in nodes if parent < each.number < node.number]
        assert all(placed[each] != placed[node.number] for each in between)


def whole(nodes: list[Node], placed: dict[int, int]) -> list[Line]:
    row_of = {node.number: row for row, node in enumerate(nodes)}
    return [
        Line(row_of[node.number], row_of[parent], placed[node.number], placed[parent], order > 0)
        for node in nodes
        for order, parent in enumerate(node.parents)
    ]


def lane_at(line: Line, row: int) -> int:
    """Where a line is at the height of a row: a branch bends beside its parent, a merge beside its child."""
    if line.merges:
        return line.from_lane if row == line.from_row else line.to_lane
    return line.to_lane if row == line.to_row else line.from_lane


@given(histories(), st.data())
def test_a_window_shows_the_lines_that_the_whole_drawing_has_there(nodes: list[Node], data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(nodes) - 1))
    last = data.draw(st.integers(first + 1, len(nodes)))
    placed = lanes(nodes, first=[nodes[0].number])
    lines = lines_across(nodes, placed, first=first, last=last)
    assert len(set(lines)) == len(lines)

    def seen(all_lines: list[Line]) -> set[tuple[int, int, bool]]:
        rows = range(first, last)
        return {
            (row, lane_at(line, row), line.merges)
            for line in all_lines
            for row in rows
            if line.from_row <= row <= line.to_row
        }

    assert seen(lines) == seen(whole(nodes, placed))
    assert all(first - 2 <= line.from_row < line.to_row <= last + 1 for line in lines)


def test_any_number_of_lines_through_a_window_is_few() -> None:
    nodes = tree(None, *[1] * 2000)
    lines = lines_across(nodes, lanes(nodes), first=1900, last=1950)
    assert len(lines) <= 50 + MOST_PASSING_LANES


def test_ten_thousand_versions_that_all_start_from_the_first_are_placed_each_in_a_lane() -> None:
    nodes = tree(None, *[1] * 9_999)
    assert sorted(lanes(nodes).values()) == [0, *range(9_999)]


@given(histories(), st.data())
def test_the_common_ancestor_is_one_and_the_newest_one(nodes: list[Node], data: st.DataObject) -> None:
    parents = {node.number: node.parents for node in nodes}
    a, b = (data.draw(st.sampled_from(sorted(parents))) for _ in range(2))

    def ancestors(number: int) -> set[int]:
        return {number}.union(*(ancestors(parent) for parent in parents[number])) if number in parents else set()

    common = ancestors(a) & ancestors(b)
    assert nearest_common_ancestor(parents, a, b) == (max(common) if common else None)
