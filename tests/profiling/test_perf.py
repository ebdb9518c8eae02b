"""perf's counts, with and without hardware counters."""

from hotlap.profiling.perf import parse
from tests.profiling.captured import text


def test_an_event_that_the_machine_does_not_count_is_absent() -> None:
    assert parse(text("perf_virtual.csv")) == {
        "page-faults": 0.0,
        "context-switches": 11.0,
        "task-clock": 405.47,
    }


def test_counts_have_the_names_of_their_events() -> None:
    line = "4876543210;;instructions:u;401000000;100.00;2.10;insn per cycle\n"
    assert parse(line) == {"instructions": 4_876_543_210.0}


def test_a_file_that_holds_no_counts_gives_none() -> None:
    assert parse("") == parse("# started on Mon\n\n") == parse("Error: no access\n") == {}
