"""A whole scenario: the top of the file, with all its tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, PrivateAttr

from netwarp.flows import Flow
from netwarp.modules.named import Module, ModuleField, module_of
from netwarp.scenario.errors import ScenarioError
from netwarp.scenario.model.change import Change, Tuner
from netwarp.scenario.model.figures import FigureField
from netwarp.scenario.model.link import Link
from netwarp.scenario.model.node import Node
from netwarp.scenario.model.run import Record, RunOptions
from netwarp.scenario.model.study import TUNER, Case, Expectation, Seeds, Selection
from netwarp.scenario.model.topology import TopologyField
from netwarp.scenario.model.views import view_name
from netwarp.scenario.model.workload import Workload, of_flows
from netwarp.scenario.source import Source
from netwarp.values.choices import listed
from netwarp.values.fields import (
    Duration,
    KernelName,
    Model,
    Name,
    OnDemand,
    PositiveDuration,
    about,
)
from netwarp.values.names import KERNEL_NAME

if TYPE_CHECKING:
    from netwarp.scenario.model.exec import Exec


class Scenario(Model):
    """A validated scenario; `source` keeps its text."""

    name: Name = about("Name of the scenario's results.", "bufferbloat", refused=["two words", ""])
    summary: str = about(
        "What the scenario shows, in one line; `netwarp list` prints it.",
        "One flow fills a queue",
        refused=[1],
        default="",
    )
    duration: PositiveDuration = about(
        "How long a run lasts, in virtual time; at most 30 days.", "30s", refused=[30, "30", "0s", "800h"]
    )
    warmup: Duration = about(
        "How much of the beginning metrics ignore. Records include it.", "2s", refused=["10s"], default=0
    )
    seeds: Seeds = about(
        "Each point runs once with each seed: a number N for the seeds 1 to N, or a list.",
        5,
        refused=[0, [1, 1], "5"],
        default=(1,),
    )
    run: RunOptions = about(
        "Start phases, memory, real-time limit, tuner.", {"start_jitter": "20ms"}, default=RunOptions()
    )
    record: Record = about("Which records and captures are written.", {"exact": False}, default=Record())
    topology: OnDemand[TopologyField] | None = about(
        "A generated network, in place of nodes and links or beside them: a line or a table (below).",
        "fat-tree k=4",
        refused=["fat-tree k=3", "fat-tree 4", "mesh n=4"],
        default=None,
    )
    nodes: dict[Name, OnDemand[Node]] = about(
        "Hosts and routers by name; with a `topology`, further ones, and fields of those that it generates.",
        refused=[{}],
        min_length=1,
    )
    links: dict[Name, OnDemand[Link]] = about(
        "Links by name; with a `topology`, further ones, and fields of those that it generates.",
        refused=[{}],
        min_length=1,
    )
    flows: dict[Name, Flow] = about("Traffic: groups of flows by name.", refused=[{}], default_factory=dict)
    modules: tuple[OnDemand[ModuleField], ...] = about(
        "Kernel modules of your own, loaded before the network is built, for `queue` and `cc`: C files, or "
        "directories with a Kbuild, each as a path or as a table with `file` and `parameters`. See "
        "[modules.md](modules.md).",
        ["tcp_template.c"],
        refused=[["./missing.c"], [{"file": "tcp_template.c", "parameters": 5}]],
        default=(),
    )
    kernel: KernelName | None = about(
        'The kernel of the runs: a name of `netwarp kernel list`, or `"stock"`, netwarp\'s own. Default: the '
        "kernel of `--kernel`. See [kernels.md](kernels.md).",
        "patched",
        refused=[6.1, "", "two words"],
        default=None,
    )
    changes: tuple[OnDemand[Change], ...] = about("Changes during a run.", default=())
    tuners: dict[Name, OnDemand[Tuner]] = about(
        "Named settings of nodes, or programs that tune them.",
        {"big": {"sysctl": {"net.ipv4.tcp_ecn": 1}}},
        default_factory=dict,
    )
    sweep: dict[str, tuple[Any, ...]] = about(
        "Axes: a path and its values. Every combination, with every case, is a point.",
        {"links.bottleneck.rate": ["5mbit", "20mbit"]},
        refused=[
            {"links.bottleneck.rat": ["5mbit"]},
            {"seeds": [1, 2]},
            {"links.bottleneck.queue": []},
            {"links.bottleneck.queue": ["fq", "fq"]},
        ],
        default_factory=dict,
    )
    presets: dict[Name, dict[str, Any]] = about(
        "Named settings for cases to `use`: paths and their values.",
        {"bbr": {"flows.bulk.cc": "bbr"}},
        refused=[{"bbr": {"flows.blk.cc": "bbr"}}],
        default_factory=dict,
    )
    cases: tuple[OnDemand[Case], ...] = about("Named points.", [{"name": "as it is"}], default=())
    baseline: str | None = about(
        "The case with which figures compare the others.", "BBR", refused=["CUBIC"], default=None
    )
    expect: tuple[OnDemand[Expectation], ...] = about("Which results are expected.", default=())
    figures: tuple[OnDemand[FigureField], ...] = about(
        "The figures that a run draws: names as `netwarp plot` takes them, patterns included, and tables with a "
        "`metric`, the axes `by` which it is drawn, and a `kind`. Default: they are chosen by what varies. See "
        "[figures.md](figures.md).",
        ["rtt-bulk", {"metric": "flow.goodput_mbps", "by": ["links.bottleneck.queue"]}],
        refused=[[""], [{"metric": "flow.goodput_mbps", "kind": "pie"}], "rtt-bulk"],
        default=(),
    )
    views: tuple[Annotated[str, AfterValidator(view_name)], ...] = about(
        "Names of views: tables and figures for a particular study, in addition to those of every result.",
        refused=[["nosuch"]],
        default=(),
    )

    _source: Source | None = PrivateAttr(default=None)
    _keys: Mapping[str, tuple[str, ...]] = PrivateAttr(default_factory=dict)
    """Path of an axis or of a case's setting → its keys."""

    @property
    def command(self) -> Exec | None:
        """The command that runs in its network, or makes one, if any."""
        return None

    @property
    def workload(self) -> Workload:
        """The workload: flows, a command or a session."""
        return of_flows(self.duration, self.warmup)

    @property
    def tuner(self) -> Tuner | None:
        """The tuner in use, if any."""
        return self.tuners.get(self.run.tuner)

    @property
    def expectations(self) -> tuple[Expectation, ...]:
        """The expectations, without conditions on `run.tuner` that all runs meet because no sweep varies the tuner."""
        if TUNER in self.sweep:
            return self.expect
        return tuple(one.model_copy(update={"where": self._without_tuner(one.where)}) for one in self.expect)

    def _without_tuner(self, where: Selection) -> Selection:
        met = self.run.tuner in listed(where.get(TUNER, ()))
        return {key: value for key, value in where.items() if key != TUNER} if met else where

    @property
    def kernels(self) -> tuple[str, ...]:
        """The names of all kernels that it runs on at any point, without values that cannot be one."""
        swept = self.sweep.get("kernel", ())
        named = (self.kernel, *swept, *(case.set["kernel"] for case in self.cases if "kernel" in case.set))
        return tuple(dict.fromkeys(name for name in named if isinstance(name, str) and KERNEL_NAME.fullmatch(name)))

    @property
    def loaded_modules(self) -> tuple[Module, ...]:
        """All modules that its machine loads, in this order: `modules`, then those of the flows, each once."""
        of_flows = (module for flow in self.flows.values() if (module := module_of(getattr(flow, "cc", None))))
        return tuple({module.digest: module for module in (*self.modules, *of_flows)}.values())

    def given_sysctl(self, node: str) -> dict[str, str]:
        """The sysctls that the scenario sets at a node: the node's, overridden by those of the tuner in use."""
        tuner = self.tuner
        return self.nodes[node].sysctl | (tuner.sysctl if tuner and tuner.tunes(node) else {})

    @property
    def source(self) -> Source:
        """The source of this scenario: its text, its data, and the settings of the command line."""
        if self._source is None:
            raise ScenarioError("this scenario was not made by load_scenario, so it has no source")
        return self._source

    def keys_of(self, path: str) -> tuple[str, ...]:
        """The keys of the path of an axis, or of a case's setting, as found when it was validated."""
        return self._keys[path]


SECTIONS: tuple[Literal["nodes", "links", "flows", "tuners"], ...] = ("nodes", "links", "flows", "tuners")
"""The tables whose keys are names that the author chose."""
