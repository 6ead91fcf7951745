"""weft inspect"""

from weft.cli import options as o
from weft.cli.output import print_result

EXAMPLE = "weft inspect twitter-10k"


def inspect(instance: o.InInstance, json: o.Json = False) -> None:
    """Tell what an instance is like."""
    from weft.model.instance import read_instance
    from weft.model.profile import profile

    print_result(profile(read_instance(instance)), json)
