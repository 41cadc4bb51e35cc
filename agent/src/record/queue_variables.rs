//! Variables of queueing disciplines' inner state. Made by `make generate` from
//! `python/netwarp/store/queue_variables.py`.

/// The part of a discipline that a variable describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Discipline,
    Class,
    Tin,
}

/// The type of a number.
#[derive(Debug, Clone, Copy)]
pub enum Number {
    U32,
    S32,
    U64,
}

/// One number: in a structure `at` is its place in bytes, otherwise the attribute's type.
pub struct Variable {
    pub name: &'static str,
    pub number: Number,
    pub at: usize,
    pub scale: f64,
}

/// Numbers in one attribute of TCA_STATS2 (of tins, in one of TCA_STATS_APP); `nested`: they are attributes in it.
pub struct Reported {
    pub discipline: &'static str,
    pub part: Part,
    pub attribute: u16,
    pub nested: bool,
    pub variables: &'static [Variable],
}

const fn variable(name: &'static str, number: Number, at: usize, scale: f64) -> Variable {
    Variable {
        name,
        number,
        at,
        scale,
    }
}

/// All that is recorded.
pub const REPORTED: &[Reported] = &[
    Reported {
        discipline: "red",
        part: Part::Discipline,
        attribute: 4,
        nested: false,
        // struct tc_red_xstats
        variables: &[
            variable("early_pkts", Number::U32, 0, 1.0),
            variable("pdrop_pkts", Number::U32, 4, 1.0),
            variable("marked_pkts", Number::U32, 12, 1.0),
        ],
    },
    Reported {
        discipline: "choke",
        part: Part::Discipline,
        attribute: 4,
        nested: false,
        // struct tc_choke_xstats
        variables: &[
            variable("early_pkts", Number::U32, 0, 1.0),
            variable("pdrop_pkts", Number::U32, 4, 1.0),
            variable("marked_pkts", Number::U32, 12, 1.0),
            variable("matched_pkts", Number::U32, 16, 1.0),
        ],
    },
    Reported {
        discipline: "codel",
        part: Part::Discipline,
        attribute: 4,
        nested: false,
        // struct tc_codel_xstats
        variables: &[
            variable("maxpacket_bytes", Number::U32, 0, 1.0),
            variable("count", Number::U32, 4, 1.0),
            variable("lastcount", Number::U32, 8, 1.0),
            variable("ldelay_us", Number::U32, 12, 1.0),
            variable("drop_overlimit_pkts", Number::U32, 20, 1.0),
            variable("ecn_mark_pkts", Number::U32, 24, 1.0),
            variable("dropping", Number::U32, 28, 1.0),
            variable("ce_mark_pkts", Number::U32, 32, 1.0),
        ],
    },
    Reported {
        discipline: "fq_codel",
        part: Part::Discipline,
        attribute: 4,
        nested: false,
        // struct tc_fq_codel_qd_stats
        variables: &[
            variable("maxpacket_bytes", Number::U32, 4, 1.0),
            variable("drop_overlimit_pkts", Number::U32, 8, 1.0),
            variable("ecn_mark_pkts", Number::U32, 12, 1.0),
            variable("new_flow_count", Number::U32, 16, 1.0),
            variable("new_flows_len", Number::U32, 20, 1.0),
            variable("old_flows_len", Number::U32, 24, 1.0),
            variable("ce_mark_pkts", Number::U32, 28, 1.0),
            variable("memory_usage_bytes", Number::U32, 32, 1.0),
            variable("drop_overmemory_pkts", Number::U32, 36, 1.0),
        ],
    },
    Reported {
        discipline: "fq_codel",
        part: Part::Class,
        attribute: 4,
        nested: false,
        // struct tc_fq_codel_cl_stats
        variables: &[
            variable("deficit_bytes", Number::S32, 4, 1.0),
            variable("ldelay_us", Number::U32, 8, 1.0),
            variable("count", Number::U32, 12, 1.0),
            variable("lastcount", Number::U32, 16, 1.0),
            variable("dropping", Number::U32, 20, 1.0),
        ],
    },
    Reported {
        discipline: "fq_codel",
        part: Part::Class,
        attribute: 3,
        nested: false,
        // struct gnet_stats_queue
        variables: &[
            variable("length_pkts", Number::U32, 0, 1.0),
            variable("backlog_bytes", Number::U32, 4, 1.0),
        ],
    },
    Reported {
        discipline: "pie",
        part: Part::Discipline,
        attribute: 4,
        nested: false,
        // struct tc_pie_xstats
        variables: &[
            variable("prob", Number::U64, 0, 5.421010862427522e-20),
            variable("delay_us", Number::U32, 8, 1.0),
            variable("packets_in", Number::U32, 20, 1.0),
            variable("dropped_pkts", Number::U32, 24, 1.0),
            variable("overlimit_pkts", Number::U32, 28, 1.0),
            variable("maxq_pkts", Number::U32, 32, 1.0),
            variable("ecn_mark_pkts", Number::U32, 36, 1.0),
        ],
    },
    Reported {
        discipline: "fq_pie",
        part: Part::Discipline,
        attribute: 4,
        nested: false,
        // struct tc_fq_pie_xstats
        variables: &[
            variable("packets_in", Number::U32, 0, 1.0),
            variable("dropped_pkts", Number::U32, 4, 1.0),
            variable("overlimit_pkts", Number::U32, 8, 1.0),
            variable("overmemory_pkts", Number::U32, 12, 1.0),
            variable("ecn_mark_pkts", Number::U32, 16, 1.0),
            variable("new_flow_count", Number::U32, 20, 1.0),
            variable("new_flows_len", Number::U32, 24, 1.0),
            variable("old_flows_len", Number::U32, 28, 1.0),
            variable("memory_usage_bytes", Number::U32, 32, 1.0),
        ],
    },
    Reported {
        discipline: "dualpi2",
        part: Part::Discipline,
        attribute: 4,
        nested: false,
        // struct tc_dualpi2_xstats
        variables: &[
            variable("prob", Number::U32, 0, 2.3283064370807974e-10),
            variable("delay_c_us", Number::U32, 4, 1.0),
            variable("delay_l_us", Number::U32, 8, 1.0),
            variable("packets_in_c", Number::U32, 12, 1.0),
            variable("packets_in_l", Number::U32, 16, 1.0),
            variable("maxq_pkts", Number::U32, 20, 1.0),
            variable("ecn_mark_pkts", Number::U32, 24, 1.0),
            variable("step_marks_pkts", Number::U32, 28, 1.0),
            variable("credit_bytes", Number::S32, 32, 1.0),
            variable("memory_used_bytes", Number::U32, 36, 1.0),
        ],
    },
    Reported {
        discipline: "sfb",
        part: Part::Discipline,
        attribute: 4,
        nested: false,
        // struct tc_sfb_xstats
        variables: &[
            variable("earlydrop_pkts", Number::U32, 0, 1.0),
            variable("penaltydrop_pkts", Number::U32, 4, 1.0),
            variable("bucketdrop_pkts", Number::U32, 8, 1.0),
            variable("queuedrop_pkts", Number::U32, 12, 1.0),
            variable("childdrop_pkts", Number::U32, 16, 1.0),
            variable("marked_pkts", Number::U32, 20, 1.0),
            variable("maxqlen_pkts", Number::U32, 24, 1.0),
            variable("maxprob", Number::U32, 28, 1.5259021896696422e-05),
            variable("avgprob", Number::U32, 32, 1.5259021896696422e-05),
        ],
    },
    Reported {
        discipline: "htb",
        part: Part::Class,
        attribute: 1,
        nested: false,
        // struct gnet_stats_basic
        variables: &[
            variable("sent_bytes", Number::U64, 0, 1.0),
            variable("sent_pkts", Number::U32, 8, 1.0),
        ],
    },
    Reported {
        discipline: "htb",
        part: Part::Class,
        attribute: 3,
        nested: false,
        // struct gnet_stats_queue
        variables: &[
            variable("length_pkts", Number::U32, 0, 1.0),
            variable("backlog_bytes", Number::U32, 4, 1.0),
            variable("drops_pkts", Number::U32, 8, 1.0),
        ],
    },
    Reported {
        discipline: "htb",
        part: Part::Class,
        attribute: 4,
        nested: false,
        // struct tc_htb_xstats
        variables: &[
            variable("lends_pkts", Number::U32, 0, 1.0),
            variable("borrows_pkts", Number::U32, 4, 1.0),
            variable("tokens_ns", Number::S32, 12, 64.0),
            variable("ctokens_ns", Number::S32, 16, 64.0),
        ],
    },
    Reported {
        discipline: "cake",
        part: Part::Discipline,
        attribute: 4,
        nested: true,
        // enum TCA_CAKE_STATS_…
        variables: &[
            variable("capacity_estimate_bps", Number::U64, 2, 8.0),
            variable("memory_used_bytes", Number::U32, 4, 1.0),
            variable("active_queues", Number::U32, 17, 1.0),
        ],
    },
    Reported {
        discipline: "cake",
        part: Part::Tin,
        attribute: 10,
        nested: true,
        // enum TCA_CAKE_STATS_…
        variables: &[
            variable("sent_pkts", Number::U32, 2, 1.0),
            variable("sent_bytes", Number::U64, 3, 1.0),
            variable("dropped_pkts", Number::U32, 4, 1.0),
            variable("acks_dropped_pkts", Number::U32, 6, 1.0),
            variable("ecn_marked_pkts", Number::U32, 8, 1.0),
            variable("backlog_bytes", Number::U32, 11, 1.0),
            variable("threshold_rate_bps", Number::U64, 12, 8.0),
            variable("target_us", Number::U32, 13, 1.0),
            variable("interval_us", Number::U32, 14, 1.0),
            variable("peak_delay_us", Number::U32, 18, 1.0),
            variable("avg_delay_us", Number::U32, 19, 1.0),
            variable("base_delay_us", Number::U32, 20, 1.0),
            variable("sparse_flows", Number::U32, 21, 1.0),
            variable("bulk_flows", Number::U32, 22, 1.0),
            variable("unresponsive_flows", Number::U32, 23, 1.0),
        ],
    },
    Reported {
        discipline: "cake",
        part: Part::Class,
        attribute: 3,
        nested: false,
        // struct gnet_stats_queue
        variables: &[
            variable("length_pkts", Number::U32, 0, 1.0),
            variable("backlog_bytes", Number::U32, 4, 1.0),
            variable("drops_pkts", Number::U32, 8, 1.0),
        ],
    },
    Reported {
        discipline: "cake",
        part: Part::Class,
        attribute: 4,
        nested: true,
        // enum TCA_CAKE_STATS_…
        variables: &[
            variable("deficit_bytes", Number::S32, 11, 1.0),
            variable("cobalt_count", Number::U32, 12, 1.0),
            variable("dropping", Number::U32, 13, 1.0),
            variable("p_drop", Number::U32, 15, 2.3283064365386963e-10),
        ],
    },
];
