"""Varieties of clients, and of what they do: what most are like is in the case (case.py).

Client libraries differ in the packet identifiers that they take, and in how long they wait for a sign of life. Clients
have wills, let publications expire, go in order or so that nobody hears of it, and begin another session in the place
of one that is kept. In some networks publishers wait after two publications that are under way, and are not heard for
as long as a fault lasts. Networks fall into more than two parts.
"""

from dataclasses import replace
from random import Random

from weft.node.parameters import Parameters
from weft.sim.chaos.case import LEVELS, SPAN, Act, Case, Manner

LIVES = (1.0, 5.0, 60.0)  # seconds until a publication expires
KEEP_ALIVES = (0, 1, 2, 5, 30)  # seconds
WINDOWS = (2, 10, *[Parameters().window] * 6)  # publications under way until publishers wait
FIRST = (0, 0, 65_530, None)  # packet identifiers: counted from the lowest, past the highest, always the lowest free


def varied(case: Case, random: Random) -> Case:
    acts = [_varied(act, random) for act in case.acts]
    if random.random() < 0.3:
        acts += _renewals(case, 1 + max(act.number for act in acts), random)
    return replace(
        case,
        acts=tuple(sorted(acts, key=lambda act: act.at)),
        wills=tuple(
            (who, random.choice(LEVELS), random.randint(0, 2)) for who in range(case.clients) if random.random() < 0.2
        ),
        identifiers=tuple(random.choice(FIRST) for _ in range(case.clients)),
        keep_alives=tuple(random.choice(KEEP_ALIVES) for _ in range(case.clients)),
        window=Random(f"window of {case.seed}").choice(WINDOWS),
    )


def _varied(act: Act, random: Random) -> Act:
    if act.kind == "publish" and random.random() < 0.1:
        return replace(act, seconds=random.choice(LIVES))
    if act.kind in ("move", "vanish"):
        return replace(act, text=random.choice(list(Manner)))
    if act.kind == "part":
        return replace(act, qos=random.randint(0, 1))
    return act


def _renewals(case: Case, first: int, random: Random) -> list[Act]:
    """Clients that want to know nothing more of their session, and have another that is kept."""
    clients = [who for who in sorted(case.kept) for _ in range(2) if random.random() < 0.3]
    return [
        Act(first + place, random.uniform(0.0, SPAN), "renew", who, random.randrange(10**6), flag=random.random() < 0.5)
        for place, who in enumerate(clients)
    ]
