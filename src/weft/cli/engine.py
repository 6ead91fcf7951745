"""What designs for a master: this machine, or Spark where the network is large. It is sent to a process of its own."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weft.master.engine import Design, Job


@dataclass(frozen=True)
class Engine:
    above: int  # nodes, from which Spark designs
    spark_master: str

    def __call__(self, job: "Job") -> "Design":
        if job.instance.nodes <= self.above:
            from weft.master.engine import design_here

            return design_here(job)
        from weft.pipeline.redesign import design_by_spark

        return design_by_spark(job, self.spark_master)
