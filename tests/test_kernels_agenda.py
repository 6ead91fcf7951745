from heapq import heappop, heappush

from hypothesis import given, settings
from hypothesis import strategies as st

from weft.kernels.jit import jit
from weft.kernels.popsub import agenda as kernel
from weft.kernels.popsub.agenda import BROKERS, KINDS, agenda_of, enlarged, event


@jit
def schedule(agenda, time, what):
    kernel.schedule(agenda, time, what)


@jit
def take_next(agenda):
    return kernel.take_next(agenda)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(st.none(), st.integers(0, 5)), max_size=80))
def test_it_is_a_heap_whose_ties_go_in_order(steps):
    """None takes the next; a number is a time, and times often tie."""
    agenda, reference = agenda_of(1), []
    for number, step in enumerate(steps):
        if step is not None:
            if agenda.size[0] == len(agenda.times):
                agenda = enlarged(agenda)
            schedule(agenda, float(step), number)
            heappush(reference, (step, number))
        elif reference:
            assert (agenda.times[0], take_next(agenda)) == heappop(reference)
    while reference:
        assert (agenda.times[0], take_next(agenda)) == heappop(reference)
    assert agenda.size[0] == 0


@given(st.integers(0, KINDS - 1), st.integers(0, BROKERS - 1), st.integers(0, 1 << 40))
def test_an_event_names_kind_broker_and_item(kind, broker, item):
    what = event.py_func(kind, broker, item)
    assert (what % KINDS, what // KINDS % BROKERS, what // (KINDS * BROKERS)) == (kind, broker, item)
