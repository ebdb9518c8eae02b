"""A contestant as the referee sees it: asked, frozen, timed, and ended whatever it does."""

import gc
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hotlap.model import Failure, Fault, Status
from hotlap.referee import sandbox
from hotlap.referee.rounds import RoundResult, Vault
from hotlap.referee.seat import OUTPUT_KEPT, Seat, SeatFailed, printable, runtime_folder, sweep_folders
from tests.referee.seats import CPUS, LIMITS, assigned, library, play, seated, take, vault

FREEZERS = ["cgroup2", "cgroup1", "init"]
# One library for every way to misbehave: prepare(n) does what n says, kernel does it while it is timed.
MISBEHAVIOUR = r"""
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
static void say(const std::string& body) {
  for (int fd = 3; fd < 64; ++fd) {
    struct stat found;
    if (fstat(fd, &found) || !S_ISSOCK(found.st_mode)) continue;
    unsigned size = body.size();
    write(fd, &size, 4);
    for (size_t sent = 0; sent < body.size();) sent += write(fd, body.data() + sent, body.size() - sent);
  }
}
static int misbehave(int64_t how) {
  switch (how) {
    case 1: _exit(3);
    case 2: abort();
    case 3: for (int fd = 0; fd < 1024; ++fd) close(fd); pause(); return 0;
    case 4: for (int i = 0; i < 65536; ++i) printf("%015d\n", i); fflush(stdout); return 4;
    case 5: for (;;) pause();
    case 6: kill(getpid(), SIGSTOP); for (;;) pause();
    case 7: return 7;
    case 8: *(volatile int*)8 = 1; return 0;
    case 9: write(1, "\033[31mred\007\xff", 10); return 9;
    case 10: kill(-1, SIGKILL); return 10;
    case 11: say("{\"op\": \"error\", \"message\": \"\\u001b[2J" + std::string(500000, 'x')
                 + "\", \"traceback\": \"" + std::string(500000, 'y') + "\\ud800\"}"); pause(); return 0;
    case 12: say("[1, 2]"); pause(); return 0;
    case 13: say("{\"op\": \"ready\"}"); pause(); return 0;
    case 14: { unsigned huge = 1u << 31; for (int fd = 3; fd < 64; ++fd) { struct stat f;
               if (!fstat(fd, &f) && S_ISSOCK(f.st_mode)) write(fd, &huge, 4); } pause(); return 0; }
    case 15: say("{\"op\": \"error\", \"message\": {\"a\": [null]}, \"traceback\": 7}"); pause(); return 0;
  }
  return 0;
}
extern "C" int prepare(int64_t n) { return n < 100 ? misbehave(n) : 0; }
extern "C" int kernel(const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = 2 * x[i];
  return n < 100 ? 0 : misbehave(n - 100);
}
"""
HASTY = replace(LIMITS, prepare_s=0.3, call_s=0.3)


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    library(MISBEHAVIOUR)  # once: every test finds it in the cache


@pytest.fixture(params=FREEZERS)
def seat(request: pytest.FixtureRequest) -> Iterator[Seat]:
    """A bare seat under each freezer that this machine has."""
    if request.param == "init" and sandbox.kind() == "none":
        pytest.skip("no sandbox")
    with seated(freezer=request.param) as made:
        if made.freezer != request.param:
            pytest.skip(f"no freezer {request.param}")
        yield made


def empty_round(seat: Seat) -> int:
    seat.ready(0, [])
    time_ns = seat.time_round(seat.limits.call_s)
    assert seat.finish() == []
    return time_ns


def cpu_ns(seat: Seat) -> int:
    """Nanoseconds that all threads of a contestant have run."""
    threads = Path(f"/proc/{seat.pid}/task").iterdir()
    return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads)


def stands_still(seat: Seat) -> bool:
    time.sleep(0.005)  # the kernel calls a task frozen a few microseconds before it leaves its core
    before = cpu_ns(seat)
    time.sleep(0.03)
    return cpu_ns(seat) == before


# --- what works ------------------------------------------------------------------------------------


def test_an_empty_round_takes_time_and_can_be_repeated(seat: Seat) -> None:
    assert all(0 < empty_round(seat) < 1_000_000_000 for _ in range(20))


def test_a_kernel_s_round_trip_gives_its_answers(seat: Seat) -> None:
    answers: list[bool] = []

    def look(drawn: Vault, result: RoundResult) -> None:
        answers.extend(torch.equal(y, 2 * drawn.inputs[call][0]) for call, (y,) in result.outputs.items())

    style = take(seat, MISBEHAVIOUR, {"n": 50})
    result = play(seat, style, {"n": 50}, each=look)
    assert style == "c"
    assert result.wrong is None
    assert result.time_ns > 0
    assert answers == [True] * 4


def test_between_rounds_and_before_go_nothing_runs(seat: Seat) -> None:
    for _ in range(3):
        seat.ready(0, [])  # it spins on GO, and is frozen while it does
        assert stands_still(seat)
        seat.time_round(5)
        seat.finish()
        assert stands_still(seat)


def test_freezing_and_thawing_twice_is_as_good_as_once(seat: Seat) -> None:
    for step in (seat.freeze, seat.freeze, seat.thaw, seat.thaw, seat.freeze):
        step()
    assert empty_round(seat) > 0


def test_a_placed_file_is_read_only_and_seen_at_its_path(seat: Seat) -> None:
    path = seat.place("kernel.so", b"data")
    assert (seat.folder / "kernel.so").stat().st_mode & 0o777 == 0o555
    assert path.endswith("/kernel.so")


# --- what goes wrong -------------------------------------------------------------------------------


def failure_of(how: int, phase: str, limits: object = LIMITS) -> Failure:
    """How the referee saw a contestant that misbehaves in prepare, or in a timed call."""
    axes = {"n": how if phase == "prepare" else 100 + how}
    with seated(limits=limits) as seat, pytest.raises(SeatFailed) as caught:  # type: ignore[arg-type]
        play(seat, take(seat, MISBEHAVIOUR, axes), axes)
    return caught.value.failure


MESSAGES = {
    1: "exited with code 3 before it answered",
    2: "was killed by SIGABRT",
    7: "{phase} returned 7; it must return 0",
    8: "was killed by SIGSEGV",
}


@pytest.mark.parametrize("phase", ["prepare", "kernel"])
@pytest.mark.parametrize("how", MESSAGES)
def test_the_referee_says_how_a_contestant_ended(how: int, phase: str) -> None:
    failure = failure_of(how, phase)
    assert failure.message == MESSAGES[how].format(phase=phase)
    assert (failure.status, failure.fault) == (Status.failed, Fault.submission)
    assert failure.phase == ("prepare" if phase == "prepare" else "call")


@pytest.mark.parametrize("phase", ["prepare", "kernel"])
@pytest.mark.parametrize(("how", "more"), [(5, ""), (6, " (its process had stopped itself)")])
def test_a_contestant_that_does_not_answer_runs_into_its_limit(how: int, more: str, phase: str) -> None:
    assert failure_of(how, phase, HASTY).message == f"did not answer within 0.3 s{more}"


def test_a_contestant_that_closes_every_descriptor_is_seen_at_once() -> None:
    assert failure_of(3, "kernel").message == "closed its channel to the referee, or does not read it"


def test_a_contestant_that_kills_all_it_can_reach_is_alone() -> None:
    if sandbox.kind() == "none":
        pytest.skip("no sandbox")
    assert failure_of(10, "prepare").message  # this process is still here to say so


@pytest.mark.parametrize("phase", ["prepare", "kernel"])
def test_of_a_megabyte_printed_the_last_16_kilobytes_are_kept(phase: str) -> None:
    failure = failure_of(4, phase)
    assert failure.output is not None
    assert len(failure.output) == OUTPUT_KEPT
    assert failure.output.endswith("000000000065535\n")


def test_control_characters_that_it_prints_are_made_visible() -> None:
    assert failure_of(9, "prepare").output == "\\x1b[31mred\\x07\ufffd"


def test_a_long_message_with_escapes_and_surrogates_is_cut_and_made_printable() -> None:
    failure = failure_of(11, "prepare")
    assert failure.message.startswith("\\x1b[2Jxxx")
    assert len(failure.message) == 4096
    assert failure.detail is not None
    assert len(failure.detail) == 16384
    assert failure.detail.endswith("\\ud800")


@pytest.mark.parametrize(
    ("how", "phase", "found"),
    [
        (12, "prepare", "broke the protocol: a message was not a JSON object"),
        (13, "prepare", "broke the protocol: it did not answer `prepared`"),
        (14, "prepare", "broke the protocol: a message of 2147483648 bytes was refused; at most 1048576"),
        (15, "prepare", "{'a': [None]}"),
        (11, "kernel", "did not answer within 0.3 s"),  # it is in a round: nobody listens before DONE
        (12, "kernel", "did not answer within 0.3 s"),
    ],
)
def test_a_lie_on_the_channel_is_the_submission_s_failure(how: int, phase: str, found: str) -> None:
    failure = failure_of(how, phase, HASTY)
    assert failure.message == found
    assert (failure.status, failure.fault) == (Status.failed, Fault.submission)


def test_a_seat_of_ours_that_fails_is_not_the_author_s_fault() -> None:
    with seated() as seat:
        seat.fault = Fault.harness
        os.kill(seat.pid, signal.SIGKILL)
        with pytest.raises(SeatFailed) as caught:
            empty_round(seat)
    failure = caught.value.failure
    assert (failure.status, failure.fault) == (Status.void, Fault.harness)


def test_running_out_of_memory_is_told_from_other_kills() -> None:
    source = """
    #include <stdlib.h>
    #include <string.h>
    extern "C" int kernel(const float* x, float* y, int64_t n) {
      for (;;) memset(malloc(1 << 24), 1, 1 << 24);
    }
    """
    limits = replace(LIMITS, memory_bytes=256 << 20, call_s=30.0)
    with seated(limits=limits) as seat:
        if "no memory cgroup" in seat.gaps:
            pytest.skip("no memory cgroup")
        style = take(seat, source, {"n": 5})
        with assigned(seat, style, {"n": 5}) as assignment, pytest.raises(SeatFailed) as caught:
            assignment.round(vault(1, {"n": 5}), [0], 1, 30)
    assert caught.value.failure.message == "ran out of memory: at most 0.3 GB"


def test_a_contestant_that_does_not_start_is_the_harness_s_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    from hotlap.errors import HarnessError
    from hotlap.referee import seat as seats

    monkeypatch.setattr(seats, "BOOT", "raise SystemExit('broken installation') # {paths}")
    made = Seat(CPUS, LIMITS, "bare")
    with pytest.raises(HarnessError, match="did not start: broken installation"):
        made.await_start()
    made.close()


# --- the end ---------------------------------------------------------------------------------------


def hotlap_mappings() -> int:
    return Path("/proc/self/maps").read_text().count("memfd:hotlap")


def test_twenty_seats_leave_nothing_behind() -> None:
    with seated() as seat:
        empty_round(seat)  # whatever is made once has been made
    del seat
    gc.collect()
    descriptors, mappings = len(os.listdir("/proc/self/fd")), hotlap_mappings()
    places = []
    for _ in range(20):
        with seated() as seat:
            places += [seat.folder, Path(f"/proc/{seat.pid}"), Path(f"/proc/{seat.process.pid}")]
            places += seat.cgroup.folders
            empty_round(seat)
    del seat
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == descriptors
    assert hotlap_mappings() == mappings
    assert [place for place in places if place.exists()] == []


def test_closing_twice_is_safe_and_removes_the_folder(seat: Seat) -> None:
    assert seat.folder.is_dir()
    seat.freeze()
    seat.close()
    seat.close()
    assert not seat.folder.exists()
    assert not Path(f"/proc/{seat.pid}").exists()


def test_a_seat_that_never_started_can_be_closed() -> None:
    made = Seat(CPUS, LIMITS, "bare")
    made.close()
    assert not made.folder.exists()
    assert made.process.returncode is not None


# --- text ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text, größer ✓", "plain text, größer ✓"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("over\rwritten\b", "over\\rwritten\\x08"),
        ("\x9b2J", "\\x9b2J"),
        ("right \u202e to left", "right \\u202e to left"),
        ("lone \ud800", "lone \\ud800"),
        ("\0", "\\x00"),
        ("", ""),
    ],
)
def test_printable_makes_control_characters_visible(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(st.text(st.characters()))
def test_printable_text_is_printable_and_encodes(text: str) -> None:
    shown = printable(text)
    assert all(c.isprintable() or c in "\n\t" for c in shown)
    shown.encode()
    assert printable(shown) == shown


def test_folders_of_a_process_that_was_killed_are_swept_and_those_of_a_living_one_are_not() -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    dead = runtime_folder() / f"seat-{ended.pid}-x"
    alive = runtime_folder() / f"seat-{os.getpid()}-x"
    dead.mkdir()
    alive.mkdir()
    sweep_folders()
    assert not dead.exists()
    assert alive.exists()
    alive.rmdir()
